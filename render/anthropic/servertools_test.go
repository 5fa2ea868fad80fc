package anthropic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestCallsOfTheAPIsOwnToolsKeepTheirResults(t *testing.T) {
	for _, c := range []struct {
		rule string
		req  chat.Request
		want []chat.Message // nil if the request is valid
	}{
		{"a call with its result stays", ask(question, assistant(searching("s"), found("s"), chat.Text("Well.")), question), nil},
		{"a result in a later message stays, after results of the client's tools",
			ask(question, with(calls("a"), searching("s")), chat.ToolResult("a", "1"), assistant(found("s"), chat.Text("Well.")), question), nil},
		{"a paused turn at the end stays", ask(question, assistant(chat.Text("I look."), searching("s"))), nil},
		{"a paused turn stays with its continuation", ask(question, assistant(searching("s")), assistant(found("s"), chat.Text("Well.")), question), nil},
		{"a paused turn that a user message interrupts loses its call", ask(question, assistant(chat.Text("I look."), searching("s")), question),
			[]chat.Message{question, chat.AssistantMessage("I look."), question}},
		{"a message that holds nothing else is removed", ask(question, assistant(searching("s")), question), []chat.Message{question, question}},
		{"a result without its call is removed", ask(question, assistant(found("s"), chat.Text("Well.")), question),
			[]chat.Message{question, chat.AssistantMessage("Well."), question}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			repaired, changes := anthropic.Repair(c.req)
			require.Equal(t, c.want == nil, len(changes) == 0, "%v", changes)
			if c.want == nil {
				c.want = c.req.Messages
			}
			require.Empty(t, cmp.Diff(c.want, repaired.Messages, cmp.Comparer(sameParts)))
			s := newServer(t, func(int, request) answer { return say(text("42")) })
			model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
			_, err := model.Generate(t.Context(), c.req)
			require.NoError(t, err)
		})
	}
}
