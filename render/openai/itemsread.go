package openai

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
)

// ReadItems reads the input and the tools of a request to the Responses API, as a program that uses the SDK holds them.
// It is the inverse of [ItemsRequest]: what that wrote is read so that it writes the same bytes again. The request's
// Instructions are not read, because they are not written: they stay with the caller.
//
//   - The items of an answer are one assistant message, read as by [ItemsResponse], without what refers to the server's
//     own store: the ids of messages and calls that did not follow reasoning.
//   - A part for which package chat has no place, and any item that is no message, call, output or reasoning, is a
//     [chat.Opaque].
//
// Reasoning without its encrypted content is of use to the server that stored it only, and [ItemsRequest] refuses it: set
// Store off and Include to reasoning.encrypted_content in the loop's requests, or leave it out by [Repair].
//
// An input that refers to an earlier answer by its id holds too little to be compacted, and is an error.
func ReadItems(params responses.ResponseNewParams) (chat.Request, error) {
	var request chat.Request
	if id := params.PreviousResponseID.Or(""); id != "" {
		return request, fmt.Errorf("openai: the input begins with the stored response %q: send the whole input instead, and Store off", id)
	}
	if text := params.Input.OfString.Or(""); text != "" {
		request.Messages = append(request.Messages, chat.UserMessage(text))
	}
	r := inputReader{}
	for i, item := range params.Input.OfInputItemList {
		raw, err := json.Marshal(item)
		if err == nil {
			err = r.item(raw)
		}
		if err != nil {
			return chat.Request{}, fmt.Errorf("openai: input item %d cannot be read: %w", i, err)
		}
	}
	r.flush()
	request.Messages = append(request.Messages, r.out...)
	for i, t := range params.Tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return chat.Request{}, fmt.Errorf("openai: tool %d cannot be read: %w", i, err)
		}
		request.Tools = append(request.Tools, toolOf(objectOf(raw)))
	}
	return request, nil
}

type inputReader struct {
	out   []chat.Message
	items []json.RawMessage // of the assistant message that is not complete
	calls bool              // there is a call in items
	ended bool              // items end in a message
}

// flush completes the assistant message.
func (r *inputReader) flush() {
	if len(r.items) > 0 {
		r.out = append(r.out, messageOf(r.items, new(chat.CallIDs)))
	}
	r.items, r.calls, r.ended = nil, false, false
}

func (r *inputReader) item(raw json.RawMessage) error {
	o := objectOf(raw)
	kind, role := o.text("type"), o.text("role")
	switch {
	case kind == "item_reference":
		return fmt.Errorf("it refers to a stored item: send the item itself")
	case kind == "function_call_output", kind == customCall+"_output":
		content, err := contentOf(o["output"], itemPart)
		if err != nil {
			return err
		}
		r.flush()
		r.out = append(r.out, chat.Message{Role: chat.RoleTool, ToolCallID: o.text("call_id"), Content: content})
	case (kind == "message" || kind == "") && role != string(chat.RoleAssistant):
		m := chat.Message{Role: chat.Role(role)}
		if role == "developer" {
			m.Role = chat.RoleSystem
		}
		if m.Role != chat.RoleSystem && m.Role != chat.RoleUser {
			return fmt.Errorf("its role is %q: use system, developer, user or assistant", role)
		}
		var err error
		if m.Content, err = contentOf(o["content"], itemPart); err != nil {
			return err
		}
		r.flush()
		r.out = append(r.out, m)
	case kind == "compaction": // it stands for what was said before it
		r.flush()
		r.out = append(r.out, chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Opaque{Value: raw}}})
	case kind == "message", kind == "":
		if r.ended && !r.calls { // two messages, which one message of package chat would join
			r.flush()
		}
		var text string
		if json.Unmarshal(o["content"], &text) == nil {
			o["content"] = json.RawMessage(`[{"type":"output_text","text":` + string(quoted(text)) + `}]`)
		}
		o.set("type", "message")
		r.items, r.ended = append(r.items, o.raw()), true
	default:
		r.items, r.calls, r.ended = append(r.items, raw), r.calls || isCall(kind), false
	}
	return nil
}

// itemPart reads a part of the Responses API; nil if package chat has none like it.
func itemPart(o object) chat.Part {
	switch kind := o.text("type"); {
	case kind == "input_text" && len(o) == 2:
		return chat.Text(o.text("text"))
	case kind == "input_image" && len(o) == 3 && o["image_url"] != nil && o["detail"] != nil:
		p := chat.Image{URL: o.text("image_url"), Detail: chat.ImageDetail(o.text("detail"))}
		if p.Detail == chat.DetailAuto { // the API's default, which is always written
			p.Detail = ""
		}
		return p
	case kind == "input_file" && len(o) == 3:
		if d, ok := documentOf(o); ok {
			return d
		}
	}
	return nil
}
