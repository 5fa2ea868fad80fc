package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
)

// ItemsResponse converts an answer of the Responses API, so that [ItemsRequest] sends back every item unchanged and in
// its place:
//
//   - Reasoning that comes first is a [chat.Thinking]: its summary as the text, its encrypted content, and the rest of
//     the item as the signature. Reasoning after other items is a [chat.Opaque].
//   - A message's texts are [chat.Text]. If the item has more than text (its id, if it followed reasoning; its phase;
//     annotations), a [chat.Opaque] with the other fields precedes it. A refusal is a [chat.Opaque].
//   - Calls have the ids of [chat.WithCallIDs], and the rest of the item as their signature. The place of a call that
//     other items follow is marked by a [chat.Opaque] with its id.
//   - Any other item (a web search, a compaction) is a [chat.Opaque], unchanged.
//
// A message or call that did not follow reasoning loses the id of its item, to which nothing refers.
//
// For an answer that failed, the error is the one that it holds, as from [Model.Generate]. An answer without items is a
// [*chat.TransientError].
func ItemsResponse(answer *responses.Response) (chat.Response, error) {
	return itemsResponse(answer, answer.Output, new(chat.CallIDs))
}

// itemsResponse is ItemsResponse for items, and ids of calls, that may have been streamed.
func itemsResponse(answer *responses.Response, output []responses.ResponseOutputItemUnion, ids *chat.CallIDs) (chat.Response, error) {
	if answer.Status == responses.ResponseStatusFailed || answer.Status == responses.ResponseStatusCancelled {
		if !answer.JSON.Error.Valid() {
			return chat.Response{}, &chat.AnswerError{Err: fmt.Errorf("openai: the response is %s", answer.Status)}
		}
		return chat.Response{}, refusalOf(answer.Error.RawJSON(), errFailed).classify()
	}
	response := chat.Response{Message: messageOfItems(output, ids), Usage: itemsUsage(answer.Usage)}
	switch {
	case answer.Status == responses.ResponseStatusIncomplete && answer.IncompleteDetails.Reason == "content_filter", isRefusal(response.Message):
		response.StopReason = chat.StopFiltered
	case answer.Status == responses.ResponseStatusIncomplete:
		response.StopReason = chat.StopMaxTokens
	case !slices.ContainsFunc(output, isObject):
		return chat.Response{}, emptyAnswer()
	case len(response.Message.ToolCalls) > 0:
		response.StopReason = chat.StopToolCalls
	}
	return response, nil
}

// isObject reports whether an item is a JSON object.
func isObject(item responses.ResponseOutputItemUnion) bool {
	return objectOf([]byte(item.RawJSON())) != nil
}

func messageOfItems(output []responses.ResponseOutputItemUnion, ids *chat.CallIDs) chat.Message {
	items := make([]json.RawMessage, len(output))
	for i, item := range output {
		items[i] = json.RawMessage(item.RawJSON())
	}
	return messageOf(items, ids)
}

// messageOf returns the assistant message that consists of these items.
func messageOf(items []json.RawMessage, ids *chat.CallIDs) chat.Message {
	r := itemReader{m: chat.Message{Role: chat.RoleAssistant}}
	last := -1 // the last item that is not a call
	for i, raw := range items {
		o := objectOf(raw)
		if !isCall(o.text("type")) {
			last = i
		} else {
			r.calls = append(r.calls, callOf(o))
		}
	}
	r.calls = ids.Calls(r.calls)
	for i, raw := range items {
		o := objectOf(raw)
		switch kind := o.text("type"); {
		case o == nil:
		case kind == "reasoning":
			r.reasoning(o, string(raw))
		case kind == "message":
			r.message(o)
		case isCall(kind):
			r.call(o, i < last)
		default:
			r.opaque(raw)
		}
	}
	return r.m
}

func isCall(kind string) bool { return kind == "function_call" || kind == customCall }

type itemReader struct {
	m       chat.Message
	calls   []chat.ToolCall // the calls that follow
	follows string          // the id of the reasoning before
	begun   bool            // an item other than reasoning was read
}

func (r *itemReader) opaque(value json.RawMessage) {
	r.begun = true
	r.m.Content = append(r.m.Content, chat.Opaque{Value: value})
}

