package openai

import (
	"cmp"

	sdk "github.com/openai/openai-go/v3"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
)

// ReadChat reads the messages and tools of a request to Chat Completions, as a program that uses the SDK holds them. It is
// the inverse of [ChatRequest]: what that wrote is read so that it writes the same bytes again.
//
//   - A user message with the images and documents of a tool's result, as [ChatRequest] writes it, is read as part of the
//     result.
//   - Thinking in a server's own field is a [chat.Thinking] with the name of the field as the signature.
//   - A part, or fields of an assistant message, for which package chat has no place is a [chat.Opaque]; fields of a call
//     are its signature. They are sent back to Chat Completions only.
//
// A message that cannot be read so is an error that names it: one of role "function", or of another role with a field
// that is not OpenAI's.
func ReadChat(params sdk.ChatCompletionNewParams) (chat.Request, error) {
	var r chatReader
	if err := wire.FromEach("openai: message", params.Messages, r.message); err != nil {
		return chat.Request{}, err
	}
	tools, err := readTools(params.Tools, func(o *wire.Object) *wire.Object { return o.Inside(o.Peek("type")) })
	return chat.Request{Messages: r.out, Tools: tools}, err
}

// readTools reads the tools of a request, each from the object that holds its definition. Of a custom tool that is its
// name and description.
func readTools[T any](tools []T, in func(*wire.Object) *wire.Object) (list []chat.Tool, err error) {
	err = wire.FromEach("openai: tool", tools, func(o *wire.Object) error {
		o = cmp.Or(in(o), &wire.Object{})
		list = append(list, chat.Tool{Name: o.Peek("name"), Description: o.Peek("description"), Parameters: o.Raw("parameters")})
		return nil
	})
	return list, err
}

type chatReader struct {
	out []chat.Message
}

func (r *chatReader) message(o *wire.Object) error {
	m, err := completions.Decode(o, nil)
	if err == nil && !(m.Role == chat.RoleUser && r.resultMedia(m.Content)) {
		r.out = append(r.out, m)
	}
	return err
}

// resultMedia adds a user message's content to the results that it belongs to, and reports whether it belongs to any.
func (r *chatReader) resultMedia(content chat.Parts) bool {
	if len(content) == 0 || r.resultOf(content[0]) == nil {
		return false
	}
	var to *chat.Message
	for _, p := range content {
		if next := r.resultOf(p); next != nil {
			if to = next; to.Text() == followsText {
				to.Content = nil
			}
		} else {
			to.Content = append(to.Content, p)
		}
	}
	return true
}

// resultOf returns the result of the last round to whose images a text leads over; nil if it does not.
func (r *chatReader) resultOf(p chat.Part) *chat.Message {
	for i := len(r.out) - 1; i >= 0 && r.out[i].Role == chat.RoleTool; i-- {
		if p == chat.Part(chat.Text(mediaIntro(r.out[i].ToolCallID))) {
			return &r.out[i]
		}
	}
	return nil
}
