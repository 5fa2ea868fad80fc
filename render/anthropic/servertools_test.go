package anthropic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestServerToolsKeepTheirResults(t *testing.T) {
	for _, c := range []struct {
		rule string
		req  chat.Request
		want []chat.Message // nil if nothing is to be mended
	}{
		{"a call with its result", ask(question, assistant(searching("s"), found("s"), chat.Text("Well.")), question), nil},
		{"a result messages later, past the results of a client's tool",
			ask(question, with(calls("a"), searching("s")), chat.ToolResult("a", "1"), assistant(found("s"), chat.Text("Well.")), question), nil},
		{"a turn that was paused goes on", ask(question, assistant(chat.Text("I look."), searching("s"))), nil},
		{"and is whole with the answer to that", ask(question, assistant(searching("s")), assistant(found("s"), chat.Text("Well.")), question), nil},
		{"a paused turn that the user broke into loses its call", ask(question, assistant(chat.Text("I look."), searching("s")), question),
			[]chat.Message{question, chat.AssistantMessage("I look."), question}},
		{"a message that held nothing else goes", ask(question, assistant(searching("s")), question), []chat.Message{question, question}},
		{"a result that a cut parted from its call goes", ask(question, assistant(found("s"), chat.Text("Well.")), question),
			[]chat.Message{question, chat.AssistantMessage("Well."), question}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			mended, changes := anthropic.Repair(c.req)
			require.Equal(t, c.want == nil, len(changes) == 0, "%v", changes)
			if c.want == nil {
				c.want = c.req.Messages
			}
			require.Empty(t, cmp.Diff(c.want, mended.Messages, cmp.Comparer(sameParts)))
			s := newServer(t, func(int, request) answer { return say(text("42")) })
			model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
			_, err := model.Generate(t.Context(), c.req)
			require.NoError(t, err)
		})
	}
}
