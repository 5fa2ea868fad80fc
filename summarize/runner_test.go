package summarize_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// anotherFixture returns another compactor of the same session, as a worker or a replica has one.
func anotherFixture(t *testing.T, d fixture, model chat.Model) fixture {
	other := fixtureOf(t, d.Session)
	other.Target, other.Policy = d.Target, d.Policy
	other.Target.Model = model
	return other
}

// copilotFixture returns a fixture with the policy of Copilot Chat, and enough history for a summary in the background.
func copilotFixture(t *testing.T) fixture {
	d := newFixture(t, chat.UserMessage(task))
	d.Policy = copilotchat.Policy()
	d.Policy.Overflow.LastResort = policy.ResortError
	d.Say(rounds(1, 5, 660)...)
	return d
}

// planned renders the prompt of a fixture, and returns the plan that this leaves to a runner.
func planned(d fixture) (plan string) {
	d.T.Helper()
	d.Runner = func(_ context.Context, _ *history.Session, p string) error { plan = p; return nil }
	d.Messages()
	require.NotEmpty(d.T, plan)
	return plan
}

func TestACustomRunnerRunsAPlan(t *testing.T) {
	d := copilotFixture(t)
	var plans []string
	d.Runner = func(_ context.Context, s *history.Session, plan string) error {
		plans = append(plans, plan)
		return nil
	}
	before := d.Messages()
	require.Len(t, plans, 1)
	require.Empty(t, d.Requests())
	require.Equal(t, before, d.Messages(), "the plan is pending")
	require.Len(t, plans, 1)
	require.Equal(t, policy.PendingElsewhere, d.PendingNow())

	worker := anotherFixture(t, d, saying("Made by the worker."))
	require.NoError(t, worker.RunPlan(t.Context(), plans[0], nil))
	require.ErrorIs(t, worker.RunPlan(t.Context(), plans[0], nil), summarize.ErrPlanEnded)
	require.Contains(t, text(d.Messages()), "Made by the worker.")
	require.Contains(t, kinds(*worker.Heard), "done/full", "a fork runs only where the prompt was sent")
}

func TestAPlanHoldsEverythingThatRunPlanNeeds(t *testing.T) {
	d := copilotFixture(t)
	d.Target.Tools = []chat.Tool{{Name: "read", Description: "Reads."}}
	plan := planned(d)
	e, err := d.Session.Entry(t.Context(), plan)
	require.NoError(t, err)
	p := e.Body.(entry.Plan)
	require.Equal(t, "copilot-chat", p.Policy)
	require.Equal(t, "render", p.Occasion)
	require.True(t, p.Background)
	require.Positive(t, p.Room)
	require.Less(t, p.Words, p.Room)
	require.WithinDuration(t, time.Now().Add(10*time.Minute), p.Until, time.Minute)
	preamble, ok := d.Latest(entry.TypePreamble)
	require.True(t, ok)
	require.Equal(t, p.Preamble, preamble.Body.(entry.Preamble).Digest)
	require.Equal(t, d.Target.Tools, preamble.Body.(entry.Preamble).Tools)
	require.Contains(t, text(preamble.Body.(entry.Preamble).System), "You are a coding agent.")

	model := saying("Done.")
	worker := anotherFixture(t, d, model) // whose target has no tools
	worker.Target.Tools = nil
	require.NoError(t, worker.RunPlan(t.Context(), plan, nil))
	require.Equal(t, d.Target.Tools, model.calls[0].Tools)
	d.Say(rounds(10, 14, 600)...)
	d.Messages()
	n := 0
	for _, e := range entries(t, d.Session) {
		if e.Type() == entry.TypePreamble {
			n++
		}
	}
	require.Equal(t, 1, n, "an unchanged preamble is stored once")
}

func TestOtherReplicasSeeAPlanThatIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := copilotFixture(t)
		d.Target.Model = &counting{answer: func(ctx context.Context, _ int, req chat.Request) (chat.Response, error) {
			<-release
			return models.SaySummary("Made by the first.")(ctx, req)
		}}
		d.Messages()
		other := anotherFixture(t, d, down(errDown))
		other.Messages()
		require.Empty(t, *other.Heard, "the other starts nothing")
		other.Say(rounds(10, 11, 600)...)
		done := make(chan []chat.Message)
		go func() {
			r, err := other.Render(t.Context(), prompt(other.Session))
			if err != nil {
				close(done)
				return
			}
			done <- r.Messages
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "waiting", kinds(*other.Heard))
		close(release)
		require.NoError(t, d.Wait(t.Context()))
		d.Messages()
		require.Contains(t, text(<-done), "Made by the first.")
	})
}

func TestARunnerThatFailsEndsThePlan(t *testing.T) {
	d := copilotFixture(t)
	d.Runner = func(context.Context, *history.Session, string) error { return errors.New("the queue is full") }
	d.Messages()
	end, ok := d.Latest(entry.TypePlanEnd)
	require.True(t, ok)
	require.Equal(t, entry.PlanFailed, end.Body.(entry.PlanEnd).Outcome)
	require.Contains(t, end.Body.(entry.PlanEnd).Error, "the queue is full")
}

func TestAPlanThatNoWorkerTakesIsDroppedAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := copilotFixture(t)
		d.Target.Model = saying("Done here.")
		given := 0
		d.Runner = func(context.Context, *history.Session, string) error { given++; return nil }
		d.Messages()
		time.Sleep(9 * time.Minute)
		d.Messages()
		require.Equal(t, 1, given)
		time.Sleep(2 * time.Minute)
		d.Messages()
		require.Equal(t, 2, given)
	})
}

func TestRenderOptionsArePassedOn(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Options = render.Options{LowWater: 0.5}
	full := d.Rendered(prompt(d.Session, documents(20, 300)))
	require.LessOrEqual(t, full.Tokens, budget*6/10, "pruning goes down to LowWater")
}

func TestEveryReturnedPromptHasOneUsageEvent(t *testing.T) {
	var told []event.Event
	d := newFixture(t, overflowing()...)
	d.Policy.Trigger = policy.Trigger{{On: policy.OnBudgetExceeded}, {On: policy.OnContextLimit}}
	d.Target.Tools = []chat.Tool{{Name: "read"}}
	d.Observers = []summarize.Observer{summarize.OnEvent(func(e event.Event) { told = append(told, e) })}
	d.Target.Model = saying("Done.")
	last := func(r *render.Result) {
		t.Helper()
		e := told[len(told)-1]
		require.Equal(t, event.Usage, e.Kind)
		require.Equal(t, r.Tokens, e.Breakdown.Other+e.Breakdown.History)
		require.Positive(t, e.Breakdown.History)
		require.Equal(t, e.Breakdown, d.Breakdown(t.Context()), "in one call, for the running session")
		require.Equal(t, r.Tokens, e.TokensAfter)
		require.Equal(t, quarter{}.CountTools(d.Target.Tools), e.Breakdown.Tools)
		n := 0
		for _, e := range told {
			if e.Kind == event.Usage {
				n++
			}
		}
		require.Equal(t, 1, n, "once")
		told = nil
	}
	r := d.Rendered(prompt(d.Session))
	last(r)
	d.Say(rounds(10, 13, 500)...)
	r = d.Recovered(&chat.ContextLimitError{Limit: 2000, Tokens: 2400}, "")
	last(r)
	d.Say(rounds(20, 22, 300)...)
	done := d.Compacted()
	last(done.Result)
}

func TestAnEventIsPrintedInWordsWithoutItsEmptyFields(t *testing.T) {
	e := event.Event{Kind: event.Started, Reason: policy.OnRender, Coverage: event.Coverage{Covered: 10}}
	require.Equal(t, "[kind=started reason=render covered=10]", fmt.Sprint(e))
}

