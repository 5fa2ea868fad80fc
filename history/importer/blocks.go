package importer

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
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
func readBlocks(role chat.Role, o *object, notes *pending) (blocks, error) {
	b := blocks{message: chat.Message{Role: role}}
	err := b.read(o, notes)
	return b, err
}

func (b *blocks) read(o *object, notes *pending) error {
	if o.is("content", kindText) {
		appendText(&b.message, o.text("content"), "content", notes)
		return o.err
	}
	o.each("content", func(block *object, raw json.RawMessage) error { return b.block(block, raw, notes) })
	return o.err
}

// thinkingBlocks reads the field of that name, in which LiteLLM has Anthropic's blocks, and reports whether it holds any. The
// text of reasoning_content repeats them.
func thinkingBlocks(m *chat.Message, o *object, notes *pending) (bool, error) {
	list := o.raw("thinking_blocks")
	if list == nil || kind(list) != kindList || compacted(list) == "[]" {
		return false, nil
	}
	b, err := readBlocks(chat.RoleAssistant, &object{fields: map[string]json.RawMessage{"content": list}}, notes)
	if err != nil {
		return false, fmt.Errorf("thinking_blocks: %w", err)
	}
	m.Content = append(m.Content, b.message.Content...)
	if o.raw("reasoning_content") != nil {
		notes.add(Repeated, "reasoning_content")
	}
	return true, nil
}

func (b *blocks) block(o *object, raw json.RawMessage, notes *pending) error {
	typ := o.text("type")
	assistant := b.message.Role == chat.RoleAssistant
	switch {
	case o.err != nil:
		return o.err
	case typ == "thinking" && assistant:
		t := chat.Thinking{Text: o.optionalText("thinking"), Signature: o.optionalText("signature")}
		if t == (chat.Thinking{}) {
			notes.add(Empty, "content.thinking")
		} else {
			b.message.Content = append(b.message.Content, t)
		}
	case typ == "redacted_thinking" && assistant:
		b.message.Content = append(b.message.Content, chat.Thinking{Encrypted: o.text("data")})
	case typ == "tool_use" && assistant:
		c := chat.ToolCall{ID: o.text("id"), Name: o.text("name"), Arguments: o.compact("input")}
		if o.err == nil && c.Arguments == "" {
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
	return o.err
}

// result reads a tool result.
func (b *blocks) result(o *object, notes *pending) error {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: o.text("tool_use_id"), IsError: o.flag("is_error")}
	switch {
	case o.is("content", kindText):
		appendText(&m, o.text("content"), "content.tool_result.content", notes)
	case o.given("content"):
		o.each("content", func(block *object, raw json.RawMessage) error {
			typ := block.text("type")
			if block.err != nil {
				return block.err
			}
			return plainBlock(&m, typ, block, raw, notes)
		})
	}
	breakpoint(&m, o)
	if o.err != nil {
		return o.err
	}
	if len(b.message.Content) > 0 {
		notes.add(Moved, "content.tool_result")
	}
	notes.rest("content.tool_result", o)
	b.results = append(b.results, m)
	return nil
}

// plainBlock reads a block that any message may have.
func plainBlock(m *chat.Message, typ string, o *object, raw json.RawMessage, notes *pending) error {
	source := &object{}
	if o.is("source", kindObject) {
		var err error
		if source, err = parseObject(o.fields["source"]); err != nil {
			return err
		}
	}
	from := source.peek("type")
	switch {
	case typ == "text" && o.is("text", kindText):
		appendText(m, o.text("text"), "content.text", notes)
	case typ == "image" && from == "base64":
		m.Content = append(m.Content, chat.Image{URL: "data:" + source.text("media_type") + ";base64," + source.text("data")})
	case typ == "image" && from == "url":
		m.Content = append(m.Content, chat.Image{URL: source.text("url")})
	case typ == "document" && from == "base64":
		m.Content = append(m.Content, chat.Document{MediaType: source.text("media_type"), Data: source.text("data")})
	default:
		m.Content = append(m.Content, chat.Opaque{Value: raw})
		return nil
	}
	if source.err != nil {
		return fmt.Errorf("source: %w", source.err)
	}
	if len(source.fields) > 0 {
		delete(source.fields, "type")
		notes.rest("content."+typ+".source", source)
		delete(o.fields, "source")
	}
	breakpoint(m, o)
	notes.rest("content."+typ, o)
	return o.err
}

func appendText(m *chat.Message, text, what string, notes *pending) {
	if text == "" {
		notes.add(Empty, what)
		return
	}
	m.Content = append(m.Content, chat.Text(text))
}

// breakpoint adds a cache breakpoint if a block asks for one. What it asks for beyond a known lifetime is left unread.
func breakpoint(m *chat.Message, o *object) {
	if !o.is("cache_control", kindObject) {
		return
	}
	c, err := parseObject(o.fields["cache_control"])
	if err != nil {
		return
	}
	p := chat.CacheBreakpoint{Type: c.peek("type")}
	if ttl := c.peek("ttl"); ttl != "" {
		if p.Lifetime, err = time.ParseDuration(ttl); err != nil {
			return
		}
		delete(c.fields, "ttl")
	}
	delete(c.fields, "type")
	if len(c.rest()) > 0 {
		return
	}
	delete(o.fields, "cache_control")
	m.Content = append(m.Content, p)
}
