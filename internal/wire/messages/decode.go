// Package messages reads the messages of Anthropic's API, version 2023-06-01: their content, a text or a list of
// blocks, as answers, requests and recordings hold it.
//
//	block                        in package chat
//	text                         Text; its citations, in an answer, an Opaque after it
//	image, document              Image, Document, if they hold nothing else
//	thinking, redacted_thinking  Thinking, if it comes first in an answer, else Opaque
//	tool_use                     ToolCall, and an Opaque that marks its place if other blocks follow
//	tool_result                  a message of role tool, before the message that it stands in
//	cache_control                CacheBreakpoint after the block
//	any other                    Opaque, as it was written
package messages

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// The types of blocks.
const (
	TypeText       = "text"
	TypeImage      = "image"
	TypeDocument   = "document"
	TypeThinking   = "thinking"
	TypeRedacted   = "redacted_thinking"
	TypeToolUse    = "tool_use"
	TypeToolResult = "tool_result"
	// TypeCitations is not a type of the API: the citations of the preceding text are kept under it.
	TypeCitations = "citations"
)

// Decoder reads the content of a message, at once or in pieces.
type Decoder struct {
	// Lenient reads a call without an id or a name as a call all the same, and gives each call a unique id, as
	// [chat.WithCallIDs] does. Without it such a call is malformed.
	Lenient bool
	// Results are messages of role tool.
	Results []chat.Message
	// Message holds all else. Its Role is set before: assistant, or another, whose messages have results and no calls. Its
	// Content is empty if the message held results only.
	Message chat.Message
	// After are the breakpoints of calls at the end of the message. They belong to the start of the next one.
	After chat.Parts
	// Left is what has no place in the messages.
	Left wire.Leftovers
	// Malformed is the error of the first block that has not the form that its type has. It is kept as it was written.
	Malformed error

	ids    chat.CallIDs
	placed int          // calls whose place is marked
	marks  []chat.Parts // the breakpoints of the other calls
}

// Content reads the field "content" of a message. An error means that it is neither a text nor a list of objects.
func (d *Decoder) Content(message *wire.Object) error {
	if message.Is("content", wire.KindText) {
		d.add(text(message, "content", "content", &d.Left)...)
		return message.Err()
	}
	list := message.Field("content", wire.KindList)
	if list == nil {
		return message.Err()
	}
	index := 0
	err := wire.Each(list, func(block *wire.Object, _ int) error {
		d.Block(block)
		if err := block.Err(); err != nil && d.Malformed == nil {
			d.Malformed = fmt.Errorf("content: part %d: %w", index, err)
		}
		index++
		return nil
	})
	if err != nil {
		return fmt.Errorf("content: %w", err)
	}
	return nil
}

// Block reads the next block of the message.
func (d *Decoder) Block(b *wire.Object) {
	typ, answer := b.Text("type"), d.Message.Role == chat.RoleAssistant
	switch {
	case b.Err() != nil:
		d.add(opaque(b))
	case typ == TypeToolUse && answer:
		d.Call(b, cmp.Or(b.Compact("input"), "{}"))
	case typ == TypeToolResult && !answer:
		d.result(b)
	case typ == TypeToolUse, typ == TypeToolResult:
		b.Fail(fmt.Errorf("type %q in a message of role %s", typ, d.Message.Role))
		d.add(opaque(b))
	case (typ == TypeThinking || typ == TypeRedacted) && answer:
		d.thinking(typ, b)
	case typ == TypeText && answer:
		d.add(d.said(b)...)
	case answer:
		d.add(opaque(b))
	default:
		d.add(plain(typ, b, &d.Left)...)
	}
}

// add adds parts, after the marks of calls that have none.
func (d *Decoder) add(parts ...chat.Part) {
	if len(parts) == 0 {
		return
	}
	for ; d.placed < len(d.Message.ToolCalls); d.placed++ {
		d.Message.Content = append(append(d.Message.Content, PlaceMark(d.Message.ToolCalls[d.placed].ID)), d.marks[d.placed]...)
	}
	d.After = nil
	d.Message.Content = append(d.Message.Content, parts...)
}

// Call reads a call, with arguments that were read before.
func (d *Decoder) Call(b *wire.Object, arguments string) {
	read := b.Text
	if d.Lenient {
		read = func(name string) string {
			s := b.Peek(name)
			b.Skip(name)
			return s
		}
	}
	c := chat.ToolCall{ID: read("id"), Name: read("name"), Arguments: arguments, Signature: callerOf(b)}
	mark := breakpoint(b, "content.tool_use", &d.Left)
	if b.Err() != nil {
		d.add(opaque(b))
		return
	}
	b.Skip("input")
	d.Left.Rest("content.tool_use", b)
	if d.Lenient {
		c.ID = d.ids.Next(c.ID)
	}
	d.Message.ToolCalls, d.marks, d.After = append(d.Message.ToolCalls, c), append(d.marks, mark), append(d.After, mark...)
}

// thinking reads thinking, which is a [chat.Thinking] only if nothing else comes before it.
func (d *Decoder) thinking(typ string, b *wire.Object) {
	var t chat.Thinking
	if typ == TypeRedacted {
		t.Encrypted = b.Text("data")
	} else {
		t = chat.Thinking{Text: b.OptionalText("thinking"), Signature: b.OptionalText("signature")}
	}
	switch {
	case b.Err() != nil:
		d.add(opaque(b))
		return
	case t == chat.Thinking{}:
		d.Left.Add(wire.Empty, "content.thinking")
	default:
		d.think(t)
	}
	d.Left.Rest("content."+typ, b)
}

