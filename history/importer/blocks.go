package importer

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// blocks holds the messages for the content of one message of Anthropic's API: one for each tool result, and then one
// with everything else.
type blocks struct {
	results []chat.Message
	message chat.Message
}

// readBlocks reads the content of a message of Anthropic's messages API, a text or a list of blocks. Text, images,
// documents, thinking, tool calls and tool results become their equivalents, a cache_control becomes a breakpoint after
// its block, and a block of any other type, such as a search that the provider ran, is kept as it is.
func readBlocks(role chat.Role, o *wire.Object, notes *pending) (blocks, error) {
	b := blocks{message: chat.Message{Role: role}}
	err := b.read(o, notes)
	return b, err
}

func (b *blocks) read(o *wire.Object, notes *pending) error {
	if o.Is("content", wire.KindText) {
		appendText(&b.message, o.Text("content"), "content", notes)
		return o.Err()
	}
	o.Each("content", func(block *wire.Object) error { return b.block(block, block.Source(), notes) })
	return o.Err()
}

// thinkingBlocks reads the field of that name, in which LiteLLM has Anthropic's blocks, and reports whether it holds any. The
// text of reasoning_content repeats them.
func thinkingBlocks(m *chat.Message, o *wire.Object, notes *pending) (bool, error) {
	list := o.Raw("thinking_blocks")
	if list == nil || wire.KindOf(list) != wire.KindList || wire.Compacted(list) == "[]" {
		return false, nil
	}
	b, err := readBlocks(chat.RoleAssistant, wire.Of("content", list), notes)
	if err != nil {
		return false, fmt.Errorf("thinking_blocks: %w", err)
	}
	m.Content = append(m.Content, b.message.Content...)
	if o.Raw("reasoning_content") != nil {
		notes.add(Repeated, "reasoning_content")
	}
	return true, nil
}

func (b *blocks) block(o *wire.Object, raw json.RawMessage, notes *pending) error {
	typ := o.Text("type")
	assistant := b.message.Role == chat.RoleAssistant
	switch {
	case o.Err() != nil:
		return o.Err()
	case typ == "thinking" && assistant:
		t := chat.Thinking{Text: o.OptionalText("thinking"), Signature: o.OptionalText("signature")}
		if t == (chat.Thinking{}) {
			notes.add(Empty, "content.thinking")
		} else {
			b.message.Content = append(b.message.Content, t)
		}
	case typ == "redacted_thinking" && assistant:
		b.message.Content = append(b.message.Content, chat.Thinking{Encrypted: o.Text("data")})
	case typ == "tool_use" && assistant:
		c := chat.ToolCall{ID: o.Text("id"), Name: o.Text("name"), Arguments: o.Compact("input")}
		if o.Err() == nil && c.Arguments == "" {
			c.Arguments = "{}"
		}
		b.message.ToolCalls = append(b.message.ToolCalls, c)
	case typ == "tool_result" && !assistant:
		return b.result(o, notes)
	case typ == "tool_result", typ == "tool_use":
		return fmt.Errorf("type %q in a message of role %s", typ, b.message.Role)
	default:
		return plainBlock(&b.message, typ, o, raw, notes)
	}
	notes.rest("content."+typ, o)
	return o.Err()
}

// result reads a tool result.
func (b *blocks) result(o *wire.Object, notes *pending) error {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: o.Text("tool_use_id"), IsError: o.Flag("is_error")}
	switch {
	case o.Is("content", wire.KindText):
		appendText(&m, o.Text("content"), "content.tool_result.content", notes)
	case o.Given("content"):
		o.Each("content", func(block *wire.Object) error {
			raw := block.Source()
			typ := block.Text("type")
			if block.Err() != nil {
				return block.Err()
			}
			return plainBlock(&m, typ, block, raw, notes)
		})
	}
	breakpoint(&m, o)
	if o.Err() != nil {
		return o.Err()
	}
	if len(b.message.Content) > 0 {
		notes.add(Moved, "content.tool_result")
	}
	notes.rest("content.tool_result", o)
	b.results = append(b.results, m)
	return nil
}

// plainBlock reads a block that any message may have.
func plainBlock(m *chat.Message, typ string, o *wire.Object, raw json.RawMessage, notes *pending) error {
	source := &wire.Object{}
	if o.Is("source", wire.KindObject) {
		var err error
		if source, err = wire.Parse(o.Look("source")); err != nil {
			return err
		}
	}
	from := source.Peek("type")
	switch {
	case typ == "text" && o.Is("text", wire.KindText):
		appendText(m, o.Text("text"), "content.text", notes)
	case typ == "image" && from == "base64":
		m.Content = append(m.Content, chat.Image{URL: "data:" + source.Text("media_type") + ";base64," + source.Text("data")})
	case typ == "image" && from == "url":
		m.Content = append(m.Content, chat.Image{URL: source.Text("url")})
	case typ == "document" && from == "base64":
		m.Content = append(m.Content, chat.Document{MediaType: source.Text("media_type"), Data: source.Text("data")})
	default:
		m.Content = append(m.Content, chat.Opaque{Value: raw})
		return nil
	}
	if source.Err() != nil {
		return fmt.Errorf("source: %w", source.Err())
	}
	if from != "" {
		source.Skip("type")
		notes.rest("content."+typ+".source", source)
		o.Skip("source")
	}
	breakpoint(m, o)
	notes.rest("content."+typ, o)
	return o.Err()
}

func appendText(m *chat.Message, text, what string, notes *pending) {
	if text == "" {
		notes.add(Empty, what)
		return
	}
	m.Content = append(m.Content, chat.Text(text))
}

// breakpoint adds a cache breakpoint if a block asks for one. What it asks for beyond a known lifetime is left unread.
func breakpoint(m *chat.Message, o *wire.Object) {
	if !o.Is("cache_control", wire.KindObject) {
		return
	}
	c, err := wire.Parse(o.Look("cache_control"))
	if err != nil {
		return
	}
	p := chat.CacheBreakpoint{Type: c.Peek("type")}
	if ttl := c.Peek("ttl"); ttl != "" {
		if p.Lifetime, err = time.ParseDuration(ttl); err != nil {
			return
		}
		c.Skip("ttl")
	}
	c.Skip("type")
	if len(c.Rest()) > 0 {
		return
	}
	o.Skip("cache_control")
	m.Content = append(m.Content, p)
}
