package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// answers is a model that answers each request with the next function.
type answers []func(ctx context.Context, req chat.Request) (chat.Response, error)

func (a *answers) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if len(*a) == 0 {
		return chat.Response{}, errors.New("unexpected request")
	}
	next := (*a)[0]
	*a = (*a)[1:]
	return next(ctx, req)
}

// says returns an answer that is a text.
func says(text string) func(context.Context, chat.Request) (chat.Response, error) {
	return func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage(text), Usage: chat.Usage{Input: 70, Output: 5}}, nil
	}
}

// fails returns an answer that is an error.
func fails(err error) func(context.Context, chat.Request) (chat.Response, error) {
	return func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{}, err }
}

// newAgent returns an agent with a session that holds a question. Its model answers with the functions.
func newAgent(t *testing.T, budget int, p policy.Policy, model ...func(context.Context, chat.Request) (chat.Response, error)) *agent.Agent {
	t.Helper()
	session := numbered.Session()
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("What is in the harbour?")))
	list := answers(model)
	p.Ask.Judge.Off = true // its models say a few words
	compactor := &summarize.Compactor{
		Session: session, Policy: p,
		Target: summarize.Target{
			Model: &list, Name: "harbour-1", Tokenizer: sizing.Estimator{}, Budget: budget,
			Tools: []chat.Tool{{Name: "look"}},
		},
		Models: map[string]summarize.Target{"offline": {Model: models.Offline{Tokenizer: sizing.Estimator{}}}},
	}
	t.Cleanup(func() {
		require.NoError(t, compactor.Close())
		require.Empty(t, list, "requests that were not made")
	})
	return &agent.Agent{Compactor: compactor, Prompt: elements.Nodes{
		history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	}}
}

// onRetry has a function called before each further attempt.
func onRetry(a *agent.Agent, f func(err error, wait time.Duration)) {
	a.Compactor.Observers = append(a.Compactor.Observers, summarize.OnEvent(func(e event.Event) {
		if e.Kind == event.Retrying && e.Plan == "" {
			f(e.Err, e.Wait)
		}
	}))
}

// observing is a tokenizer that hears of answers.
type observing struct {
	sizing.Estimator
	observe func(chat.Request, chat.Response)
}

func (o observing) Observe(req chat.Request, r chat.Response) { o.observe(req, r) }

// kinds returns the types of a session's entries.
func kinds(t *testing.T, s *history.Session) (list []entry.Type) {
	t.Helper()
	for _, e := range compacttest.Entries(t, s) {
		list = append(list, e.Type())
	}
	return list
}

// counting is a store that counts its appends.
type counting struct {
	storage.Memory
	appends int
}

func (c *counting) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	c.appends++
	return c.Memory.Append(ctx, at, lines...)
}

// stepped makes a step that goes well.
func stepped(t *testing.T, a *agent.Agent) agent.Answer {
	t.Helper()
	answer, err := a.Step(t.Context())
	require.NoError(t, err)
	return answer
}

// finished makes a run that goes well.
func finished(t *testing.T, a *agent.Agent, text string) agent.Answer {
	t.Helper()
	answer, err := a.Run(t.Context(), text)
	require.NoError(t, err)
	return answer
}

func TestAnAnswerAndItsUsageAreAppendedTogether(t *testing.T) {
	a := newAgent(t, 1000, policy.Policy{}, says("Three ships."))
	store := &counting{}
	session := sessiontest.New(t, store, history.Options{IDs: numbered.IDs()})
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("What is in the harbour?")))
	a.Compactor.Session = session
	a.Prompt = elements.Nodes{history.TurnStart{Session: session}, history.TurnRounds{Session: session}}
	before := store.appends
	answer := stepped(t, a)
	require.Equal(t, 1, store.appends-before)
	require.Equal(t, "Three ships.", answer.Message().Text())
	require.Equal(t, answer.Message(), sessiontest.Entry(t, session, answer.Entry).Message())
	last, found := sessiontest.Latest(t, session, entry.TypeUsage)
	require.True(t, found)
	require.Equal(t, answer.Entry, last.Parent)
	tools := sizing.Estimator{}.CountTools(a.Compactor.Target.Tools)
	usage := last.Body.(entry.Usage)
	require.Positive(t, usage.Bytes)
	usage.Bytes = 0
	require.Equal(t, entry.Usage{Model: "harbour-1", Usage: chat.Usage{Input: 70, Output: 5}, Counted: answer.Result.Tokens + tools}, usage)
}

