package chattemplate

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

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

// mistralTools returns the list of tools, in which the template escapes nothing.
func mistralTools(tools []chat.Tool) string {
	list := toolsJSON(tools, func(text string) string { return `"` + text + `"` })
	return "[AVAILABLE_TOOLS][" + strings.Join(list, ", ") + "][/AVAILABLE_TOOLS]"
}
