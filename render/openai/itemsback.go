package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/items"
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
// [*chat.TransientError], one that ended in order and says nothing is a [*chat.EmptyError] in one, and a status, or a
// reason of an incomplete answer, that is not known is a [*chat.EndError] in a [*chat.AnswerError], with the answer so
// far.
func ItemsResponse(answer *responses.Response) (chat.Response, error) {
	return itemsResponse(answer, answer.Output, new(chat.CallIDs), nil)
}

// itemsResponse is ItemsResponse for items, and ids of calls, that may have been streamed, with the reasons that a model
// declares.
func itemsResponse(answer *responses.Response, output []responses.ResponseOutputItemUnion, ids *chat.CallIDs, ends map[string]chat.StopReason) (chat.Response, error) {
	if answer.Status == responses.ResponseStatusFailed || answer.Status == responses.ResponseStatusCancelled {
		if !answer.JSON.Error.Valid() {
			return chat.Response{}, &chat.AnswerError{Err: fmt.Errorf("openai: the response is %s", answer.Status)}
		}
		return chat.Response{}, reported([]byte(answer.Error.RawJSON()), errFailed)
	}
	response := chat.Response{Message: messageOfItems(output, ids), Usage: itemsUsage(answer.Usage)}
	reason := string(answer.Status)
	switch {
	case isRefusal(response.Message):
		response.StopReason = chat.StopFiltered
		return response, nil
	case answer.Status == responses.ResponseStatusIncomplete:
		reason = cmp.Or(answer.IncompleteDetails.Reason, "max_output_tokens")
	case answer.Status != "" && answer.Status != responses.ResponseStatusCompleted: // "queued", for example
	case !slices.ContainsFunc(output, isObject):
		return chat.Response{}, emptyAnswer()
	default:
		reason = "stop"
	}
	var err error
	response.StopReason, err = dialect.End(reason, "", response.Message, ends)
	return response, err
}

// isObject reports whether an item is a JSON object.
func isObject(item responses.ResponseOutputItemUnion) bool {
	return wire.ObjectOf(json.RawMessage(item.RawJSON())) != nil
}

func messageOfItems(output []responses.ResponseOutputItemUnion, ids *chat.CallIDs) chat.Message {
	list := make([]json.RawMessage, len(output))
	for i, item := range output {
		list[i] = json.RawMessage(item.RawJSON())
	}
	return messageOf(list, ids)
}

// messageOf returns the assistant message that consists of these items. What is no item is left out.
func messageOf(list []json.RawMessage, ids *chat.CallIDs) chat.Message {
	a := items.Answer{Message: chat.Message{Role: chat.RoleAssistant}}
	var objects []*wire.Object
	var calls []chat.ToolCall
	for _, raw := range list {
		if o, err := wire.Parse(raw); err == nil && utf8.Valid(raw) {
			objects = append(objects, o)
			if items.IsCall(o.Peek("type")) {
				calls = append(calls, chat.ToolCall{ID: o.Peek("call_id")})
			}
		}
	}
	calls = ids.Calls(calls)
	for _, o := range objects {
		if items.IsCall(o.Peek("type")) {
			items.AsText(o)
			o.PutText("call_id", calls[0].ID)
			calls = calls[1:]
		}
		_ = a.Add(o) // what of an answer cannot be read is kept as it is
	}
	return a.Message
}

func itemsUsage(u responses.ResponseUsage) chat.Usage {
	return chat.Usage{
		Input: int(u.InputTokens), Output: int(u.OutputTokens),
		CacheRead: int(u.InputTokensDetails.CachedTokens), CacheWrite: int(u.InputTokensDetails.CacheWriteTokens),
		CacheWriteLong: int(u.InputTokensDetails.CacheWriteTokensDetails.Ttl12hTokens),
		CacheUnknown:   u.InputTokens > 0 && u.JSON.InputTokens.Valid() && !u.InputTokensDetails.JSON.CachedTokens.Valid(),
	}
}
