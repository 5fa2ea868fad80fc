package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestAConnectionErrorIsRetriedByTheNextRender(t *testing.T) {
	model := &counting{answer: func(ctx context.Context, n int, req chat.Request) (chat.Response, error) {
		if n == 1 {
			return chat.Response{}, errDown
		}
		return models.SaySummary("It is back.")(ctx, req)
	}}
	d := newFixture(t, overflowing()...)
	d.Target.Model = model
	d.Fails()
	require.Contains(t, text(d.Messages()), "It is back.")
}

func TestARequestForASummaryIsRefusedOnceAsItIsAndThenMadeSmaller(t *testing.T) {
	model := down(&chat.ContextLimitError{Err: errors.New("413 status code (no body)")})
	d := newFixture(t, overflowing()...)
	d.Target.Model, d.Target.ContextWindow = model, 20_000
	d.Fails()
	asked := map[string]int{}
	for _, r := range model.calls {
		asked[text(r.Messages)]++
	}
	for _, n := range asked {
		require.LessOrEqual(t, n, 2)
	}
	require.Greater(t, len(asked), 2)
	d.Target.Model = saying("It is back.")
	require.Contains(t, text(d.Messages()), "It is back.")
}

func TestAbortEndsARenderThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := unanswering()
		d := copilotFixture(t)
		d.Target.Model = hangs
		d.Messages()
		d.Say(round(9, 1200)...)
		done := make(chan error)
		go func() {
			_, err := d.Render(t.Context(), prompt(d.Session))
			done <- err
		}()
		time.Sleep(time.Second)
		d.Abort()
		begun := time.Now()
		require.ErrorIs(t, <-done, summarize.ErrAborted)
		require.Zero(t, time.Since(begun))
		require.Equal(t, 1, hangs.asked())
	})
}

func TestACandidateThatHangsLeavesTimeForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, overflowing()...)
		d.Policy.Ask.Names, d.Policy.Background.Timeout = []string{"hangs"}, time.Hour
		d.Models = map[string]policy.Target{"hangs": {Model: unanswering()}}
		d.Answers(models.SaySummary("From the agent's own."))
		require.Contains(t, text(d.Messages()), "From the agent's own.")
	})
}

func TestAReportedLimitHoldsUntilALargerRequestIsAnswered(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Name, d.Target.Budget = "m", 40_000
	d.Policy.Trigger = policy.Trigger{{On: policy.OnContextLimit}}
	d.Say(rounds(1, 3, 300)...)
	d.Target.Model = saying("Done.")
	d.Recovered(&chat.ContextLimitError{Limit: 2000, Tokens: 2100}, "")
	d.Messages()
	require.Equal(t, 40_000, d.Explain(t.Context()).Measurement.Budget, "it is not confirmed")
	d.Say(rounds(4, 5, 100)...)
	d.Recovered(&chat.ContextLimitError{Limit: 2000, Tokens: 2100}, "")
	d.Messages()
	require.Less(t, d.Explain(t.Context()).Measurement.Budget, 2000)
	reported(d, "m", 30_000, 28_000)
	d.Say(chat.UserMessage("Go on."))
	d.Messages()
	require.Equal(t, 40_000, d.Explain(t.Context()).Measurement.Budget)
}

// A size that is refused is a limit for compactions once it was refused again after it was let go. If the model accepted a
// larger request before, that is more likely to be something else, and a compaction within it would lose what was said.
func TestALimitBelowAnAcceptedRequestIsConfirmedByMoreRefusals(t *testing.T) {
	for _, c := range []struct {
		rule     string
		unit     entry.LimitUnit
		accepted int // the largest
		tries    int // that it takes
	}{
		{"nothing larger was accepted", entry.UnitTokens, 1000, 2}, {"a larger request was accepted", entry.UnitTokens, 28_000, 4},
		{"nothing larger in bytes was accepted", entry.UnitBytes, 1000, 2}, {"a larger body was accepted", entry.UnitBytes, 28_000, 4},
	} {
		t.Run(c.rule, func(t *testing.T) {
			d := newFixture(t, chat.UserMessage(task))
			d.Target.Name, d.Target.Budget = "m", 40_000
			add := func(b entry.Body) {
				d.Note(b)
			}
			accept := func(n int) { // so many tokens, in as many bytes
				d.Say(chat.AssistantMessage("Done."))
				add(entry.Usage{Model: "m", Usage: chat.Usage{Input: n, Output: 10}, Counted: n, Bytes: n})
			}
			refuse := func() { add(entry.Refusal{Model: "m", Unit: c.unit, Counted: 2000}) }
			d.Say(rounds(1, 4, 200)...) // of more bytes than the limit, and of fewer tokens
			accept(c.accepted)
			refuse() // this one may have been a mistake
			for tries := 1; tries <= c.tries; tries++ {
				refuse()
				d.Rendered(prompt(d.Session))
				if budget := d.Explain(t.Context()).Measurement.Budget; tries < c.tries {
					require.Equal(t, 40_000, budget, "%d", tries)
				} else {
					require.LessOrEqual(t, budget, 1800)
				}
				for range 1 << tries {
					d.Say(chat.UserMessage("Go on."))
					accept(500)
				}
			}
		})
	}
}

