package render

import (
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/sizing"
)

// messageOf gives what a message element says: its content, and all besides.
func messageOf(n elements.Node) (frame chat.Message, calls []elements.ToolCall, content elements.Nodes, ok bool) {
	switch n := n.(type) {
	case elements.SystemMessage:
		return chat.Message{Role: chat.RoleSystem, Name: n.Name}, nil, n.Children, true
	case elements.UserMessage:
		return chat.Message{Role: chat.RoleUser, Name: n.Name}, nil, n.Children, true
	case elements.AssistantMessage:
		return chat.Message{Role: chat.RoleAssistant, Name: n.Name}, n.ToolCalls, n.Children, true
	case elements.ToolMessage:
		return chat.Message{Role: chat.RoleTool, ToolCallID: n.ToolCallID, IsError: n.IsError}, nil, n.Children, true
	}
	return chat.Message{}, nil, nil, false
}

// checkMessage refuses what providers and readers would stumble over.
func (l *layouter) checkMessage(frame chat.Message, calls []elements.ToolCall, at place) error {
	if at.transfer && (!l.lenient || frame.Role != chat.RoleTool) {
		return ErrTransferMessage
	}
	if l.lenient {
		return nil
	}
	if at.inMessage {
		return ErrNestedMessage
	}
	if len(calls) < 2 {
		return nil
	}
	seen := make(map[string]bool, len(calls))
	for _, c := range calls {
		if seen[c.ID] {
			return fmt.Errorf("%w: %q", ErrDuplicateCall, c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// message makes e a message and charges what it costs without content.
func (l *layouter) message(e *node, frame chat.Message, calls []elements.ToolCall, r *room) {
	more := e.set()
	e.kind, more.frame, more.calls = message, frame, calls
	r.used += frameAtLayout(l.tokenizer, frame, calls)
}

// frameAtLayout is what a message is charged without content. A tool message is charged nothing, as in prompt-tsx.
func frameAtLayout(t sizing.Tokenizer, frame chat.Message, calls []elements.ToolCall) (tokens int) {
	if frame.Role == chat.RoleTool {
		return 0
	}
	frame.ToolCalls = join.Calls(calls)
	return t.CountMessage(frame)
}
