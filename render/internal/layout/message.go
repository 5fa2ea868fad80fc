package layout

import (
	"context"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/transfer"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// layMessage lays out a message, and charges its tokens without content.
func layMessage(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	extra := s.tree.EnsureExtra(s.id)
	switch n := n.(type) {
	case elements.SystemMessage:
		extra.Frame = &chat.Message{Role: chat.RoleSystem, Name: n.Name}
	case elements.UserMessage:
		extra.Frame = &chat.Message{Role: chat.RoleUser, Name: n.Name}
	case elements.AssistantMessage:
		extra.Frame, extra.Calls = &chat.Message{Role: chat.RoleAssistant, Name: n.Name, Origin: n.Origin}, n.ToolCalls
	case elements.ToolMessage:
		extra.Frame = &chat.Message{Role: chat.RoleTool, ToolCallID: n.ToolCallID, IsError: n.IsError}
	}
	if err := s.checkMessage(extra); err != nil {
		return nil, err
	}
	s.node().Kind, s.inMessage = tree.Message, true
	tokens := frameTokens(s.layouter.Tokenizer, *extra.Frame, extra.Calls)
	if extra.Frame.Role == chat.RoleTool { // not charged, as in prompt-tsx
		s.uncharged += tokens
	} else {
		s.used += tokens
	}
	return s.item.kind.children, nil
}

// checkMessage returns an error for a message that providers would refuse, or in a place where no message may be.
func (s *site) checkMessage(m *tree.Extra) error {
	l := s.layouter
	switch {
	case l.Transfer && (!l.Compatible || m.Frame.Role != chat.RoleTool):
		return transfer.ErrMessage
	case l.Compatible:
		return nil
	case s.inMessage:
		return tree.ErrNestedMessage
	case len(m.Calls) < 2:
		return nil
	}
	seen := make(map[string]bool, len(m.Calls))
	for _, c := range m.Calls {
		if seen[c.ID] {
			return fmt.Errorf("%w: %q", tree.ErrDuplicateCall, c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// frameTokens returns the tokens of a message without content.
func frameTokens(t chat.Tokenizer, frame chat.Message, calls []elements.ToolCall) int {
	frame.ToolCalls = join.Calls(calls)
	return t.CountMessage(frame)
}