func (d *Decoder) think(t chat.Thinking) {
	n := len(d.Message.Content)
	first := n == 0
	if !first {
		_, first = d.Message.Content[n-1].(chat.Thinking)
	}
	if first && len(d.Message.ToolCalls) == 0 {
		d.add(t)
	} else {
		d.add(LaterThinking(t))
	}
}

// Join adds a later piece of the same answer, which was read by itself.
func (d *Decoder) Join(next *Decoder) {
	for _, p := range next.Message.Content {
		if t, is := p.(chat.Thinking); is {
			d.think(t)
		} else {
			d.add(p)
		}
	}
	d.placed += next.placed
	d.Message.ToolCalls, d.marks = append(d.Message.ToolCalls, next.Message.ToolCalls...), append(d.marks, next.marks...)
	d.After = append(d.After, next.After...)
}

// said reads a text of an answer.
func (d *Decoder) said(b *wire.Object) chat.Parts {
	var citations []json.RawMessage
	if b.Is("citations", wire.KindList) {
		citations, _ = wire.Values(b.Field("citations", wire.KindList))
	}
	parts := text(b, "text", "content.text", &d.Left)
	if b.Err() != nil {
		return chat.Parts{opaque(b)}
	}
	if len(parts) > 0 && len(citations) > 0 {
		parts = append(parts, encode(struct {
			Type      string            `json:"type"`
			Citations []json.RawMessage `json:"citations"`
		}{TypeCitations, citations}))
	}
	parts = append(parts, breakpoint(b, "content.text", &d.Left)...)
	d.Left.Rest("content.text", b)
	return parts
}

// result reads a tool's result.
func (d *Decoder) result(b *wire.Object) {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: b.Text("tool_use_id"), IsError: b.Flag("is_error")}
	if b.Is("content", wire.KindText) {
		m.Content = text(b, "content", "content.tool_result.content", &d.Left)
	} else if b.Given("content") {
		b.Each("content", func(block *wire.Object) { m.Content = append(m.Content, plain(block.Text("type"), block, &d.Left)...) })
	}
	m.Content = append(m.Content, breakpoint(b, "content.tool_result", &d.Left)...)
	if b.Err() != nil {
		d.add(opaque(b))
		return
	}
	if len(d.Message.Content) > 0 {
		d.Left.Add(wire.Moved, "content.tool_result")
	}
	d.Left.Rest("content.tool_result", b)
	d.Results = append(d.Results, m)
}

// plain reads a block that any message may have. One that has no equivalent, or fields that have none, is opaque.
func plain(typ string, b *wire.Object, left *wire.Leftovers) chat.Parts {
	if typ == TypeText {
		if !b.Is("text", wire.KindText) {
			return chat.Parts{opaque(b)}
		}
		var said wire.Leftovers
		return whole(typ, b, text(b, "text", "content.text", &said), left, said)
	}
	if !b.Is("source", wire.KindObject) {
		return chat.Parts{opaque(b)}
	}
	source := b.Object("source")
	from := source.Peek("type")
	source.Skip("type")
	var p chat.Part
	switch {
	case typ == TypeImage && from == "base64":
		p = chat.Image{URL: "data:" + source.Text("media_type") + ";base64," + source.Text("data")}
	case typ == TypeImage && from == "url":
		p = chat.Image{URL: source.Text("url")}
	case typ == TypeDocument && from == "base64":
		p = chat.Document{MediaType: source.Text("media_type"), Data: source.Text("data")}
	case typ == TypeDocument && from == "text":
		d := chat.Document{MediaType: source.Text("media_type")}
		data := source.Text("data")
		if d.Data = base64.StdEncoding.EncodeToString([]byte(data)); strings.TrimSpace(data) != "" {
			p = d
		}
	}
	if p == nil || len(source.Rest()) > 0 {
		return chat.Parts{opaque(b)}
	}
	return whole(typ, b, chat.Parts{p}, left, nil)
}

// whole returns the parts of a block with its breakpoint, and the block itself if more stands in it than they hold.
func whole(typ string, b *wire.Object, parts chat.Parts, left *wire.Leftovers, said wire.Leftovers) chat.Parts {
	mark := breakpoint(b, "content."+typ, &said)
	if b.Err() != nil || len(b.Rest()) > 0 {
		return chat.Parts{opaque(b)}
	}
	*left = append(*left, said...)
	return append(parts, mark...)
}

// text reads a text, and notes an empty one.
func text(o *wire.Object, field, what string, left *wire.Leftovers) chat.Parts {
	s := o.Text(field)
	switch {
	case o.Err() != nil:
		return nil
	case s == "":
		left.Add(wire.Empty, what)
		return nil
	}
	return chat.Parts{chat.Text(s)}
}

// Breakpoint reads the cache_control of a tool.
func Breakpoint(tool *wire.Object) chat.Parts { return breakpoint(tool, "", new(wire.Leftovers)) }

// breakpoint reads the cache_control of a block, below a path.
func breakpoint(b *wire.Object, what string, left *wire.Leftovers) chat.Parts {
	c := b.Inside("cache_control")
	if c == nil {
		return nil
	}
	b.Skip("cache_control")
	p := chat.CacheBreakpoint{Type: c.Peek("type")}
	if lifetime, err := time.ParseDuration(c.Peek("ttl")); err == nil {
		p.Lifetime = lifetime
		c.Skip("ttl")
	}
	c.Skip("type")
	left.Rest(what+".cache_control", c)
	return chat.Parts{p}
}

func opaque(b *wire.Object) chat.Opaque { return chat.Opaque{Value: b.Source()} }
