package summarize_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// backgroundFixture returns a fixture with about the given number of tokens of history. It is compacted in the background at
// 80% of the budget.
func backgroundFixture(t testing.TB, tokens int) fixture {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 4, (tokens-40)/4)...)
	d.Policy.Trigger = policy.Trigger{{Ratio: 0.8, Background: true}, {On: policy.OnBudgetExceeded}}
	d.Policy.Background = policy.Background{Wait: 0.95, Apply: 0.65}
	d.Policy.Ask.Prompts = nil // full and simple mode
	return d
}

func TestWaitReturnsOnceTheSummaryIsReadyOrItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := backgroundFixture(t, 3400)
		require.NoError(t, d.Wait(t.Context()), "there is nothing to wait for")
		d.Answers(slowly(time.Minute, models.SaySummary("Made meanwhile.")))
		d.Messages()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no time"))
		defer cancel()
		require.ErrorContains(t, d.Wait(ctx), "no time")
		require.Equal(t, policy.PendingRunning, d.PendingNow(), "the summary is still being made")
		require.NoError(t, d.Wait(t.Context()))
		require.Equal(t, policy.PendingReady, d.PendingNow())
		require.Contains(t, d.Messages()[1].Text(), "Made meanwhile.")
	})
}

func TestCloseEndsBackgroundWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := backgroundFixture(t, 3400)
		ended := make(chan error, 1)
		d.Answers(func(ctx context.Context, _ chat.Request) (chat.Response, error) {
			<-ctx.Done()
			time.Sleep(time.Minute) // slow to stop
			ended <- context.Cause(ctx)
			return chat.Response{}, ctx.Err()
		})
		d.Messages()
		synctest.Wait()
		start := time.Now()
		require.NoError(t, d.Close())
		require.Equal(t, callback.Grace, time.Since(start), "it does not wait for a model that does not stop")
		require.Error(t, <-ended)
		require.Equal(t, policy.PendingNone, d.PendingNow())
		require.Empty(t, compactions(d.Session))
		require.Equal(t, "started cancelled", kinds(*d.Heard))
		require.NoError(t, d.Close())
		_, err := d.Render(t.Context(), prompt(d.Session))
		require.ErrorIs(t, err, summarize.ErrCompactorClosed)
		require.NoError(t, d.Session.Append(t.Context(), chat.UserMessage("The session is open.")))
	})
}

func TestCloseKeepsASummaryThatIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := backgroundFixture(t, 3400)
		request := func(policy.Material) elements.Node { return el.User(el.Text("Say it in short.")) }
		d.Policy.Ask.Prompts = []policy.Prompt{{Mode: policy.ModeFull, Request: request, Title: request}}
		after := 0
		d.Hooks.AfterCompact = func(context.Context, entry.Entry) error { after++; return nil }
		d.Answers(slowly(time.Minute, models.SaySummary("Made meanwhile.")))
		d.Messages()
		require.NoError(t, d.Wait(t.Context()))
		require.NoError(t, d.Close())
		require.Equal(t, "started ready/full done/full", kinds(*d.Heard))
		require.Equal(t, []int{1, 1, 1}, []int{len(compactions(d.Session)), len(d.Script.Requests()), after}, "and no title is asked for")
		view, err := d.Session.View(t.Context())
		require.NoError(t, err)
		require.Contains(t, view.Messages()[0].Text(), "Made meanwhile.")
	})
}

func TestAStoreThatHangsHoldsUpCloseForHalfAMinuteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Memory: &storage.Memory{}, until: make(chan struct{})}
		s, err := history.New(t.Context(), store, history.Options{})
		require.NoError(t, err)
		d := fixtureOf(t, s)
		d.Policy = backgroundFixture(t, 0).Policy
		d.Say(append([]chat.Message{chat.UserMessage(task)}, rounds(1, 4, 850)...)...)
		d.Answers(models.SaySummary("Made meanwhile."))
		d.Messages()
		require.NoError(t, d.Wait(t.Context()))
		require.Equal(t, policy.PendingReady, d.PendingNow())
		store.hangs.Store(true)
		begun := time.Now()
		require.NoError(t, d.Close())
		require.LessOrEqual(t, time.Since(begun), 30*time.Second)
		close(store.until)
	})
}

func TestBackgroundWorkOutlivesTheContextOfItsRender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := backgroundFixture(t, 3400)
		d.Answers(slowly(time.Minute, models.SaySummary("All the same.")))
		ctx, cancel := context.WithCancel(t.Context())
		_, err := d.Render(ctx, prompt(d.Session))
		require.NoError(t, err)
		cancel()
		time.Sleep(2 * time.Minute)
		require.Contains(t, d.Messages()[1].Text(), "All the same.")
	})
}

func TestRenderThatWaitsForBackgroundWorkIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := backgroundFixture(t, 3400)
		d.Answers(slowly(2*time.Minute, models.SaySummary("At last.")))
		d.Messages()
		d.Say(round(5, 900)...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := d.Render(ctx, prompt(d.Session))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, policy.PendingRunning, d.PendingNow(), "the summary is still being made")
		require.NoError(t, d.Wait(t.Context()))
		require.Contains(t, d.Messages()[1].Text(), "At last.")
	})
}

