package openai

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
	"github.com/promptree-go/promptree/internal/wire/parts"
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
	if err := wire.FromEach("openai: input item", params.Input.OfInputItemList, r.item); err != nil {
		return chat.Request{}, err
	}
	r.flush()
	request.Messages = append(request.Messages, r.out...)
	var err error
	request.Tools, err = readTools(params.Tools, func(o *wire.Object) *wire.Object { return o })
	return request, err
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

func (r *inputReader) item(o *wire.Object) error {
	typ, role := o.Peek("type"), o.Peek("role")
	switch {
	case typ == "item_reference":
		return fmt.Errorf("it refers to a stored item: send the item itself")
	case typ == "function_call_output", typ == parts.CustomCall+"_output", (typ == "message" || typ == "") && role != string(chat.RoleAssistant):
		m, err := items.Input(o, nil)
		if err != nil {
			return err
		}
		r.flush()
		r.out = append(r.out, m)
	case typ == "compaction": // it stands for what was said before it
		r.flush()
		r.out = append(r.out, chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Opaque{Value: o.Source()}}})
	case typ == "message", typ == "":
		if r.ended && !r.calls { // two messages, which one message of package chat would join
			r.flush()
		}
		o.PutText("type", "message")
		r.items, r.ended = append(r.items, o.All()), true
	default:
		r.items, r.calls, r.ended = append(r.items, o.Source()), r.calls || items.IsCall(typ), false
	}
	return nil
}
