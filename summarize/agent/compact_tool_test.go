package agent_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policy"
)

// asker is a model that asks for a compaction in each answer to the agent.
type asker struct {
	calls     int
	arguments string
	id        string         // of each call; by default each has another
	summaries []chat.Request // the requests for summaries
}

func (a *asker) Generate(context.Context, chat.Request) (chat.Response, error) {
	a.calls++
	return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
		{ID: cmp.Or(a.id, fmt.Sprint("ask", a.calls)), Name: summarize.CompactToolName, Arguments: a.arguments},
	}}}, nil
}

func (a *asker) summarise(_ context.Context, req chat.Request) (chat.Response, error) {
	a.summaries = append(a.summaries, req)
	return chat.Response{Message: chat.AssistantMessage("<summary>They talked about ships in the harbour.</summary>")}, nil
}

// askingAgent returns an agent with this session and model.
func askingAgent(t *testing.T, session *history.Session, model *asker) *agent.Agent {
	t.Helper()
	compactor := &summarize.Compactor{
		Session: session,
		Policy:  policy.Policy{Name: "asked", Cut: history.Cut{Tokens: 200}, Ask: policy.Ask{Names: []string{"writer"}, Judge: policy.Judge{Off: true}}},
		Target:  summarize.Target{Model: model, Name: "harbour-1", Tokenizer: sizing.Estimator{}, Budget: 12_000, Tools: []chat.Tool{{Name: "look"}}},
		Models:  map[string]summarize.Target{"writer": {Model: chat.ModelFunc(model.summarise), Tokenizer: sizing.Estimator{}, Budget: 12_000}},
	}
	t.Cleanup(func() { require.NoError(t, compactor.Close()) })
	return &agent.Agent{Compactor: compactor, Tools: []chat.Toolbox{summarize.CompactTool{}}, Prompt: elements.Nodes{
		history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	}}
}

// talkLong appends turns of about 300 tokens, and a question.
func talkLong(t *testing.T, s *history.Session, turns int) {
	t.Helper()
	for i := range turns {
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(fmt.Sprint("Question ", i))))
		require.NoError(t, s.Append(t.Context(), chat.AssistantMessage(strings.Repeat("A ship of the harbour. ", 16))))
	}
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("And now?")))
}

func result(t *testing.T, answer agent.Answer) chat.Message {
	t.Helper()
	require.Len(t, answer.Results, 1)
	require.True(t, answer.GoOn)
	return answer.Results[0].Message()
}

func compactions(t *testing.T, s *history.Session) (n int) {
	t.Helper()
	for _, kind := range kinds(t, s) {
		if kind == entry.TypeCompaction {
			n++
		}
	}
	return n
}

func TestTheModelIsToldWhyNothingIsCompacted(t *testing.T) {
	for name, tt := range map[string]struct {
		turns           int
		arguments, want string
	}{
		"too little would be saved":       {2, `{"keep":"names"}`, "of the 11902 that a prompt may take. Go on."},
		"it does not say what to keep":    {20, `{"keep":" "}`, `Say what the summary must keep: {"keep":"…"}.`},
		"its arguments are not an object": {20, `["names"`, `Say what the summary must keep: {"keep":"…"}.`},
	} {
		t.Run(name, func(t *testing.T) {
			session := numbered.Session()
			talkLong(t, session, tt.turns)
			a := askingAgent(t, session, &asker{arguments: tt.arguments})
			answer := stepped(t, a)
			require.Contains(t, result(t, answer).Text(), tt.want)
			require.True(t, result(t, answer).IsError)
			stepped(t, a)
			require.Zero(t, compactions(t, session))
		})
	}
}

// logged is a tool in a type of the application's.
type logged struct{ summarize.CompactTool }

func TestAToolThatIsWrappedCompactsToo(t *testing.T) {
	session := numbered.Session()
	talkLong(t, session, 20)
	a := askingAgent(t, session, &asker{arguments: `{"keep":"The names of the ships."}`})
	a.Tools = []chat.Toolbox{logged{summarize.CompactTool{Compactor: a.Compactor}}}
	require.False(t, result(t, stepped(t, a)).IsError)
	stepped(t, a)
	require.Equal(t, 1, compactions(t, session))

	a = askingAgent(t, session, &asker{})
	a.Tools = []chat.Toolbox{logged{}}
	_, err := a.Step(t.Context())
	require.ErrorContains(t, err, "CompactTool.Compactor is not set")
}

func TestWhatTheModelAsksForIsCompactedBeforeTheNextStepInAnyProcess(t *testing.T) {
	for name, anew := range map[string]bool{"in the same process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			session, model := numbered.Session(), &asker{arguments: `{"keep":"The names of the ships."}`}
			talkLong(t, session, 20)
			a := askingAgent(t, session, model)
			answer := stepped(t, a)
			require.False(t, result(t, answer).IsError, result(t, answer).Text())
			require.Zero(t, compactions(t, session), "the round is complete first")
			before := answer.Result.Tokens
			if anew {
				a = askingAgent(t, session, model)
			}
			answer = stepped(t, a)
			require.Equal(t, 1, compactions(t, session))
			require.Less(t, answer.Result.Tokens, before/2)
			require.Len(t, model.summaries, 1)
			var asked strings.Builder
			for _, m := range model.summaries[0].Messages {
				asked.WriteString(m.Text())
			}
			require.Contains(t, asked.String(), "The names of the ships.")
			require.NoError(t, chat.Validate(answer.Result.Messages))
		})
	}
}

func TestTheModelIsGrantedOneCompactionInTenSteps(t *testing.T) {
	for name, id := range map[string]string{"calls with ids of their own": "", "calls with the same id": "call_0"} {
		t.Run(name, func(t *testing.T) {
			session, model := numbered.Session(), &asker{arguments: `{"keep":"names"}`, id: id}
			talkLong(t, session, 20)
			a := askingAgent(t, session, model)
			var granted []int
			for step := range 22 {
				answer := stepped(t, a)
				if !result(t, answer).IsError {
					granted = append(granted, step)
				}
				if step == 4 {
					require.Contains(t, result(t, answer).Text(), "4 steps ago. Ask again in 6.")
				}
				require.NoError(t, session.Append(t.Context(), chat.UserMessage(strings.Repeat("A ship of the harbour. ", 40))))
			}
			require.Equal(t, []int{0, 10, 20}, granted)
			require.Equal(t, 3, compactions(t, session))
		})
	}
}