func (r *itemReader) reasoning(o object, raw string) {
	r.follows = o.text("id")
	if r.begun {
		r.opaque(json.RawMessage(raw))
		return
	}
	t := chat.Thinking{Text: joined(o["summary"], "summary_text"), Encrypted: o.text("encrypted_content")}
	delete(o, "type")
	if t.Encrypted != "" || string(o["encrypted_content"]) == "null" {
		delete(o, "encrypted_content")
	}
	o.drop("status", `"completed"`, "null")
	o.drop("content", "[]", "null")
	if o["content"] == nil && oneText(o["summary"]) {
		delete(o, "summary") // the text holds it
	} else if t.Text == "" {
		t.Text = joined(o["content"], "reasoning_text")
	}
	t.Signature = string(o.raw())
	r.m.Content = append(r.m.Content, t)
}

// oneText reports whether a summary can be rebuilt from its text: it is empty, or one part with only text.
func oneText(summary json.RawMessage) bool {
	var parts []object
	if json.Unmarshal(summary, &parts) != nil || len(parts) > 1 {
		return false
	}
	return len(parts) == 0 || len(parts[0]) == 2 && parts[0].text("type") == "summary_text" && parts[0].text("text") != ""
}

// joined returns the texts in a list of parts, separated as paragraphs.
func joined(list json.RawMessage, kind string) string {
	var parts []object
	if json.Unmarshal(list, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		if p.text("type") == kind {
			texts = append(texts, p.text("text"))
		}
	}
	return strings.Join(texts, "\n\n")
}

func (r *itemReader) message(o object) {
	var content []object
	if json.Unmarshal(o["content"], &content) != nil {
		r.opaque(o.raw())
		return
	}
	var parts chat.Parts
	kept := make([]json.RawMessage, 0, len(content))
	more := false // the item has fields besides the text
	for _, c := range content {
		if c.text("type") != "output_text" {
			parts = append(parts, chat.Opaque{Value: c.raw()})
			kept = append(kept, json.RawMessage("{}"))
			continue
		}
		parts = append(parts, chat.Text(c.text("text")))
		delete(c, "type")
		delete(c, "text")
		c.drop("annotations", "[]", "null")
		c.drop("logprobs", "[]", "null")
		more = more || len(c) > 0
		kept = append(kept, c.raw())
	}
	r.begun = true
	if head := r.kept(o, "role", "content"); more || len(head) > 1 {
		if more {
			head["content"] = mustMarshal(kept)
		}
		head.set("type", "message")
		r.opaque(head.raw())
	}
	r.m.Content = append(r.m.Content, parts...)
}

// kept returns an item without these fields. Its id is kept only after reasoning, where it is needed.
func (r *itemReader) kept(o object, without ...string) object {
	kept := o.without(without...)
	kept.drop("status", `"completed"`, "null")
	kept.drop("phase", "null")
	switch {
	case r.follows == "":
		delete(kept, "id")
	case kept["id"] != nil:
		kept.set(followsKey, r.follows)
	}
	return kept
}

func (r *itemReader) call(o object, placed bool) {
	call := r.calls[0]
	r.calls = r.calls[1:]
	converted := []string{"call_id", "name", "arguments"}
	if o.text("type") == customCall {
		converted = []string{"call_id", "name", "input"}
	} else {
		converted = append(converted, "type")
	}
	if kept := r.kept(o, converted...); len(kept) > 0 {
		call.Signature = string(kept.raw())
	}
	r.m.ToolCalls = append(r.m.ToolCalls, call)
	if placed {
		place := object{"type": o["type"]}
		place.set("call_id", call.ID)
		r.opaque(place.raw())
	}
	r.begun = true
}

// callOf reads a call's id, name and arguments from its item.
func callOf(o object) chat.ToolCall {
	arguments := "arguments"
	if o.text("type") == customCall {
		arguments = "input"
	}
	return chat.ToolCall{ID: o.text("call_id"), Name: o.text("name"), Arguments: o.text(arguments)}
}

func mustMarshal(list []json.RawMessage) json.RawMessage {
	raw, err := json.Marshal(list)
	if err != nil {
		panic("openai: a list of JSON values that is not JSON: " + err.Error())
	}
	return raw
}
