package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// runner returns an agent without a prompt of its own, on a session in a store.
func runner(t *testing.T, store storage.Store, model func(chat.Request) chat.Message, tools ...chat.Toolbox) *agent.Agent {
	t.Helper()
	s := sessiontest.New(t, store, history.Options{})
	c := &summarize.Compactor{Session: s, Target: summarize.Target{
		Name: "m", Tokenizer: sizing.Estimator{}, Budget: 100_000,
		Model: chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
			return chat.Response{Message: model(req), Usage: chat.Usage{Input: 1_000_000, Output: 1}}, nil
		}),
	}}
	t.Cleanup(func() { _ = c.Close() })
	return &agent.Agent{Compactor: c, System: "You count.", Tools: tools}
}

// said returns a conversation in short: roles, texts and calls.
func said(messages []chat.Message) (list []string) {
	for _, m := range messages {
		line := string(m.Role) + ": " + m.Text()
		for _, c := range m.ToolCalls {
			line += c.Name + "(" + c.ID + ") "
		}
		list = append(list, strings.TrimSpace(line))
	}
	return list
}

func shown(t *testing.T, s *history.Session) []string {
	t.Helper()
	return said(sessiontest.View(t, s).Messages())
}

// stepsOf returns a model that makes one call after another in each turn, and then says what the results were.
func stepsOf(calls ...[]string) func(chat.Request) chat.Message {
	return func(req chat.Request) chat.Message {
		turn, results := 0, []string{}
		for _, m := range req.Messages {
			switch m.Role {
			case chat.RoleUser:
				turn, results = turn+1, nil
			case chat.RoleTool:
				results = append(results, m.Text())
			}
		}
		rounds := 0
		for _, m := range slices.Backward(req.Messages) {
			if m.Role == chat.RoleUser {
				break
			}
			if m.Role == chat.RoleAssistant {
				rounds++
			}
		}
		if rounds == len(calls) {
			return chat.AssistantMessage(strings.Join(results, " "))
		}
		m := chat.Message{Role: chat.RoleAssistant}
		for i, name := range calls[rounds] {
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprintf("t%d.%d.%d", turn, rounds, i), Name: name, Arguments: "{}"})
		}
		return m
	}
}

// counts is a tool that says how often a call was answered.
func counts(name string, again bool, calls *sync.Map) box {
	return box{name: name, rules: chat.CallRules{Again: again}, answer: func(_ context.Context, c chat.ToolCall) (chat.Message, error) {
		n, _ := calls.LoadOrStore(c.ID, 0)
		calls.Store(c.ID, n.(int)+1)
		return chat.ToolResult("", name), nil
	}}
}

func TestRunMakesStepsUntilTheModelHasFinished(t *testing.T) {
	var calls sync.Map
	a := runner(t, &storage.Memory{}, stepsOf([]string{"a", "b"}, []string{"none"}, []string{"a"}), counts("a", false, &calls), counts("b", false, &calls))
	answer := finished(t, a, "Go.")
	require.Equal(t, "a b There is no tool of this name: call one that is declared. a", answer.Message().Text())
	require.Equal(t, "system: You count.", said(answer.Result.Messages)[0])
	require.Equal(t, []string{
		"user: Go.", "assistant: a(t1.0.0) b(t1.0.1)", "tool: a", "tool: b", "assistant: none(t1.1.0)",
		"tool: There is no tool of this name: call one that is declared.", "assistant: a(t1.2.0)", "tool: a", "assistant: " + answer.Message().Text(),
	}, shown(t, a.Compactor.Session))
	_, err := a.Run(t.Context(), " ")
	require.ErrorIs(t, err, agent.ErrTurnOver)
}

func TestRunReturnsCallsOfTheCallersOwnTools(t *testing.T) {
	var calls sync.Map
	a := runner(t, &storage.Memory{}, stepsOf([]string{"a", "ask", "none"}), counts("a", false, &calls))
	a.Compactor.Target.Tools = []chat.Tool{{Name: "ask"}}
	answer := finished(t, a, "Go.")
	require.Equal(t, []chat.ToolCall{{ID: "t1.0.1", Name: "ask", Arguments: "{}"}}, answer.Open)
	require.NoError(t, a.Compactor.Session.Append(t.Context(), chat.ToolResult("t1.0.1", "yes")))
	answer = finished(t, a, "")
	require.Equal(t, "a yes There is no tool of this name: call one that is declared.", answer.Message().Text())
}

// ending is a store whose process ends after a number of appends.
type ending struct {
	*storage.Memory
	left int
}

var errKilled = errors.New("killed")

func (c *ending) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	if c.left--; c.left < 0 {
		return nil, errKilled
	}
	return c.Memory.Append(ctx, at, lines...)
}

