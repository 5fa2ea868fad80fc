package importer

import (
	"cmp"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// readBlocks reads the content of a message of Anthropic's messages API.
func readBlocks(role chat.Role, o *wire.Object, notes *pending) (*messages.Decoder, error) {
	d := &messages.Decoder{Role: role}
	if err := cmp.Or(d.Content(o), d.Malformed, o.Err()); err != nil {
		return nil, err
	}
	notes.left(d.Left)
	if len(d.After) > 0 {
		notes.add(NoPlace, "content.tool_use.cache_control")
	}
	return d, nil
}

// thinkingBlocks reads the field of that name, in which LiteLLM has Anthropic's blocks, and reports whether it holds any. The
// text of reasoning_content repeats them.
func thinkingBlocks(m *chat.Message, o *wire.Object, notes *pending) (bool, error) {
	list := o.Raw("thinking_blocks")
	if list == nil || wire.KindOf(list) != wire.KindList || wire.Compacted(list) == "[]" {
		return false, nil
	}
	d, err := readBlocks(chat.RoleAssistant, wire.Of("content", list), notes)
	if err != nil {
		return false, fmt.Errorf("thinking_blocks: %w", err)
	}
	m.Content = append(m.Content, d.Message.Content...)
	if o.Raw("reasoning_content") != nil {
		notes.add(Repeated, "reasoning_content")
	}
	return true, nil
}

func appendText(m *chat.Message, text, what string, notes *pending) {
	if text == "" {
		notes.add(Empty, what)
		return
	}
	m.Content = append(m.Content, chat.Text(text))
}