func TestEventsHaveEachKeyOnce(t *testing.T) {
	d := newFixture(t, overflowing()...)
	var log strings.Builder
	var told []event.Event
	d.Observers = []summarize.Observer{summarize.Log{Logger: slog.New(slog.NewJSONHandler(&log, nil))}, summarize.OnEvent(func(e event.Event) { told = append(told, e) })}
	d.Answers(models.Say("no"), models.SaySummary("Done."))
	d.Target.Name = "gpt-4o"
	d.Messages()
	require.NotContains(t, log.String(), `compaction.compaction`)
	for line := range strings.Lines(log.String()) {
		var got struct {
			Compaction map[string]any `json:"compaction"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		require.NotEmpty(t, got.Compaction["kind"], line)
		require.Equal(t, 1, strings.Count(line, `"kind"`))
	}
	for _, e := range told {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		var keys map[string]any
		require.NoError(t, json.Unmarshal(data, &keys))
		if e.Kind == event.Answered {
			require.Equal(t, "gpt-4o", keys["model"])
			require.Regexp(t, `^e\d+/\d+$`, keys["request"])
		}
		if e.Err != nil {
			require.NotEmpty(t, keys["error"])
			require.NotEmpty(t, keys["errorType"])
		}
	}
}

func TestAPlanThatFailsElsewherePausesHere(t *testing.T) {
	d := backgroundFixture(t, 3400)
	d.Runner = func(context.Context, *history.Session, string) error { return nil } // leaves plans to another process
	d.Messages()
	plan, _ := d.Latest(entry.TypePlan)
	other := fixtureOf(t, d.Session)
	other.Policy = d.Policy
	other.Answers(models.Fail(&chat.TransientError{Err: errors.New("busy")}))
	require.Error(t, other.RunPlan(t.Context(), plan.ID, nil))
	d.Messages()
	require.Contains(t, d.Explain(t.Context()).Why, "paused for 1 more step after 1 failures")
	require.Contains(t, d.Explain(t.Context()).Why, "busy")
}

func TestATransientFailureLeavesThePlanToTheNextAttempt(t *testing.T) {
	synctest.Test(t, attemptsAtAPlan)
}

func attemptsAtAPlan(t *testing.T) {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
	d.Policy = copilotchat.Policy()
	d.Policy.Ask.Attempts = 1
	d.Target.Budget = 5200
	plan := planned(d)

	answered, attempts, newest := 0, 0, time.Time{}
	model := &counting{answer: func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
		if n%2 == 0 {
			return models.Fail(&chat.TransientError{Err: errDown})(ctx, r)
		}
		time.Sleep(4 * time.Minute)
		answered++
		newest = time.Now()
		return models.SaySummary(fmt.Sprintf("Summary %d.", answered))(ctx, r)
	}}
	for {
		worker := anotherFixture(t, d, model)
		worker.TakesIn(900)
		asked := false
		err := worker.RunPlan(t.Context(), plan, func(err error, until time.Time) bool {
			require.ErrorIs(t, err, errDown)
			require.WithinDuration(t, newest.Add(10*time.Minute), until, time.Second, "each answer gives the plan as much time again")
			asked = true
			return true
		})
		if err == nil {
			break
		}
		attempts++
		require.True(t, asked)
		require.Contains(t, kinds(*worker.Heard), "postponed")
		require.Equal(t, policy.PendingElsewhere, d.PendingNow())
		require.Less(t, attempts, 30)
	}
	require.Greater(t, attempts, 2)
	require.Contains(t, compactions(d.Session)[0].Messages[0].Text(), fmt.Sprintf("Summary %d.", answered), "each attempt continues from the segments of the one before")
	require.Equal(t, policy.PendingNone, d.PendingNow())
}

func TestAPlanIsRetriedOnlyAfterAFailureThatMayPass(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  models.Reply
		retried bool
	}{
		{"a transient error", models.Fail(&chat.TransientError{Err: errDown}), true},
		{"an unknown error", models.Fail(errDown), true},
		{"an answer that cannot be used", models.Say(""), false},
		{"a model that panics", func(context.Context, chat.Request) (chat.Response, error) { panic("out of order") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := copilotFixture(t)
			plan := planned(d)
			worker := anotherFixture(t, d, &counting{answer: func(ctx context.Context, _ int, r chat.Request) (chat.Response, error) { return c.answer(ctx, r) }})
			asked := false
			require.Error(t, worker.RunPlan(t.Context(), plan, func(error, time.Time) bool { asked = true; return true }))
			require.Equal(t, c.retried, asked)
			require.Equal(t, c.retried, d.PendingNow() == policy.PendingElsewhere)
		})
	}
}

func TestAWorkerThatIsStoppedLeavesThePlanToAnother(t *testing.T) {
	for _, again := range []bool{true, false} {
		d := copilotFixture(t)
		plan := planned(d)
		stopped := errors.New("the worker stops")
		ctx, stop := context.WithCancelCause(t.Context())
		worker := anotherFixture(t, d, &counting{answer: func(ctx context.Context, _ int, _ chat.Request) (chat.Response, error) {
			stop(stopped)
			<-ctx.Done()
			return chat.Response{}, ctx.Err()
		}})
		require.ErrorIs(t, worker.RunPlan(ctx, plan, func(error, time.Time) bool { return again }), stopped)
		if !again {
			require.Contains(t, kinds(*worker.Heard), "cancelled")
			continue
		}
		require.NoError(t, anotherFixture(t, d, saying("Made by another.")).RunPlan(t.Context(), plan, nil))
		require.Contains(t, text(d.Messages()), "Made by another.")
	}
}

func TestAForkThatRunsElsewhereBecomesARequestOfItsOwn(t *testing.T) {
	d := copilotFixture(t)
	d.Policy.Ask.Prompts = []policy.Prompt{prompts.ForkPrompt(), prompts.FullPrompt()}
	plan := planned(d)
	worker := anotherFixture(t, d, saying("Done."))
	worker.Policy = d.Policy
	var fork event.Event
	worker.Observers = []summarize.Observer{summarize.OnEvent(func(e event.Event) {
		if e.Kind == event.Refused {
			fork = e
		}
	})}
	require.NoError(t, worker.RunPlan(t.Context(), plan, nil))
	require.Equal(t, prompts.ModeFork, fork.Mode)
	require.ErrorContains(t, fork.Err, "without its cache")
}

func TestCloseWaitsForTheTitleOfAPlanThatWasRun(t *testing.T) {
	d := copilotFixture(t)
	titled := prompts.FullPrompt()
	titled.Title = func(policy.Material) elements.Node {
		return elements.UserMessage{Children: elements.Nodes{elements.Text("Name it.")}}
	}
	d.Policy.Ask.Prompts = []policy.Prompt{titled}
	plan := planned(d)
	worker := anotherFixture(t, d, saying("Done."))
	require.NoError(t, worker.RunPlan(t.Context(), plan, nil))
	require.NoError(t, worker.Close())
	_, ok := d.Latest(entry.TypeLabel)
	require.True(t, ok)
}

func TestEveryFieldOfAnEventIsLoggedExceptTheSummary(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[event.Event]()) {
		if field.Anonymous {
			continue
		}
		var e event.Event
		if field.Name == "Err" {
			e.Err = errors.New("quota")
		} else {
			setNonZero(t, reflect.ValueOf(&e).Elem().FieldByIndex(field.Index))
		}
		logged := len(e.LogValue().Group()) > 0
		private := field.Name == "Summary" || field.Name == "Title"
		require.Equal(t, !private, logged, field.Name)
	}
}

// setNonZero sets a value, and all fields of a struct, to something other than zero.
func setNonZero(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		setNonZero(t, v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			setNonZero(t, v.Field(i))
		}
	default:
		require.Fail(t, "set a value of this kind too", "%v", v.Kind())
	}
}
