package chattemplate

import "github.com/promptree-go/promptree/elements/chat"

const (
	deepSeekStart     = "<｜begin▁of▁sentence｜>"
	deepSeekEnd       = "<｜end▁of▁sentence｜>"
	deepSeekUser      = "<｜User｜>"
	deepSeekAssistant = "<｜Assistant｜>"

	deepSeekCalls     = "<｜tool▁calls▁begin｜>"
	deepSeekCallsEnd  = "<｜tool▁calls▁end｜>"
	deepSeekOutputs   = "<｜tool▁outputs▁begin｜>"
	deepSeekOutput    = "<｜tool▁output▁begin｜>"
	deepSeekOutputEnd = "<｜tool▁output▁end｜>"
)

func deepSeekCall(c chat.ToolCall) string {
	return "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" + c.Name + "\n```json\n" + c.Arguments + "\n```<｜tool▁call▁end｜>"
}

// deepSeekFrame counts calls and results as the first of a conversation, around which the template writes most.
func deepSeekFrame(text func(string) int, m chat.Message) int {
	switch m.Role {
	case chat.RoleSystem:
		return text("\n\n")
	case chat.RoleUser:
		return text(deepSeekUser)
	case chat.RoleTool:
		return text(deepSeekOutputs) + text(deepSeekOutput) + text(deepSeekOutputEnd)
	}
	tokens := text(deepSeekAssistant) + text(deepSeekEnd)
	for i, c := range m.ToolCalls {
		tokens += text(deepSeekCall(c))
		if i == 0 {
			tokens += text(deepSeekCalls)
		} else {
			tokens += text("\n") + text(deepSeekCallsEnd) + text(deepSeekEnd)
		}
	}
	return tokens
}