// The compactor's own entries, such as a plan, may follow the messages of others. An answer must not.
func TestAnAnswerOfAnotherProcessMakesTheAnswerAConflict(t *testing.T) {
	store := &storage.Memory{}
	session := sessiontest.New(t, store, history.Options{IDs: numbered.IDs()})
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("What is in the harbour?")))
	other := sessiontest.New(t, store, history.Options{})
	a := newAgent(t, 1000, policy.Policy{}, func(ctx context.Context, req chat.Request) (chat.Response, error) {
		require.NoError(t, other.Append(ctx, chat.AssistantMessage("Nothing.")))
		_, err := session.Add(ctx, entry.Entry{Body: entry.PlanEnd{Outcome: entry.PlanFailed}})
		require.NoError(t, err)
		return says("Three ships.")(ctx, req)
	})
	a.Compactor.Session, a.Prompt = session, elements.Nodes{history.TurnStart{Session: session}, history.TurnRounds{Session: session}}
	answer, err := a.Step(t.Context())
	conflict := errtest.As[*storage.ConflictError](t, err)
	require.EqualError(t, conflict, "storage: the session was appended to meanwhile: call Refresh, and look at what was said")
	require.Equal(t, "Three ships.", answer.Message().Text())
	require.Equal(t, []entry.Type{entry.TypeMessage, entry.TypeMessage, entry.TypePlanEnd}, kinds(t, session))
}

func TestAnAnswerWithoutReportedUsageIsAppendedWithOurCount(t *testing.T) {
	a := newAgent(t, 1000, policy.Policy{}, func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("Three ships.")}, nil
	})
	stepped(t, a)
	require.Equal(t, []entry.Type{entry.TypeMessage, entry.TypeMessage, entry.TypeUsage}, kinds(t, a.Compactor.Session))
}

func TestARequestHoldsTheRenderedPromptAndTheAgentsSettings(t *testing.T) {
	var asked, observed chat.Request
	a := newAgent(t, 1000, policy.Policy{}, func(_ context.Context, req chat.Request) (chat.Response, error) {
		asked = req
		return says("Three ships.")(t.Context(), req)
	})
	a.MaxTokens, a.Temperature, a.Compactor.Target.Shape.ToolChoice = 77, new(0.5), chat.ToolChoiceRequired
	a.Compactor.Target.Tokenizer = observing{observe: func(req chat.Request, response chat.Response) {
		observed = req
		require.Equal(t, 70, response.Usage.Input)
	}}
	answer := stepped(t, a)
	require.NotNil(t, asked.OnRepair)
	asked.OnRepair, observed.OnRepair = nil, nil // functions are not compared
	require.Equal(t, chat.Request{
		Messages: answer.Result.Messages, Tools: a.Compactor.Target.Tools, Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}, MaxTokens: 77, Temperature: a.Temperature,
	}, asked)
	require.Equal(t, asked, observed)
}

func TestTransientFailuresAreRetriedAfterAWait(t *testing.T) {
	busy := errors.New("busy")
	transient := func(after time.Duration) func(context.Context, chat.Request) (chat.Response, error) {
		return fails(&chat.TransientError{RetryAfter: after, Err: busy})
	}
	tests := []struct {
		rule     string
		model    []func(context.Context, chat.Request) (chat.Response, error)
		attempts int
		waits    []time.Duration
		want     error
	}{
		{"no wait before an answer", answers{says("Yes.")}, 0, nil, nil},
		{"waits double", answers{transient(0), transient(0), transient(0), says("Yes.")}, 0, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}, nil},
		{"the provider's wait applies if it is longer", answers{transient(20 * time.Second), says("Yes.")}, 0, []time.Duration{20 * time.Second}, nil},
		{"by default the failure is returned after 4 attempts", answers{transient(0), transient(0), transient(0), transient(0)}, 0, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}, busy},
		{"Attempts limits the attempts", answers{transient(0)}, 1, nil, busy},
		{"no retry if the provider asks for more than MaxWait", answers{transient(time.Hour)}, 0, nil, busy},
		{"a permanent failure is returned immediately", answers{fails(busy)}, 0, nil, busy},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAgent(t, 1000, policy.Policy{}, test.model...)
				a.Retry.Attempts = test.attempts
				var waits []time.Duration
				onRetry(a, func(err error, wait time.Duration) {
					require.ErrorIs(t, err, busy)
					waits = append(waits, wait)
				})
				start := time.Now()
				_, err := a.Step(t.Context())
				require.ErrorIs(t, err, test.want)
				require.Equal(t, test.waits, waits)
				total := time.Duration(0)
				for _, w := range waits {
					total += w
				}
				require.Equal(t, total, time.Since(start))
			})
		})
	}
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		a := newAgent(t, 1000, policy.Policy{}, fails(&chat.TransientError{Err: errors.New("busy")}))
		onRetry(a, func(error, time.Duration) { cancel(why) })
		start := time.Now()
		_, err := a.Step(ctx)
		require.ErrorIs(t, err, why)
		require.Zero(t, time.Since(start))
		require.Len(t, kinds(t, a.Compactor.Session), 1)
	})
}

