package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// text adds a text to a message unless it is empty.
func (b *builder) text(m *chat.Message, text, what string) {
	if text == "" {
		b.note(noteEmpty, what)
		return
	}
	m.Content = append(m.Content, chat.Text(text))
}

// thought adds a thought to a message unless it holds nothing.
func (b *builder) thought(m *chat.Message, t chat.Thinking, what string) {
	if t == (chat.Thinking{}) {
		b.note(noteEmpty, what)
		return
	}
	m.Content = append(m.Content, t)
}

// media returns an image, or a document of any other type, from its data in base64.
func media(mediaType, data string) chat.Part {
	if strings.HasPrefix(mediaType, "image/") {
		return chat.Image{URL: "data:" + mediaType + ";base64," + data}
	}
	return chat.Document{MediaType: mediaType, Data: data}
}

// mediaOf returns an image or a document from the fields that the protocol of tools' servers (MCP) names.
func mediaOf(o *wire.Object) chat.Part { return media(o.Text("mimeType"), o.Text("data")) }

// inputJSON returns a text as a JSON argument.
func inputJSON(text string) string {
	input, _ := plainjson.Marshal(map[string]string{"input": text}) // strings always encode
	return string(input)
}

// summaryMessage returns a summary as a user's message, delimited so that it is not taken for the user's words.
func summaryMessage(summary string) chat.Message {
	return chat.UserMessage("<summary>\n" + summary + "\n</summary>")
}

// optional calls f for each object of a list that may be missing.
func optional(o *wire.Object, field string, f func(p *wire.Object)) {
	if o.Given(field) {
		o.Each(field, f)
	}
}

// decode decodes a field, if it is given.
func decode(o *wire.Object, field string, to any) {
	if raw := o.Raw(field); raw != nil {
		if err := json.Unmarshal(raw, to); err != nil {
			o.Fail(fmt.Errorf("%s: %w", field, err))
		}
	}
}

// within returns an object in others, an empty one if it is missing. Their fields count as not read.
func within(o *wire.Object, names ...string) *wire.Object {
	return cmp.Or(o.Inside(names...), &wire.Object{})
}

// blocks reads the content of a message of Anthropic's messages API.
func (b *builder) blocks(role chat.Role, o *wire.Object) *messages.Decoder {
	d := &messages.Decoder{Message: chat.Message{Role: role}}
	err := d.Content(o)
	o.Fail(cmp.Or(err, d.Malformed))
	b.left(d.Left)
	if len(d.After) > 0 {
		b.note(noteNoPlace, "content.tool_use.cache_control")
	}
	return d
}

// thinkingBlocks reads the field of that name, in which LiteLLM has Anthropic's blocks, and reports whether it holds any. The
// text of reasoning_content repeats them.
func (b *builder) thinkingBlocks(m *chat.Message, o *wire.Object) bool {
	list := o.Raw("thinking_blocks")
	if list == nil || wire.KindOf(list) != wire.KindList || wire.Compacted(list) == "[]" {
		return false
	}
	blocks := wire.Of("content", list)
	m.Content = append(m.Content, b.blocks(chat.RoleAssistant, blocks).Message.Content...)
	if blocks.Err() != nil {
		o.Fail(fmt.Errorf("thinking_blocks: %w", blocks.Err()))
	}
	if o.Raw("reasoning_content") != nil {
		b.note(noteRepeated, "reasoning_content")
	}
	return true
}
