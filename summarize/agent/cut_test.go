package agent_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// cut returns an answer with calls that ended by a reason.
func cut(stop chat.StopReason, calls ...chat.ToolCall) func(context.Context, chat.Request) (chat.Response, error) {
	return func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: calls}, StopReason: stop, Usage: chat.Usage{Input: 70, Output: 5}}, nil
	}
}

func TestCallsOfAnAnswerThatWasCutOffAreNotHandedOut(t *testing.T) {
	whole, half, none := chat.ToolCall{ID: "a", Name: "look", Arguments: `{"at":"pier"}`}, chat.ToolCall{ID: "b", Name: "look", Arguments: `{"at":"pi`}, chat.ToolCall{ID: "c", Name: "look", Arguments: `{}`}
	for _, stop := range []chat.StopReason{chat.StopMaxTokens, chat.StopFiltered} {
		for name, calls := range map[string][]chat.ToolCall{"half": {half}, "empty": {none}, "whole before half": {whole, half}, "whole": {whole}} {
			t.Run(string(stop)+" "+name, func(t *testing.T) {
				a := newAgent(t, 1000, policy.Policy{}, cut(stop, calls...), func(_ context.Context, req chat.Request) (chat.Response, error) {
					for _, m := range req.Messages[len(req.Messages)-len(calls):] {
						require.Equal(t, chat.RoleTool, m.Role)
						require.True(t, m.IsError)
						require.Contains(t, m.Text(), "cut off")
					}
					return says("Three ships.")(t.Context(), req)
				})
				answer := stepped(t, a)
				require.Empty(t, answer.Open)
				require.True(t, answer.GoOn)
				require.Len(t, answer.Results, len(calls))
				stepped(t, a)
			})
		}
	}
}

func TestTwoAnswersInARowThatWereCutOffAreAnError(t *testing.T) {
	call := chat.ToolCall{ID: "a", Name: "look", Arguments: `{"at":"pi`}
	a := newAgent(t, 1000, policy.Policy{}, cut(chat.StopMaxTokens, call), cut(chat.StopMaxTokens, call), says("Three ships."))
	stepped(t, a)
	answer, err := a.Step(t.Context())
	require.ErrorIs(t, err, agent.ErrCutOff)
	require.Empty(t, answer.Open)
	require.False(t, answer.GoOn)
	_, err = a.Step(t.Context())
	require.NoError(t, err, "the session can go on")
}

// empty returns an answer that says nothing.
func empty(again bool) func(context.Context, chat.Request) (chat.Response, error) {
	return func(context.Context, chat.Request) (chat.Response, error) {
		err := error(&chat.EmptyError{})
		if again {
			err = &chat.TransientError{Err: err}
		}
		return chat.Response{Usage: chat.Usage{Input: 70}}, err
	}
}

func TestAnEmptyAnswerIsAskedForOnceMoreAndThenEndsTheTurn(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		model  []func(context.Context, chat.Request) (chat.Response, error)
		silent int
		kinds  []entry.Type
	}{
		{"another answer says something", []func(context.Context, chat.Request) (chat.Response, error){empty(true), says("Three ships.")}, 0,
			[]entry.Type{entry.TypeMessage, entry.TypeMessage, entry.TypeUsage}},
		{"another answer says nothing", []func(context.Context, chat.Request) (chat.Response, error){empty(true), empty(true)}, 1, []entry.Type{entry.TypeMessage, entry.TypeUsage}},
		{"the API says that the turn is over", []func(context.Context, chat.Request) (chat.Response, error){empty(false)}, 1, []entry.Type{entry.TypeMessage, entry.TypeUsage}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAgent(t, 1000, policy.Policy{}, tt.model...)
				silent := 0
				a.Compactor.Observers = append(a.Compactor.Observers, summarize.OnEvent(func(e event.Event) {
					if e.Kind == event.Empty {
						silent++
						require.Equal(t, "harbour-1", e.Model)
					}
				}))
				answer := stepped(t, a)
				require.Empty(t, answer.Open)
				require.False(t, answer.GoOn)
				synctest.Wait()
				require.Equal(t, tt.silent, silent)
				require.Equal(t, tt.kinds, kinds(t, a.Compactor.Session))
			})
		})
	}
}

func TestAPromptThatHasRoomStaysWholeWhereTheAnswerHasNone(t *testing.T) {
	const window = 4000
	asked := [][2]int{} // messages and the limit of the answer
	a := newAgent(t, window, compactingPolicy())
	a.MaxTokens = window
	a.Compactor.Target.Model = chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		asked = append(asked, [2]int{len(req.Messages), req.MaxTokens})
		if size := 500 + 100*len(req.Messages); size+req.MaxTokens > window {
			return chat.Response{}, &chat.ContextLimitError{Limit: window, Tokens: size}
		}
		return says("Three ships.")(t.Context(), req)
	})
	talk(t, a.Compactor.Session, 3)
	stepped(t, a)
	n := asked[0][0]
	require.Greater(t, n, 3)
	require.NoError(t, a.Compactor.Session.Append(t.Context(), chat.UserMessage("And now?")))
	stepped(t, a)
	require.Equal(t, [][2]int{{n, window}, {n, window / 2}, {n + 2, window / 2}}, asked, "and a prompt that has grown is not refused again")
}
