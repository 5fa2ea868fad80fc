package providertest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
)

// Calls returns a random list of up to 20 messages of users, assistants and tools: results come late, before their calls,
// twice or never, with users, answers and other results between, and calls have no ids, those of others in their message or
// in an earlier one. Each result has a text of its own,
// and each call arguments of its own.
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
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: ids[r.IntN(len(ids))], Name: tools[r.IntN(2)], Arguments: fmt.Sprintf(`{"message":%d,"call":%d}`, len(list), len(m.ToolCalls))})
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

// Repaired repairs random requests, and fails if one is not valid afterwards, is changed by a second repair, or if its
// calls and results are not paired as [chat.Pair] pairs those of the original.
func Repaired(t *testing.T, repair func(chat.Request) (chat.Request, []chat.Repair), validate func(chat.Request) error) {
	t.Helper()
	for seed := range uint64(extremes.Cases(10_000)) {
		list := Calls(rand.New(rand.NewPCG(seed, 8)))
		req, changes := repair(chat.Request{Messages: list})
		require.NoError(t, validate(req), "seed %d: %v", seed, changes)
		again, more := repair(req)
		require.Empty(t, more, "seed %d", seed)
		require.Empty(t, cmp.Diff(req, again), "seed %d", seed)
		got, want := paired(req.Messages), paired(list)
		require.Equal(t, want, got, "seed %d: %v", seed, changes)
	}
}

// paired returns the arguments of the call that each result answers, by the text of the result.
func paired(list []chat.Message) map[string]string {
	answers := map[string]string{}
	for i, call := range chat.Pair(list) {
		if text := list[i].Text(); strings.HasPrefix(text, "result ") { // else it says that there is none
			answers[text] = list[call.Message].ToolCalls[call.Call].Arguments
		}
	}
	return answers
}
