package providertest

import (
	"fmt"
	"math/rand/v2"

	"github.com/promptree-go/promptree/elements/chat"
)

// Calls returns a random list of up to 20 messages of users, assistants and tools: results come late, before their calls,
// twice or never, with users, answers and other results between, and calls have no ids, those of others in their message or
// in an earlier one. Each result has a text of its own.
func Calls(r *rand.Rand) []chat.Message {
	ids := []string{"a", "b", "c", "d", "e", "f", ""}[:2+r.IntN(6)]
	tools := []string{"read", "write"}
	list := []chat.Message{chat.UserMessage("question")}
	for n := range r.IntN(20) {
		switch r.IntN(7) {
		case 0:
			list = append(list, chat.UserMessage(fmt.Sprint("user ", n)))
		case 1:
			list = append(list, chat.AssistantMessage(fmt.Sprint("answer ", n)))
		case 2, 3:
			m := chat.Message{Role: chat.RoleAssistant}
			if r.IntN(2) == 0 {
				m.Content = chat.Parts{chat.Text(fmt.Sprint("calls ", n))}
			}
			for range 1 + r.IntN(4)*r.IntN(2) {
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: ids[r.IntN(len(ids))], Name: tools[r.IntN(2)], Arguments: "{}"})
			}
			list = append(list, m)
		default:
			m := chat.ToolResult(ids[r.IntN(len(ids))], fmt.Sprint("result ", n))
			if r.IntN(4) == 0 {
				m.Name = tools[r.IntN(2)]
			}
			list = append(list, m)
		}
	}
	return list
}
