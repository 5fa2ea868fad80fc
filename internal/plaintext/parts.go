package plaintext

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// Thinking returns the thinking of a message. It is kept whole, because providers accept it only whole.
func Thinking(m chat.Message) []chat.Thinking {
	var list []chat.Thinking
	for _, p := range m.Content {
		if t, ok := p.(chat.Thinking); ok {
			list = append(list, t)
		}
	}
	return list
}

// WithoutTools removes the calls of some tools and their results. A message with nothing left is removed too.
func WithoutTools(messages []chat.Message, tools []string) []chat.Message {
	gone := map[string]bool{}
	var list []chat.Message
	for _, m := range messages {
		if m.Role == chat.RoleTool && gone[m.ToolCallID] {
			continue
		}
		if len(m.ToolCalls) > 0 {
			kept := make([]chat.ToolCall, 0, len(m.ToolCalls))
			for _, call := range m.ToolCalls {
				if slices.Contains(tools, call.Name) {
					gone[call.ID] = true
				} else {
					kept = append(kept, call)
				}
			}
			if m.ToolCalls = kept; len(kept) == 0 && m.Text() == "" {
				continue
			}
		}
		list = append(list, m)
	}
	return list
}