// compactingPolicy returns a policy that compacts after refusals, with a model that needs no network.
func compactingPolicy() policy.Policy {
	return policy.Policy{
		Name:    "long",
		Trigger: policy.Trigger{{On: policy.OnBudgetExceeded}, {On: policy.OnContextLimit}},
		Ask:     policy.Ask{Names: []string{"offline"}},
	}
}

// talk appends turns.
func talk(t *testing.T, s *history.Session, turns int) {
	t.Helper()
	for n := range turns {
		require.NoError(t, s.Append(t.Context(),
			chat.AssistantMessage(strings.Repeat(fmt.Sprintf("Ship %d lies at the quay. ", n), 20)), chat.UserMessage(fmt.Sprintf("And ship %d?", n+1)),
		))
	}
}

func TestARefusalLeadsToACompactionAndItsLimitIsRecorded(t *testing.T) {
	var sizes []int
	a := newAgent(t, 10_000, compactingPolicy(),
		func(_ context.Context, req chat.Request) (chat.Response, error) {
			sizes = append(sizes, len(req.Messages))
			return chat.Response{}, &chat.ContextLimitError{Limit: 3000, Tokens: 6700}
		},
		func(_ context.Context, req chat.Request) (chat.Response, error) {
			sizes = append(sizes, len(req.Messages))
			return says("It lies at the quay.")(t.Context(), req)
		},
	)
	session := a.Compactor.Session
	talk(t, session, 20)
	answer := stepped(t, a)
	require.Equal(t, 1, answer.Refusals)
	require.Less(t, sizes[1], sizes[0])
	require.Less(t, answer.Result.Tokens, 3000)
	refusal, found := sessiontest.Latest(t, session, entry.TypeRefusal)
	require.True(t, found)
	r := refusal.Body.(entry.Refusal)
	require.Positive(t, r.Counted)
	r.Counted = 0
	require.Equal(t, entry.Refusal{Model: "harbour-1", Limit: 3000, Tokens: 6700}, r)
	_, found = sessiontest.Latest(t, session, entry.TypeCompaction)
	require.True(t, found)
}

// A busy model may delay a summary as it may delay an answer.
func TestAStepRetriesASummaryThatThePromptNeeds(t *testing.T) {
	busy := &chat.TransientError{Err: errors.New("overloaded")}
	unknown := errors.New("no such model")
	for _, test := range []struct {
		name   string
		budget int
		fails  []error // of the first requests
		waits  []time.Duration
		want   error
	}{
		{"for a prompt that does not fit", 2000, []error{busy, busy}, []time.Duration{2 * time.Second, 4 * time.Second}, nil},
		{"for a prompt that was refused", 10_000, []error{&chat.ContextLimitError{Limit: 3000, Tokens: 6700}, busy}, nil, nil}, // history is left out instead
		{"not after the last attempt", 2000, []error{busy, busy, busy, busy}, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}, busy},
		{"not after a permanent failure", 2000, []error{unknown}, nil, unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := compactingPolicy()
				p.Ask = policy.Ask{}
				a := newAgent(t, test.budget, p)
				asked := 0
				a.Compactor.Target.Model = chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
					if asked++; asked <= len(test.fails) {
						return chat.Response{}, test.fails[asked-1]
					}
					return says("<summary>Three ships.</summary>")(ctx, req)
				})
				talk(t, a.Compactor.Session, 20)
				var waits []time.Duration
				onRetry(a, func(_ error, wait time.Duration) { waits = append(waits, wait) })
				answer, err := a.Step(t.Context())
				require.ErrorIs(t, err, test.want)
				require.Equal(t, test.waits, waits)
				require.Equal(t, test.want == nil, answer.Entry != "")
			})
		})
	}
}