func TestARunThatWasKilledAtAnyMomentGoesOn(t *testing.T) {
	t.Parallel()
	kills := 0
	for left := 1; ; left++ {
		var calls sync.Map
		tools := func() []chat.Toolbox { return []chat.Toolbox{counts("a", false, &calls), counts("r", true, &calls)} }
		model := stepsOf([]string{"a", "r"}, []string{"r", "a", "a"})
		store := &ending{&storage.Memory{}, left}
		_, err := runner(t, store, model, tools()...).Run(t.Context(), "Go.")
		if err == nil {
			break
		}
		require.ErrorIs(t, err, errKilled)
		kills++
		again := runner(t, store.Memory, model, tools()...)
		answer, err := again.Run(t.Context(), "")
		if errors.Is(err, agent.ErrNothingSaid) {
			answer, err = again.Run(t.Context(), "Go.")
		}
		require.NoError(t, err, "after %d appends", left)
		require.Empty(t, answer.Open)
		calls.Range(func(id, count any) bool {
			if id != "t1.0.1" && id != "t1.1.0" { // the calls of r
				require.Equal(t, 1, count, "%v after %d appends", id, left)
			}
			return true
		})
		_, err = again.Run(t.Context(), "")
		require.ErrorIs(t, err, agent.ErrTurnOver)
		view := shown(t, again.Compactor.Session)
		require.Len(t, view, 9)
		require.Equal(t, []string{"user: Go.", "assistant: a(t1.0.0) r(t1.0.1)"}, view[:2])
		require.Equal(t, []string{"tool: r", "assistant: r(t1.1.0) a(t1.1.1) a(t1.1.2)", "tool: r"}, view[3:6])
		for at, id := range map[int]string{2: "t1.0.0", 6: "t1.1.1", 7: "t1.1.2"} {
			if _, ran := calls.Load(id); ran && view[at] != "tool: a" || !ran {
				require.Contains(t, view[at], "tool: Interrupted: ", "after %d appends", left)
			}
		}
	}
	require.GreaterOrEqual(t, kills, 8)
}

func TestTheErrorOfARunIsWhatEndedItAndNotWhatAResultHeld(t *testing.T) {
	odd := box{name: "a", answer: func(context.Context, chat.ToolCall) (chat.Message, error) {
		return chat.Message{Content: chat.Parts{chat.Thinking{Text: "no result of a tool", Signature: "s"}}}, nil
	}}
	for left := 1; ; left++ {
		_, err := runner(t, &ending{&storage.Memory{}, left}, stepsOf([]string{"a"}), odd).Run(t.Context(), "Go.")
		if err == nil {
			require.Greater(t, left, 3)
			break
		}
		require.ErrorIs(t, err, errKilled)
	}
}

func TestATextWhileCallsAreOpenComesBehindTheirResults(t *testing.T) {
	var calls sync.Map
	a := runner(t, &storage.Memory{}, func(chat.Request) chat.Message { return chat.AssistantMessage("Yes.") }, counts("a", false, &calls), counts("r", true, &calls))
	call := func(name string) chat.ToolCall { return chat.ToolCall{ID: name, Name: name, Arguments: "{}"} }
	require.NoError(t, a.Compactor.Session.Append(t.Context(), chat.UserMessage("Go."),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call("a"), call("r")}}))
	finished(t, a, "Stop.")
	view := shown(t, a.Compactor.Session)
	require.Equal(t, []string{"user: Go.", "assistant: a(a) r(r)"}, view[:2])
	require.Contains(t, view[2], "tool: Interrupted: ")
	require.Equal(t, []string{"tool: r", "user: Stop.", "assistant: Yes."}, view[3:])
	_, ran := calls.Load("a")
	require.False(t, ran)
}

func TestACommandThatTheUserHidIsNothingToAnswer(t *testing.T) {
	a := runner(t, &storage.Memory{}, func(chat.Request) chat.Message { return chat.AssistantMessage("Yes.") })
	sessiontest.Add(t, a.Compactor.Session, entry.Entry{Body: entry.Shell{Command: "ls", Hidden: true}})
	_, err := a.Step(t.Context())
	require.ErrorIs(t, err, agent.ErrNothingSaid)
}

