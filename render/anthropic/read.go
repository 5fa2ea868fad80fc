package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
)

// ReadRequest reads the system prompt, messages and tools of a request, as a program that uses the SDK holds them. It is
// the inverse of [Request]: what that wrote is read so that it writes the same request again.
//
//   - The system prompt is the first message, with a part for each block.
//   - Each result in a user message is a tool message, and what follows the results a user message.
//   - An assistant message is read as by [Response]. The block of a [Compaction] at the start of the request is part of
//     the summary that follows it.
//   - A block's cache_control is a cache breakpoint after it; of a call without a place in the content, at the start of
//     the next message. That of the last block in a result becomes that of the result.
//   - A block for which package chat has no place is a [chat.Opaque]. Of a tool of the API's own, only the name is read.
//
// A message that cannot be read so, of another role, is an error that names it.
func ReadRequest(params sdk.MessageNewParams) (chat.Request, error) {
	var r reader
	for i, t := range params.Tools {
		b, err := blockOf(t)
		if err != nil {
			return chat.Request{}, fmt.Errorf("anthropic: tool %d cannot be read: %w", i, err)
		}
		tool := chat.Tool{Name: b.text("name"), Description: b.text("description")}
		if schema := b.fields["input_schema"]; string(schema) != emptySchema {
			tool.Parameters = schema
		}
		r.request.Tools = append(r.request.Tools, tool)
		r.pending = append(r.pending, b.mark()...)
	}
	if len(params.System) > 0 {
		raw, err := json.Marshal(params.System)
		if err == nil {
			err = r.message(string(chat.RoleSystem), raw)
		}
		if err != nil {
			return chat.Request{}, fmt.Errorf("anthropic: the system prompt cannot be read: %w", err)
		}
	}
	for i, m := range params.Messages {
		b, err := blockOf(m)
		if err == nil {
			err = r.message(b.text("role"), b.fields["content"])
		}
		if err != nil {
			return chat.Request{}, fmt.Errorf("anthropic: message %d cannot be read: %w", i, err)
		}
	}
	r.keepCompaction()
	return r.request, nil
}

// keepCompaction moves the block of a [Compaction] from the message that begins the request to the summary in words that
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

type reader struct {
	request chat.Request
	pending chat.Parts // breakpoints that go to the start of the next message
}

// block is a block of a message, a message or a tool.
type block struct {
	raw    json.RawMessage
	fields map[string]json.RawMessage
}

func (b *block) UnmarshalJSON(raw []byte) error {
	b.raw = bytes.Clone(raw)
	return json.Unmarshal(raw, &b.fields)
}

// blocksOf reads a list of blocks.
func blocksOf(content json.RawMessage) ([]block, error) {
	var blocks []block
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, fmt.Errorf("its content is neither a text nor a list of blocks: %w", err)
	}
	return blocks, nil
}

func (b block) text(key string) string {
	var s string
	if json.Unmarshal(b.fields[key], &s) != nil {
		return ""
	}
	return s
}

// plain reports whether a block has these fields and no others, besides its type and cache_control.
func (b block) plain(fields ...string) bool {
	rest := maps.Clone(b.fields)
	delete(rest, "type")
	delete(rest, "cache_control")
	return len(rest) == len(fields) && !slices.ContainsFunc(fields, func(key string) bool { return rest[key] == nil })
}

// mark returns the breakpoint that the block carries, if any.
func (b block) mark() chat.Parts {
	var control *struct{ Type, TTL string }
	if json.Unmarshal(b.fields["cache_control"], &control) != nil || control == nil {
		return nil
	}
	lifetime, _ := time.ParseDuration(control.TTL)
	return chat.Parts{chat.CacheBreakpoint{Type: control.Type, Lifetime: lifetime}}
}

// blockOf returns a value of the SDK as a block.
func blockOf(v json.Marshaler) (block, error) {
	var b block
	raw, err := v.MarshalJSON()
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal(raw, &b)
}

// add adds a message, with the breakpoints that wait for it.
func (r *reader) add(m chat.Message) {
	m.Content = append(r.pending, m.Content...)
	r.pending = nil
	r.request.Messages = append(r.request.Messages, m)
}

// message reads a message from the JSON of its content.
func (r *reader) message(role string, content json.RawMessage) error {
	var text string
	if json.Unmarshal(content, &text) == nil {
		content, _ = json.Marshal([]map[string]string{{"type": typeText, "text": text}})
	}
	if role != string(chat.RoleAssistant) && role != string(chat.RoleUser) && role != string(chat.RoleSystem) {
		return fmt.Errorf("its role is %q: use user or assistant", role)
	}
	blocks, err := blocksOf(content)
	if err != nil {
		return err
	}
	if role == string(chat.RoleAssistant) {
		return r.assistant(content, blocks)
	}
	var said chat.Parts
	flush := func() {
		if len(said) > 0 {
			r.add(chat.Message{Role: chat.Role(role), Content: said})
		}
		said = nil
	}
	for _, b := range blocks {
		if b.text("type") != typeToolResult {
			said = append(said, b.parts()...)
			continue
		}
		flush()
		if err := r.result(b); err != nil {
			return err
		}
	}
	flush()
	return nil
}

// assistant reads the blocks of an assistant message as those of an answer, with the breakpoints that they carry.
func (r *reader) assistant(content json.RawMessage, blocks []block) error {
	var answer []sdk.ContentBlockUnion
	if err := json.Unmarshal(content, &answer); err != nil {
		return err
	}
	marks := make([]chat.Parts, len(blocks))
	for i, b := range blocks {
		marks[i] = b.mark()
	}
	m, after := assistantOf(answer, marks)
	r.add(m)
	r.pending = after
	return nil
}

// result reads a tool's result.
func (r *reader) result(b block) error {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: b.text("tool_use_id"), IsError: string(b.fields["is_error"]) == "true"}
	var text string
	if json.Unmarshal(b.fields["content"], &text) == nil && text != "" {
		m.Content = chat.Parts{chat.Text(text)}
	} else if text == "" && b.fields["content"] != nil {
		blocks, err := blocksOf(b.fields["content"])
		if err != nil {
			return err
		}
		for _, b := range blocks {
			m.Content = append(m.Content, b.parts()...)
		}
	}
	m.Content = append(m.Content, b.mark()...)
	r.add(m)
	return nil
}

// parts returns the part for a block, and the breakpoint that it carries.
func (b block) parts() chat.Parts {
	var source struct {
		Type      string
		URL       string
		MediaType string `json:"media_type"`
		Data      string
	}
	_ = json.Unmarshal(b.fields["source"], &source) // the source of another form is kept as it is
	var p chat.Part
	switch kind := b.text("type"); {
	case kind == typeText && b.plain("text"):
		p = chat.Text(b.text("text"))
	case kind == "image" && b.plain("source") && source.Type == "base64":
		p = chat.Image{URL: "data:" + source.MediaType + ";base64," + source.Data}
	case kind == "image" && b.plain("source") && source.Type == "url":
		p = chat.Image{URL: source.URL}
	case kind == "document" && b.plain("source") && source.Type == "base64":
		p = chat.Document{MediaType: source.MediaType, Data: source.Data}
	case kind == "document" && b.plain("source") && source.Type == "text":
		p = chat.Document{MediaType: source.MediaType, Data: base64.StdEncoding.EncodeToString([]byte(source.Data))}
	default:
		return chat.Parts{chat.Opaque{Value: b.raw}}
	}
	return append(chat.Parts{p}, b.mark()...)
}
