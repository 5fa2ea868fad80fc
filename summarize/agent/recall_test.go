package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policy"
)

// recalling returns an agent that offers look-ups. Its session is in a store and holds a question.
func recalling(t *testing.T, store storage.Store, budget int, model ...func(context.Context, chat.Request) (chat.Response, error)) *agent.Agent {
	a := newAgent(t, budget, policy.Policy{}, model...)
	session := sessiontest.New(t, store, history.Options{Recall: true})
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("What is in the harbour? The key is K-7.")))
	a.Compactor.Session, a.Prompt, a.Tools = session, elements.Nodes{
		history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	}, []chat.Toolbox{&recall.Tools{}}
	return a
}

// calls returns an answer with calls of tools, each with arguments.
func calls(named ...string) func(context.Context, chat.Request) (chat.Response, error) {
	m := chat.AssistantMessage("")
	for i := 0; i < len(named); i += 2 {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: string(rune('a' + i/2)), Name: named[i], Arguments: named[i+1]})
	}
	return func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{Message: m}, nil }
}

func TestLookUpsAreAnsweredByTheStep(t *testing.T) {
	var sent []chat.Message
	a := recalling(t, &storage.Memory{}, 10_000,
		calls(history.SearchTool, `{"query":"key"}`),
		calls("look", "{}", history.ReadTool, `{"entry":"nothing"}`),
		func(_ context.Context, req chat.Request) (chat.Response, error) {
			sent = req.Messages
			return chat.Response{Message: chat.AssistantMessage("K-7.")}, nil
		},
	)
	answer := stepped(t, a)
	require.Empty(t, answer.Open)
	require.Len(t, answer.Results, 1)
	require.Equal(t, a.Compactor.Session.Leaf(), answer.Results[0].ID)
	require.True(t, answer.GoOn)
	answer = stepped(t, a)
	require.Equal(t, answer.Message().ToolCalls[:1], answer.Open)
	require.False(t, answer.GoOn)
	require.NoError(t, a.Compactor.Session.Append(t.Context(), chat.ToolResult("a", "Three ships.")))
	answer = stepped(t, a)
	require.False(t, answer.GoOn)
	require.Len(t, sent, 6)
	require.Contains(t, sent[2].Text(), "The key is K-7.")
	require.Equal(t, "Three ships.", sent[4].Text())
	require.Contains(t, sent[5].Text(), `there is no entry "nothing"`)
	require.True(t, sent[5].IsError)
}

func TestLookUpsAreDeclaredWithinTheBudget(t *testing.T) {
	declared := recall.Tools{}.Declared()

	own := []chat.Tool{{Name: "look"}}
	for name, c := range map[string]struct {
		target, prompt []chat.Tool
		budget         int // of the target in the end
	}{
		"with the target's tools":  {own, nil, 5000 - (sizing.Estimator{}.CountTools(append(own, declared...)) - sizing.Estimator{}.CountTools(own))},
		"with those of the prompt": {nil, own, 5000 - sizing.Estimator{}.CountTools(declared)},
		"once":                     {append(own, declared...), nil, 5000},
		"alone":                    {nil, nil, 5000 - sizing.Estimator{}.CountTools(declared)},
	} {
		t.Run(name, func(t *testing.T) {
			var sent [][]string
			asked := func(_ context.Context, req chat.Request) (chat.Response, error) {
				sent = append(sent, sessiontest.ToolNames(req.Tools))
				return chat.Response{Message: chat.AssistantMessage("Three ships.")}, nil
			}
			a := recalling(t, &storage.Memory{}, 5000, asked, asked)
			a.Compactor.Target.Tools = c.target
			for _, tool := range c.prompt {
				a.Prompt = elements.Nodes{elements.Tool{Tool: tool}, a.Prompt}
			}
			plain := a.Compactor.Session
			for range 2 {
				require.Equal(t, c.budget, stepped(t, a).Result.Budget)
				require.NoError(t, plain.Append(t.Context(), chat.UserMessage("And now?")))
			}
			want := []string{"look", history.ReadTool, history.SearchTool}
			switch name {
			case "alone":
				want = want[1:]
			case "with those of the prompt":
				want = append(want[1:], "look")
			}
			require.Equal(t, [][]string{want, want}, sent)
			require.Equal(t, c.budget, a.Compactor.Current().Budget)
		})
	}
}

