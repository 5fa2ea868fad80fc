package chattemplate

import "github.com/promptree-go/promptree/elements/chat"

const (
	deepSeekStart     = "<｜begin▁of▁sentence｜>"
	deepSeekEnd       = "<｜end▁of▁sentence｜>"
	deepSeekUser      = "<｜User｜>"
	deepSeekAssistant = "<｜Assistant｜>"

	deepSeekCalls      = "<｜tool▁calls▁begin｜>"
	deepSeekCallsEnd   = "<｜tool▁calls▁end｜>"
	deepSeekOutputs    = "<｜tool▁outputs▁begin｜>"
	deepSeekOutputsEnd = "<｜tool▁outputs▁end｜>"
	deepSeekOutput     = "<｜tool▁output▁begin｜>"
	deepSeekOutputEnd  = "<｜tool▁output▁end｜>"
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

// deepSeekV3 writes the calls of a message only if it has no text, and the start of a list of calls or results only once
// in a conversation, as the template does.
func (w *writer) deepSeekV3(req chat.Request) {
	w.add(deepSeekStart)
	systems := 0
	for _, m := range req.Messages {
		if m.Role == chat.RoleSystem {
			if systems++; systems > 1 {
				w.add("\n\n")
			}
			w.add(m.Text())
		}
	}
	called, answered, results := false, false, false // results: the last message was one
	for _, m := range req.Messages {
		switch text := m.Text(); {
		case m.Role == chat.RoleUser:
			results = false
			w.flush()
			w.add(deepSeekUser, text)
		case m.Role == chat.RoleTool:
			results = true
			if answered {
				w.add("\n")
			} else {
				w.add(deepSeekOutputs)
			}
			answered = true
			w.add(deepSeekOutput, text, deepSeekOutputEnd)
		case m.Role == chat.RoleSystem:
		case text == "" && len(m.ToolCalls) > 0:
			results = false
			for _, c := range m.ToolCalls {
				if !called {
					w.add(deepSeekAssistant, deepSeekCalls, deepSeekCall(c))
				} else {
					w.add("\n", deepSeekCall(c), deepSeekCallsEnd, deepSeekEnd)
				}
				called = true
			}
		case results:
			results = false
			w.add(deepSeekOutputsEnd, text, deepSeekEnd)
		default:
			w.add(deepSeekAssistant, text, deepSeekEnd)
		}
	}
	if results {
		w.add(deepSeekOutputsEnd)
	} else {
		w.add(deepSeekAssistant)
	}
}