func TestWhatAUserSaysMeanwhileIsAnsweredBehindTheRound(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"this process", "another process"} {
		for moment := range 3 { // while the model answers, while a tool runs, while the model answers for good
			t.Run(fmt.Sprint(who, " ", moment), func(t *testing.T) {
				store := &storage.Memory{}
				var a *agent.Agent
				speak := func() {
					s := a.Compactor.Session
					if who == "another process" {
						s = sessiontest.New(t, store, history.Options{})
					}
					require.NoError(t, s.Append(t.Context(), chat.UserMessage("And the town?")))
				}
				asked := 0
				a = runner(t, store, func(req chat.Request) chat.Message {
					switch asked++; {
					case asked == 1:
						if moment == 0 {
							speak()
						}
						return chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "look"}}}
					case asked == 2 && moment == 2:
						speak()
					}
					return chat.AssistantMessage(fmt.Sprint("To: ", req.Messages[len(req.Messages)-1].Text()))
				}, box{name: "look", answer: func(context.Context, chat.ToolCall) (chat.Message, error) {
					if moment == 1 {
						speak()
					}
					return chat.ToolResult("", "ships"), nil
				}})
				answer := finished(t, a, "What is in the harbour?")
				want := []string{"user: What is in the harbour?", "assistant: look(c)", "tool: ships"}
				if moment == 2 {
					want = append(want, "assistant: To: ships")
				}
				require.Equal(t, "To: And the town?", answer.Message().Text())
				want = append(want, "user: And the town?", "assistant: To: And the town?")
				require.Equal(t, want, shown(t, a.Compactor.Session))
			})
		}
	}
}

func TestWhatAUserSaysDuringAnEmptyAnswerIsAnsweredInTheSameRun(t *testing.T) {
	a := runner(t, &storage.Memory{}, nil)
	asked := 0
	a.Compactor.Target.Model = chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		if asked++; asked == 1 {
			require.NoError(t, a.Compactor.Session.Append(t.Context(), chat.UserMessage("And the town?")))
			return chat.Response{Usage: chat.Usage{Input: 7}}, &chat.EmptyError{}
		}
		return chat.Response{Message: chat.AssistantMessage("To: " + req.Messages[len(req.Messages)-1].Text())}, nil
	})
	require.Equal(t, "To: And the town?", finished(t, a, "What is in the harbour?").Message().Text())
	require.Equal(t, 2, asked)
}

// tallying is a tokenizer that says how often tools are counted.
type tallying struct {
	sizing.Estimator
	times *atomic.Int32
}

func (c tallying) CountTools(tools []chat.Tool) int {
	if len(tools) > 0 {
		c.times.Add(1)
	}
	return c.Estimator.CountTools(tools)
}

func TestAnAgentCountsItsToolsOnceForAllSteps(t *testing.T) {
	perStep := func(ofAgent bool) int {
		counted := func(steps int) int {
			times := &atomic.Int32{}
			a := runner(t, &storage.Memory{}, func(chat.Request) chat.Message { return chat.AssistantMessage("Counted.") })
			a.Compactor.Target.Tokenizer = tallying{times: times}
			if tool := (box{name: "look"}); ofAgent {
				a.Tools = []chat.Toolbox{tool}
			} else {
				a.Compactor.Target.Tools = tool.Declared()
			}
			for range steps {
				finished(t, a, "Count.")
			}
			return int(times.Load())
		}
		return counted(5) - counted(4)
	}
	require.Equal(t, perStep(false), perStep(true), "the compactor's own")
}

func TestAUserWhoTypesAllTheTimeIsAnsweredInTheEnd(t *testing.T) {
	t.Parallel()
	var a *agent.Agent
	typed := 0
	var typing sync.Mutex
	typeOn := func() {
		typing.Lock()
		defer typing.Unlock()
		if typed < 40 {
			typed++
			require.NoError(t, a.Compactor.Session.Append(t.Context(), chat.UserMessage(fmt.Sprint("message ", typed))))
		}
	}
	asked := 0
	a = runner(t, &storage.Memory{}, func(req chat.Request) chat.Message {
		typeOn()
		if asked++; asked%3 == 1 {
			return chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: fmt.Sprint("x", asked), Name: "look"}, {ID: fmt.Sprint("y", asked), Name: "look"}}}
		}
		return chat.AssistantMessage("Yes.")
	}, box{name: "look", answer: func(context.Context, chat.ToolCall) (chat.Message, error) {
		typeOn()
		return chat.ToolResult("", "ships"), nil
	}})
	var typist sync.WaitGroup
	typist.Go(func() {
		for range 40 {
			typeOn()
			time.Sleep(time.Millisecond)
		}
	})
	finished(t, a, "message 0")
	typist.Wait()
	if _, err := a.Run(t.Context(), ""); err != nil {
		require.ErrorIs(t, err, agent.ErrTurnOver)
	}
	messages := sessiontest.View(t, a.Compactor.Session).Messages()
	require.NoError(t, chat.Validate(append(slices.Clone(messages), chat.UserMessage("on"))))
	once := map[string]int{}
	for _, m := range messages {
		if m.Role == chat.RoleUser {
			for line := range strings.SplitSeq(m.Text(), "\n") {
				once[strings.TrimSpace(line)]++
			}
		}
	}
	for i := range 41 {
		require.Equal(t, 1, once[fmt.Sprint("message ", i)], i)
	}
	require.Equal(t, chat.RoleAssistant, messages[len(messages)-1].Role)
}