func TestARefusalThatNothingHelpsIsReturned(t *testing.T) {
	refused := &chat.ContextLimitError{Limit: 3000, Tokens: 6700}
	for _, policy := range []policy.Policy{compactingPolicy(), {}} {
		asked := 0
		a := newAgent(t, 10_000, policy)
		a.Compactor.Target.Model = chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) { asked++; return chat.Response{}, refused })
		talk(t, a.Compactor.Session, 20)
		answer, err := a.Step(t.Context())
		require.ErrorIs(t, err, refused)
		require.ErrorAs(t, err, new(*summarize.RecoveryError))
		require.LessOrEqual(t, asked, 20)
		require.Empty(t, answer.Entry)
	}
}

func TestAPromptThatDoesNotFitIsNotSent(t *testing.T) {
	for name, tools := range map[string][]chat.Toolbox{"the messages": nil, "the tools": {box{name: strings.Repeat("look", 20)}}} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, 3, policy.Policy{})
			a.Tools = tools
			answer, err := a.Step(t.Context())
			over, ok := errors.AsType[*render.BudgetExceededError](err)
			require.True(t, ok, err)
			require.Less(t, over.Budget, over.Needed)
			require.Nil(t, answer.Result)
		})
	}
}

func TestTextThinkingAndArgumentsOfCallsAreStreamed(t *testing.T) {
	pieces := []chat.Delta{
		chat.Thinking{Text: "Hm."}, chat.Text("I look."), chat.CallDelta{ID: "a", Name: "look"}, chat.CallDelta{Arguments: `{"at":`}, chat.CallDelta{Arguments: `"quay"}`},
	}
	called := chat.AssistantMessage("I look.")
	called.ToolCalls = []chat.ToolCall{{ID: "a", Name: "look", Arguments: `{"at":"quay"}`}}
	a := newAgent(t, 1000, policy.Policy{}, func(_ context.Context, req chat.Request) (chat.Response, error) {
		for _, p := range pieces {
			req.Stream(p)
		}
		return chat.Response{Message: called, StopReason: chat.StopToolCalls}, nil
	})
	var heard []chat.Delta
	a.Stream = func(d chat.Delta) { heard = append(heard, d) }
	answer, err := a.Step(t.Context())
	require.NoError(t, err)
	require.Equal(t, pieces, heard)
	require.Equal(t, called, answer.Message())
}

func TestTextStreamedBeforeACancelIsReturnedButNotAppended(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	a := newAgent(t, 1000, policy.Policy{}, func(ctx context.Context, req chat.Request) (chat.Response, error) {
		req.Stream(chat.Text("Three "))
		cancel(why)
		<-ctx.Done()
		return chat.Response{Message: chat.AssistantMessage("Three ")}, context.Cause(ctx)
	})
	a.Stream = func(chat.Delta) {}
	answer, err := a.Step(ctx)
	require.ErrorIs(t, err, why)
	require.Equal(t, "Three ", answer.Message().Text())
	require.Empty(t, answer.Entry)
	require.Len(t, kinds(t, a.Compactor.Session), 1)
}

func TestAPolicyMayContinueAfterATurn(t *testing.T) {
	p := compactingPolicy()
	p.Trigger = append(p.Trigger, policy.Condition{Cap: 3000})
	p.Continue = "Continue if you have next steps."
	a := newAgent(t, 10_000, p,
		func(context.Context, chat.Request) (chat.Response, error) {
			m := chat.AssistantMessage("I look.")
			m.ToolCalls = []chat.ToolCall{{ID: "a", Name: "look", Arguments: "{}"}}
			return chat.Response{Message: m}, nil
		},
		says("There are many."), says("Nothing more."),
	)
	session := a.Compactor.Session
	require.False(t, stepped(t, a).GoOn, "a turn is not over while calls are unanswered")
	require.NoError(t, session.Append(t.Context(), chat.ToolResult("a", strings.Repeat("There are many ships at many quays. ", 400))))
	answer := stepped(t, a)
	require.True(t, answer.GoOn)
	last, found := sessiontest.Latest(t, session, entry.TypeCustomMessage)
	require.True(t, found)
	require.Equal(t, session.Leaf(), last.ID)
	answer = stepped(t, a)
	require.False(t, answer.GoOn)
	require.Equal(t, "Nothing more.", answer.Message().Text())
}

