package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// ReadRequest reads the system prompt, messages and tools of a request, as a program that uses the SDK holds them. It is
// the inverse of [Request]: what that wrote is read so that it writes the same request again.
//
//   - The system prompt is the first message, with a part for each block.
//   - Each result in a user message is a tool message, and what stands beside the results a user message after them.
//   - An assistant message is read as by [Response]. The block of a [CompactionModel] at the start of the request is part of
//     the summary that follows it.
//   - A block's cache_control is a cache breakpoint after it; of a call without a place in the content, at the start of
//     the next message. That of the last block in a result becomes that of the result.
//   - A block for which package chat has no place is a [chat.Opaque]. Of a tool of the API's own, only the name is read.
//
// A message that cannot be read so, of another role, is an error that names it.
func ReadRequest(params sdk.MessageNewParams) (chat.Request, error) {
	var r reader
	err := wire.FromEach("anthropic: tool", params.Tools, func(o *wire.Object) error {
		tool := chat.Tool{Name: o.Peek("name"), Description: o.Peek("description")}
		if schema := o.Raw("input_schema"); string(schema) != emptySchema {
			tool.Parameters = schema
		}
		r.request.Tools = append(r.request.Tools, tool)
		r.pending = append(r.pending, messages.Breakpoint(o)...)
		return nil
	})
	if err != nil {
		return chat.Request{}, err
	}
	if len(params.System) > 0 {
		raw, err := json.Marshal(params.System)
		if err == nil {
			err = r.message(chat.RoleSystem, wire.Of("content", raw))
		}
		if err != nil {
			return chat.Request{}, fmt.Errorf("anthropic: the system prompt cannot be read: %w", err)
		}
	}
	err = wire.FromEach("anthropic: message", params.Messages, func(o *wire.Object) error { return r.message(chat.Role(o.Peek("role")), o) })
	if err != nil {
		return chat.Request{}, err
	}
	r.keepCompaction()
	return r.request, nil
}

type reader struct {
	request chat.Request
	pending chat.Parts // breakpoints that go to the start of the next message
}

// message reads a message.
func (r *reader) message(role chat.Role, o *wire.Object) error {
	if role != chat.RoleAssistant && role != chat.RoleUser && role != chat.RoleSystem {
		return fmt.Errorf("its role is %q: use user or assistant", role)
	}
	d := messages.Decoder{Message: chat.Message{Role: role}, Lenient: true}
	if err := d.Content(o); err != nil {
		return err
	}
	for _, m := range d.Results {
		r.add(m)
	}
	if role == chat.RoleAssistant || len(d.Message.Content) > 0 {
		r.add(d.Message)
	}
	r.pending = append(r.pending, d.After...)
	return nil
}

// add adds a message, with the breakpoints that wait for it.
func (r *reader) add(m chat.Message) {
	m.Content = append(r.pending, m.Content...)
	r.pending = nil
	r.request.Messages = append(r.request.Messages, m)
}

// keepCompaction moves the block of a [CompactionModel] from the message that begins the request to the summary in words that
// follows it.
func (r *reader) keepCompaction() {
	list := r.request.Messages
	first := slices.IndexFunc(list, func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	if first < 0 || first+1 >= len(list) || list[first].Role != chat.RoleAssistant || len(list[first].Content) != 1 {
		return
	}
	kept, ok := list[first].Content[0].(chat.Opaque)
	words := &list[first+1]
	if ok && isKeptCompaction(*words, kept) {
		words.Content = append(chat.Parts{kept}, words.Content...)
		r.request.Messages = slices.Delete(list, first, first+1)
	}
}