func TestARunEndsAtItsLimitsAndGoesOn(t *testing.T) {
	var calls sync.Map
	for name, c := range map[string]struct {
		limits      agent.Limits
		prices      sizing.Prices
		says, fails string
	}{
		"steps":          {agent.Limits{Steps: 2}, sizing.Prices{}, "2 steps were made: raise Limits.Steps", ""},
		"dollars":        {agent.Limits{Dollars: 1.5}, sizing.Prices{Rates: sizing.Rates{Input: 1}}, "the session has cost $2.0000 of $1.5000: raise Limits.Dollars", ""},
		"unknown prices": {agent.Limits{Dollars: 1.5}, sizing.Prices{}, "", "set Target.Prices"},
	} {
		t.Run(name, func(t *testing.T) {
			a := runner(t, &storage.Memory{}, stepsOf([]string{"a"}, []string{"a"}, []string{"a"}), counts("a", false, &calls))
			a.Limits, a.Compactor.Target.Prices = c.limits, c.prices
			_, err := a.Run(t.Context(), "Go.")
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.Equal(t, 2, errtest.As[*agent.LimitError](t, err).Steps)
			require.Equal(t, "agent: the run has reached a limit: "+c.says+" and run again with an empty text to go on", err.Error())
			a.Limits = agent.Limits{}
			require.Equal(t, "a a a", finished(t, a, "").Message().Text())
		})
	}
}

func TestTheTimeOfARunEndsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, 8000, policy.Policy{}, callsOf("slow"))
		a.Tools = []chat.Toolbox{box{name: "slow", answer: func(ctx context.Context, _ chat.ToolCall) (chat.Message, error) {
			<-ctx.Done()
			return chat.Message{}, ctx.Err()
		}}}
		a.Limits.Time = time.Minute
		_, err := a.Run(t.Context(), "Go.")
		require.Equal(t, "Time", errtest.As[*agent.LimitError](t, err).Limit)
		require.EqualError(t, err, "agent: the run has reached a limit: the time of 1m0s is over: raise Limits.Time and run again with an empty text to go on")
	})
}

func TestARequestOfUnknownCostIsSaidOnceAndCountsAsUnknown(t *testing.T) {
	var calls sync.Map
	a := runner(t, &storage.Memory{}, stepsOf([]string{"a"}, []string{"a"}), counts("a", false, &calls))
	a.Limits.Dollars, a.Compactor.Target.Prices = 2.5, sizing.Prices{Rates: sizing.Rates{Input: 1}}
	var notes []string
	a.Compactor.Observers = []summarize.Observer{summarize.OnEvent(func(e event.Event) {
		if e.Kind == event.Noted {
			notes = append(notes, e.Why)
		}
	})}
	s := a.Compactor.Session
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("Go."), chat.AssistantMessage("No.")))
	sessiontest.Add(t, s, entry.Entry{Body: entry.Usage{Model: "old", Usage: chat.Usage{Input: 5}}})
	finished(t, a, "Go on.")
	_, err := a.Run(t.Context(), "Again.")
	require.Equal(t, 1, errtest.As[*agent.LimitError](t, err).Unpriced)
	require.ErrorContains(t, err, "the session has cost $3.0000 of $2.5000, and 1 requests of which no cost is known")
	require.Equal(t, []string{"the cost of 1 requests of the session is not known, so Limits.Dollars does not hold it"}, notes)
}

func TestAToolThatFailsIsReportedToObservers(t *testing.T) {
	a := newAgent(t, 8000, policy.Policy{}, callsOf("a", "b"))
	var heard []string
	a.Compactor.Observers = []summarize.Observer{summarize.OnEvent(func(e event.Event) {
		if e.Kind == event.ToolFailed {
			heard = append(heard, e.Function+": "+e.Err.Error())
		}
	})}
	fail := func(err error) func(context.Context, chat.ToolCall) (chat.Message, error) {
		return func(context.Context, chat.ToolCall) (chat.Message, error) { return chat.Message{}, err }
	}
	a.Tools = []chat.Toolbox{box{name: "a", answer: fail(errors.New("no ship"))}, box{name: "b", answer: fail(chat.WrongArguments("b", "give a ship"))}}
	stepped(t, a)
	require.Equal(t, []string{"a: no ship"}, heard)
}