func TestALookUpTakesAnEighthOfTheBudgetAtMost(t *testing.T) {
	call := []string{history.ReadTool, `{"entry":"long"}`}
	for _, budget := range []int{6000, 50_000} {
		for _, n := range []int{1, 2, 4} {
			var named []string
			for range n {
				named = append(named, call...)
			}
			a := recalling(t, &storage.Memory{}, budget, calls(named...))
			session := a.Compactor.Session
			sessiontest.Add(t, session, entry.Entry{ID: "long", Body: entry.Message{Message: chat.UserMessage(strings.Repeat("Ships lie at the quay. ", 3000))}},
				entry.Entry{Body: entry.Message{Message: chat.AssistantMessage("Many.")}},
				entry.Entry{ID: "kept", Body: entry.Message{Message: chat.UserMessage("How many?")}},
			)
			require.NoError(t, session.Compact(t.Context(), entry.Compaction{FirstKept: "kept", Messages: []chat.Message{chat.UserMessage("There are ships.")}}))
			answer := stepped(t, a)
			total := 0
			for e, err := range a.Compactor.Session.Back(t.Context(), "") {
				require.NoError(t, err)
				if m := e.Message(); m.Role == chat.RoleTool {
					require.Contains(t, m.Text(), "Entry long")
					total += sizing.Estimator{}.CountText(m.Text())
				}
			}
			require.Greater(t, total, 500)
			require.LessOrEqual(t, total, answer.Result.Budget*min(2, n)/8)
		}
	}
}

func TestLookUpsNeedASessionWhoseMarksNameThem(t *testing.T) {
	a := newAgent(t, 1000, policy.Policy{})
	a.Tools = []chat.Toolbox{&recall.Tools{}}
	_, err := a.Step(t.Context())
	require.ErrorIs(t, err, recall.ErrUnmarked)

	a = recalling(t, &storage.Memory{}, 1000)
	a.Tools = nil
	_, err = a.Step(t.Context())
	require.ErrorContains(t, err, "add recall.Tools to Agent.Tools", "the marks name what nobody answers")
}

// failing is a store that cannot be read from its end.
type failing struct {
	storage.Memory
	err error
}

func (f *failing) Back(ctx context.Context, before storage.Position, id string) iter.Seq2[storage.Stored, error] {
	if f.err == nil || !strings.HasPrefix(id, "gone") {
		return f.Memory.Back(ctx, before, id)
	}
	return func(yield func(storage.Stored, error) bool) { yield(storage.Stored{}, f.err) }
}

func TestALookUpThatFailsIsAFailedResult(t *testing.T) {
	for name, c := range map[string]struct {
		store storage.Store
		tools recall.Tools
		call  []string
		says  string
	}{
		"the disk is gone":       {&failing{err: errors.New("the disk is gone")}, recall.Tools{}, []string{history.ReadTool, `{"entry":"gone-1"}`}, "the disk is gone"},
		"the tokenizer panics":   {&storage.Memory{}, recall.Tools{MaxTokens: 1000, Tokenizer: panicking{}}, []string{history.SearchTool, `{"query":"key"}`}, "the tool failed: it panicked: boom"},
		"the arguments are none": {&storage.Memory{}, recall.Tools{}, []string{history.ReadTool, `[`}, chat.NotAnObject},
	} {
		t.Run(name, func(t *testing.T) {
			a := recalling(t, c.store, 10_000, calls(c.call...))
			a.Tools = []chat.Toolbox{c.tools}
			answer := stepped(t, a)
			require.True(t, answer.GoOn)
			require.Contains(t, answer.Results[0].Message().Text(), c.says)
			require.True(t, answer.Results[0].Message().IsError)
		})
	}
}

type panicking struct{ sizing.Estimator }

func (panicking) CountText(string) int { panic("boom") }