func TestAnAnswerThatTheSessionRefusesIsReturnedWithTheError(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	unreadable := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: []byte(deep)}}}
	a := newAgent(t, 1000, policy.Policy{}, func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: unreadable, Usage: chat.Usage{Input: 9}}, nil
	})
	answer, err := a.Step(t.Context())
	require.ErrorAs(t, err, new(*entry.DepthError))
	require.Equal(t, unreadable, answer.Message())
	require.Empty(t, answer.Entry)
	require.Len(t, kinds(t, a.Compactor.Session), 1, "its usage is not appended either")
}

// A model without an adapter may omit ids or use one for two calls.
func TestMissingAndDoubledCallIDsAreReplaced(t *testing.T) {
	for rule, ids := range map[string][]string{
		"missing": {"", ""}, "doubled": {"a", "a"}, "one missing among several": {"a", "", "b"}, "missing and doubled": {"", "a", "", "a"},
		"ids that are unique stay": {"a", "b"},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(rule+map[bool]string{true: " streamed"}[streamed], func(t *testing.T) {
				a := newAgent(t, 10_000, policy.Policy{})
				asked := 0
				given := func(i int) string { // differs in each answer
					if ids[i] == "" {
						return ""
					}
					return fmt.Sprint(ids[i], asked)
				}
				a.Compactor.Target.Model = chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
					asked++
					require.NoError(t, chat.ValidateRequest(req))
					seen := ""
					for _, m := range req.Messages {
						if m.Role == chat.RoleTool {
							seen += m.Text()
						}
					}
					if round := "01234"[:len(ids)]; seen == round+round {
						return chat.Response{Message: chat.AssistantMessage("Three ships.")}, nil
					}
					said := chat.Message{Role: chat.RoleAssistant}
					for i := range ids {
						id := given(i)
						said.ToolCalls = append(said.ToolCalls, chat.ToolCall{ID: id, Name: "look", Arguments: "{}"})
						if req.Stream != nil {
							req.Stream(chat.CallDelta{Index: i, ID: id, Name: "look"})
							req.Stream(chat.CallDelta{Index: i, Arguments: "{}"})
						}
					}
					return chat.Response{Message: said, StopReason: chat.StopToolCalls}, nil
				})
				var heard *providertest.Heard
				if streamed {
					a.Stream = func(d chat.Delta) { heard.Hear(t, d) }
				}
				var observed []chat.ToolCall
				a.Compactor.Target.Tokenizer = observing{observe: func(_ chat.Request, r chat.Response) { observed = r.Message.ToolCalls }}
				for range 3 {
					heard = &providertest.Heard{}
					answer := stepped(t, a)
					calls := answer.Message().ToolCalls
					require.Equal(t, calls, observed)
					if len(calls) == 0 {
						require.Equal(t, "Three ships.", answer.Message().Text())
						require.Equal(t, 3, asked)
						return
					}
					if streamed {
						heard.RequireWhole(t, answer.Response)
					}
					require.Equal(t, calls, sessiontest.Entry(t, a.Compactor.Session, answer.Entry).Message().ToolCalls)
					first := map[string]bool{}
					for i, c := range calls {
						if id := given(i); id != "" && !first[id] {
							require.Equal(t, id, c.ID)
						}
						first[given(i)] = true
						require.NoError(t, a.Compactor.Session.Append(t.Context(), chat.ToolResult(c.ID, fmt.Sprint(i))))
					}
				}
				t.Fatal("the agent does not end")
			})
		}
	}
}

func TestACallOfAnInterruptedAnswerGetsAnID(t *testing.T) {
	broken := errors.New("broken")
	a := newAgent(t, 1000, policy.Policy{}, func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{Name: "look", Arguments: "{}"}}}}, broken
	})
	answer, err := a.Step(t.Context())
	require.ErrorIs(t, err, broken)
	require.NotEmpty(t, answer.Message().ToolCalls[0].ID)
}

func TestMissingFieldsAreErrors(t *testing.T) {
	_, err := (&agent.Agent{}).Step(t.Context())
	require.ErrorContains(t, err, "Agent.Compactor")
	_, err = (&agent.Agent{Compactor: &summarize.Compactor{}}).Step(t.Context())
	require.ErrorContains(t, err, "Compactor.Session")
}