func TestANewMessageEndsASeriesOfRefusals(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Target.Budget = 6000
	d.Policy.Trigger = policy.Trigger{{On: policy.OnContextLimit}}
	d.Policy.Overflow.LastResort = policy.ResortTruncate
	d.Target.Model = down(errDown)
	refused := &chat.ContextLimitError{Err: errors.New("too large")}
	last := count(quarter{}, d.Messages())
	for {
		r, err := d.Recover(t.Context(), prompt(d.Session), refused, "")
		if err != nil {
			require.ErrorAs(t, err, new(*summarize.RecoveryError))
			break
		}
		require.Less(t, r.Tokens, last, "no request is sent again as it was")
		last = r.Tokens
	}
	d.Say(chat.AssistantMessage("Sorry."), chat.UserMessage("Then do this."))
	d.Recovered(refused, "")
}

func TestTheRetryAfterOfOneModelDoesNotPauseTheOthers(t *testing.T) {
	late := down(&chat.TransientError{RetryAfter: 24 * time.Hour, Err: errors.New("quota")})
	own := &counting{answer: func(ctx context.Context, n int, req chat.Request) (chat.Response, error) {
		if n == 1 {
			return chat.Response{}, errDown
		}
		return models.SaySummary("Done.")(ctx, req)
	}}
	d := newFixture(t, chat.UserMessage(task))
	d.Policy = policy.Policy{Trigger: policy.Trigger{{Cap: 1000}}, Replace: policy.Replace{Max: 200}, Ask: policy.Ask{Names: []string{"late"}}}
	d.Models = map[string]policy.Target{"late": {Model: late}}
	d.Target.Model, d.Target.Budget = own, 100_000
	d.Say(rounds(1, 3, 500)...)
	d.Messages()
	d.Say(rounds(4, 5, 500)...)
	d.Messages()
	require.Len(t, compactions(d.Session), 1)
}

func TestAPlanThatEndedIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := copilotFixture(t)
		release := make(chan struct{})
		d.Target.Model = &counting{answer: func(ctx context.Context, n int, req chat.Request) (chat.Response, error) {
			return models.SaySummary(fmt.Sprintf("Summary %d.", n))(ctx, req)
		}}
		plan := planned(d)
		late := anotherFixture(t, d, &counting{answer: func(ctx context.Context, _ int, req chat.Request) (chat.Response, error) {
			<-release
			return models.SaySummary("Too late.")(ctx, req)
		}})
		late.Policy.Ask.Timeout = time.Hour
		done := make(chan error)
		go func() { done <- late.RunPlan(t.Context(), plan, nil) }()
		time.Sleep(11 * time.Minute)
		d.Session.Release(plan) // as in another process, without leases
		d.Runner = nil
		d.Messages()
		require.NoError(t, d.Wait(t.Context()))
		d.Messages()
		close(release)
		require.Error(t, <-done)
		require.Len(t, compactions(d.Session), 1)
		ends := map[string]int{}
		for _, e := range entries(t, d.Session) {
			if end, ok := e.Body.(entry.PlanEnd); ok {
				ends[end.Plan]++
				require.Equal(t, 1, ends[end.Plan])
			}
		}
	})
}

func TestNoRenderWaitsForAnObserverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, overflowing()...)
		told, release := 0, make(chan struct{})
		d.Observers = append(d.Observers, summarize.OnEvent(func(event.Event) { told++; <-release }))
		d.Answers(models.SaySummary("Done."))
		begun := time.Now()
		require.Contains(t, text(d.Messages()), "Done.")
		require.Less(t, time.Since(begun), time.Second)
		time.Sleep(5*time.Second + callback.Grace)
		close(release)
		synctest.Wait()
		require.Equal(t, 1, told)
		require.EqualError(t, d.Close(), "summarize: observer summarize.OnEvent did not return within 5s, and is not called again")
		require.Equal(t, "started done/full hook failed", kinds(*d.Heard), "the others hear all events")
	})
}

func TestNoRenderWaitsForASlowObserverAndCloseWaitsUntilItHasHeardAllEventsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, overflowing()...)
		var slow []event.Event
		d.Observers = append(d.Observers, summarize.OnEvent(func(e event.Event) {
			time.Sleep(3 * time.Second)
			if e.Kind != event.Usage && e.Kind != event.Answered {
				slow = append(slow, e)
			}
		}))
		d.Answers(models.SaySummary("Done."))
		begun := time.Now()
		d.Messages()
		require.Less(t, time.Since(begun), time.Second)
		require.NoError(t, d.Close())
		require.Equal(t, kinds(*d.Heard), kinds(slow))
		require.NotEmpty(t, slow)
	})
}

func TestAHookMayNotHideMessagesThatWereNotSummarised(t *testing.T) {
	for _, id := range []string{"e999", "e14"} {
		d := newFixture(t, chat.UserMessage(task))
		d.Policy.Cut = history.Cut{Rounds: 3}
		d.Say(rounds(1, 7, 650)...)
		d.Hooks.BeforeCompact = func(context.Context, policy.Occasion, policy.Material) (summarize.Intervention, error) {
			return summarize.Intervention{Summary: &entry.Summary{Text: "Mine."}, FirstKept: id}, nil
		}
		require.ErrorContains(t, d.Fails(), "Intervention.FirstKept is", id)
	}
}