func TestAPromptThatCanBeSentWaitsOnceForASummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := backgroundFixture(t, 3400)
		d.Policy.Overflow.LastResort = policy.ResortTruncate
		d.Answers(slowly(3*time.Minute, models.SaySummary("At last.")))
		d.Messages()
		d.Say(round(5, 900)...)
		for _, waits := range []time.Duration{time.Minute, 0, 0} {
			start := time.Now()
			d.Messages()
			require.Equal(t, waits, time.Since(start))
		}
		require.NoError(t, d.Wait(t.Context()))
		require.Contains(t, d.Messages()[1].Text(), "At last.")
		require.Equal(t, "started waiting truncated truncated truncated ready/full done/full", kinds(*d.Heard))
	})
}

// Else more might be said in each step than is summarised, and a session that fell behind once would never catch up.
func TestAPromptWaitsAgainForASummaryOfWhichAPartWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 40, 60)...)...)
		d.Policy.Overflow.LastResort = policy.ResortTruncate
		d.TakesIn(1500)
		d.Target.Budget = 1000
		answers := numberedSummaries(40)
		for i := range answers {
			answers[i] = slowly(100*time.Second, answers[i])
		}
		d.Answers(answers...)
		shown := ""
		wait := func() time.Duration {
			start := time.Now()
			shown = text(d.Messages())
			return time.Since(start)
		}
		require.Equal(t, time.Minute, wait())
		require.Zero(t, wait(), "nothing was answered yet")
		time.Sleep(41 * time.Second) // the first part is answered
		for _, placed := range []string{"Summary 1.", "Summary 2.", "Summary 2."} {
			require.Equal(t, time.Minute, wait())
			require.Contains(t, shown, placed, "it is put in place although the prompt does not fit with it")
		}
		require.Len(t, d.Requests(), 3, "none is made in vain")
	})
}

func TestAWaitForTwoSummariesIsNotOneForTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := backgroundFixture(t, 3400)
		d.Policy.Overflow.LastResort = policy.ResortTruncate
		d.Policy.Trigger = append(d.Policy.Trigger, policy.Condition{On: policy.OnBudgetExceeded})
		d.Answers(slowly(50*time.Second, models.SaySummary("The first.")), slowly(3*time.Minute, models.SaySummary("The second.")))
		d.Messages()
		d.Say(rounds(5, 9, 900)...) // more than the first summary makes room for
		for _, waits := range []time.Duration{time.Minute, time.Minute, 0} {
			start := time.Now()
			d.Messages()
			require.Equal(t, waits, time.Since(start), "%s", kinds(*d.Heard))
		}
	})
}

// requireEnds fails the test unless each plan in the log has an end, whatever branch it is on.
func requireEnds(t *testing.T, s *history.Session) {
	t.Helper()
	var plans, ended []string
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		switch b := e.Body.(type) {
		case entry.Plan:
			plans = append(plans, e.ID)
		case entry.PlanEnd:
			ended = append(ended, b.Plan)
		case entry.Compaction:
			ended = append(ended, b.Plan)
		}
	}
	require.NotEmpty(t, plans)
	require.ElementsMatch(t, plans, ended)
}

func TestUndoWhileASummaryIsWaitedForDropsIt(t *testing.T) {
	for _, c := range []struct {
		name, to string
		late     []chat.Message
		fits     bool
	}{
		{"to an entry from which the prompt fits", "e3", []chat.Message{chat.UserMessage("Rather this.")}, true},
		{"to an entry from which the prompt does not fit", "e3", append([]chat.Message{chat.UserMessage("Rather this.")}, rounds(20, 26, roundTokens)...), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t, overflowing()...)
			d.Target.ContextWindow = 2 * budget
			d.Answers(func(ctx context.Context, r chat.Request) (chat.Response, error) {
				if err := errors.Join(d.Session.Branch(ctx, c.to), d.Session.Append(ctx, c.late...)); err != nil {
					return chat.Response{}, err
				}
				return models.SaySummary("Of what was undone.")(ctx, r)
			})
			if c.fits {
				equal(t, append(overflowing()[:3], c.late...), d.Messages()[1:])
			} else {
				require.ErrorAs(t, d.Fails(), new(*entry.BoundaryError))
			}
			require.Len(t, d.Requests(), 1, "another answer would be dropped too")
			require.Equal(t, "started dropped/full", kinds(*d.Heard))
			require.Empty(t, compactions(d.Session))
			equal(t, append(overflowing(), c.late...), said(d.Session))
			requireEnds(t, d.Session)

			d.Answers(models.SaySummary("Of what is there."))
			got := d.Messages() // the next render compacts as usual
			equal(t, !c.fits, strings.Contains(text(got), "Of what is there."))
		})
	}
}
