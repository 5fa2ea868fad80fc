package chattemplate

import "github.com/promptree-go/promptree/elements/chat"

const (
	mistralStart = "<s>"
	mistralEnd   = "</s>"
)

func mistralCall(c chat.ToolCall) string {
	return `{"name": ` + quoted(c.Name) + `, "arguments": ` + spacedJSON(c.Arguments) + `, "id": "` + c.ID + `"}`
}

func mistralResult(id string) string { return `, "call_id": "` + id + `"}[/TOOL_RESULTS]` }

// mistralFrame counts a system message with the line feeds that follow it in the last user message.
func mistralFrame(text func(string) int, m chat.Message) int {
	switch m.Role {
	case chat.RoleSystem:
		return text("\n\n")
	case chat.RoleUser:
		return text("[INST]") + text("[/INST]")
	case chat.RoleTool:
		return text(`[TOOL_RESULTS]{"content": `) + text(mistralResult(m.ToolCallID))
	}
	tokens := text(mistralEnd)
	for i, c := range m.ToolCalls {
		tokens += text(mistralCall(c))
		if i == 0 {
			tokens += text("[TOOL_CALLS][") + text("]")
		} else {
			tokens += text(", ")
		}
	}
	return tokens
}

func (w *writer) mistralTools(tools []chat.Tool) {
	w.add("[AVAILABLE_TOOLS][")
	for i, t := range tools {
		if i > 0 {
			w.add(", ")
		}
		w.add(`{"type": "function", "function": {"name": "`, t.Name, `"`)
		if t.Description != "" {
			w.add(`, "description": "`, t.Description, `"`)
		}
		if s := t.Schema(); s != nil {
			w.add(`, "parameters": `, spacedJSON(string(s)))
		}
		w.add("}}")
	}
	w.add("][/AVAILABLE_TOOLS]")
}

// mistralNemo writes the tools before the last user message, and the system message into it, if it is the last of all:
// otherwise the template leaves the system message out.
func (w *writer) mistralNemo(req chat.Request) {
	messages, system := req.Messages, ""
	hasSystem := len(messages) > 0 && messages[0].Role == chat.RoleSystem
	if hasSystem {
		system, messages = messages[0].Text(), messages[1:]
	}
	last := ""
	for _, m := range messages {
		if m.Role == chat.RoleUser {
			last = m.Text()
		}
	}
	w.add(mistralStart)
	for i, m := range messages {
		text := m.Text()
		switch {
		case m.Role == chat.RoleUser:
			if len(req.Tools) > 0 && text == last { // the template compares messages, not places
				w.mistralTools(req.Tools)
			}
			w.add("[INST]")
			if hasSystem && i == len(messages)-1 {
				w.add(system, "\n\n")
			}
			w.add(text, "[/INST]")
		case m.Role == chat.RoleTool:
			w.add(`[TOOL_RESULTS]{"content": `, text, mistralResult(m.ToolCallID))
		case len(m.ToolCalls) > 0:
			w.add("[TOOL_CALLS][")
			for k, c := range m.ToolCalls {
				if k > 0 {
					w.add(", ")
				}
				w.add(mistralCall(c))
			}
			w.add("]", mistralEnd)
		default:
			w.add(text, mistralEnd)
		}
		if m.Role != chat.RoleAssistant {
			w.flush()
		}
	}
}