func TestACancelAfterTheAppendReturnsTheCauseAndTheEntry(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	a := newAgent(t, 1000, policy.Policy{}, says("Three ships."))
	a.Compactor.Target.Tokenizer = observing{observe: func(chat.Request, chat.Response) { cancel(why) }}
	answer, err := a.Step(ctx)
	require.ErrorIs(t, err, why)
	require.NotEmpty(t, answer.Entry)
	require.Equal(t, "Three ships.", answer.Message().Text())
}

func TestFunctionsOfTheCallerMayPanicExitOrNeverReturn(t *testing.T) {
	faults := map[string]func(){"panics": func() { panic("boom") }, "exits": runtime.Goexit, "hangs": func() { select {} }}
	for name, set := range map[string]func(a *agent.Agent, fault func()){
		"model harbour-1": func(a *agent.Agent, fault func()) {
			a.Compactor.Target.Model = chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) { fault(); return chat.Response{}, nil })
		},
		"Request.Stream": func(a *agent.Agent, fault func()) { a.Stream = func(chat.Delta) { fault() } },
		"Target.Tokenizer": func(a *agent.Agent, fault func()) {
			a.Compactor.Target.Tokenizer = observing{observe: func(chat.Request, chat.Response) { fault() }}
		},
	} {
		for how, fault := range faults {
			t.Run(name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					if how == "hangs" {
						fault = func() { <-release }
					}
					a := newAgent(t, 4000, policy.Policy{})
					healthy := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
						if req.Stream != nil {
							req.Stream(chat.Text("Ships."))
						}
						return chat.Response{Message: chat.AssistantMessage("Ships.")}, nil
					})
					a.Compactor.Target.Model = healthy
					set(a, fault)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, err := a.Step(ctx)
					require.Equal(t, name, errtest.As[*chat.CallbackError](t, err).Name)
					require.Equal(t, how == "hangs", errors.Is(err, context.DeadlineExceeded))
					require.Equal(t, []entry.Type{entry.TypeMessage}, kinds(t, a.Compactor.Session))
					close(release)
					synctest.Wait()

					a.Stream, a.Compactor.Target.Tokenizer = nil, sizing.Estimator{}
					a.Compactor.Target.Model = healthy
					require.Equal(t, "Ships.", stepped(t, a).Message().Text())
				})
			})
		}
	}
}

func TestStreamIsNotCalledAfterTheAnswerReturned(t *testing.T) {
	a := newAgent(t, 4000, policy.Policy{})
	var late func(chat.Delta)
	a.Compactor.Target.Model = chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		late = req.Stream
		late(chat.Text("Ships."))
		return chat.Response{Message: chat.AssistantMessage("Ships.")}, nil
	})
	var heard []chat.Delta
	a.Stream = func(d chat.Delta) { heard = append(heard, d) }
	stepped(t, a)
	late(chat.Text("And more."))
	require.Equal(t, []chat.Delta{chat.Text("Ships.")}, heard)
}

func TestAnInvalidAnswerIsNotAppended(t *testing.T) {
	for name, c := range map[string]struct {
		answer chat.Response
		want   string
	}{
		"another role":    {chat.Response{Message: chat.UserMessage("Ships.")}, `it answered with a message of the role "user"`},
		"no role":         {chat.Response{Message: chat.Message{Content: chat.Parts{chat.Text("Ships.")}}}, `of the role ""`},
		"a part is nil":   {chat.Response{Message: chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("Ships."), nil}}}, "part 1 of its answer is nil"},
		"a nameless call": {chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{}}}}, "tool call 0 of its answer has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, 4000, policy.Policy{})
			a.Compactor.Target.Model = chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) { return c.answer, nil })
			_, err := a.Step(t.Context())
			require.ErrorContains(t, err, c.want)
			require.Equal(t, []entry.Type{entry.TypeMessage}, kinds(t, a.Compactor.Session))
		})
	}
}

func TestInvalidUsageIsIgnored(t *testing.T) {
	for _, u := range []chat.Usage{{Input: -1}, {Input: math.MaxInt, Output: 1}, {Input: 5, CacheRead: -3}} {
		a := newAgent(t, 4000, policy.Policy{})
		a.Compactor.Target.Model = chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
			return chat.Response{Message: chat.AssistantMessage("Ships."), Usage: u}, nil
		})
		require.Zero(t, stepped(t, a).Response.Usage)
		require.Equal(t, []entry.Type{entry.TypeMessage, entry.TypeMessage, entry.TypeUsage}, kinds(t, a.Compactor.Session))
	}
}
