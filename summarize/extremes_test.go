package summarize_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// requireSound checks that the prompt fits and is valid, or that the error says why it does not fit.
func requireSound(t *testing.T, d fixture, label string, number any) {
	t.Helper()
	d.Always(models.SaySummary(words(60)))
	r, err := d.Render(t.Context(), prompt(d.Session))
	if err != nil {
		_, failed := errors.AsType[*summarize.FailedError](err)
		_, over := errors.AsType[*render.BudgetExceededError](err)
		require.True(t, failed || over, "%s %v: %v", label, number, err)
		return
	}
	require.LessOrEqual(t, r.Tokens, d.Target.Budget, "%s %v", label, number)
	require.NoError(t, chat.Validate(r.Messages), "%s %v", label, number)
}

// everyNumber returns a policy with a number in every field.
func everyNumber() policy.Policy {
	p := policies.All()["copilot-chat"]
	p.Counting.Threshold = 0.9
	p.Trigger = policy.Trigger{
		{Ratio: 0.8, Cold: 0.1, Jitter: 0.02, Reserve: 500, Cap: 3000, Messages: 2}, {On: policy.OnBudgetExceeded, Messages: 1},
	}
	p.Background.Wait, p.Background.Timeout = 0.95, time.Second
	p.Clear.Rule.Keep, p.Clear.Rule.Saves = 2000, 100
	p.Cut = history.Cut{Tokens: 1000, Share: 0.3, Messages: 2, Rounds: 1, First: 1, Limits: history.RoundLimits{Results: 0.5, Arguments: 0.2, Head: 0.4}}
	p.Ask.Timeout, p.Ask.Attempts, p.Ask.RetryWait = time.Second, 2, time.Second
	p.Ask.MinChars, p.Ask.MaxTokens, p.Ask.SimpleResult = 5, 1000, 50
	p.Replace.Share, p.Replace.Max = 0.2, 1000
	p.Overflow = policy.Overflow{LastResort: policy.ResortTruncate}
	p.Branch.Reserve = 100
	return p
}

func TestAPolicyOfAnyNumbersCompactsOrIsRefusedByTheNameOfTheField(t *testing.T) {
	t.Parallel()
	require.NoError(t, everyNumber().Validate())
	extremes.Each(everyNumber(), func(field string, number any, p policy.Policy) {
		err := p.Validate()
		if err != nil {
			names := strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' })
			require.ErrorContains(t, err, names[0], "%s %v", field, number)
			if !strings.HasPrefix(err.Error(), "summarize: Policy.Cut keeps as much as") { // an error about two fields
				require.ErrorContains(t, err, names[len(names)-1], "%s %v", field, number)
			}
			return
		}
		d := newFixture(t, overflowing()...)
		d.Policy = p
		requireSound(t, d, field, number)
	})
}

func TestATargetOfAnyNumbersIsUsedOrRefusedByTheNameOfTheField(t *testing.T) {
	t.Parallel()
	for name, p := range policies.All() {
		for _, share := range []float64{0, 1} {
			p.Counting.Threshold, p.Replace.Share = share, share
			extremes.Each(policy.Target{Budget: budget, ContextWindow: 2 * budget}, func(field string, number any, target policy.Target) {
				if !strings.HasPrefix(field, "Prices.") {
					requireUsedOrRefused(t, p, target, name+": "+field, number)
				}
			})
			for _, large := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt32 + 1} {
				d := requireUsedOrRefused(t, p, policy.Target{Budget: large, ContextWindow: large}, name, large)
				require.Empty(t, *d.Heard, "%s %d: nothing is compacted", name, large)
			}
		}
	}
	prices, err := modelinfo.Prices("claude-opus-4-5")
	require.NoError(t, err)
	extremes.Each(prices, func(field string, number any, prices sizing.Prices) {
		requireUsedOrRefused(t, policies.All()["frugal"], policy.Target{Budget: budget, Prices: prices}, field, number)
	})
}

// requireUsedOrRefused renders a prompt for a target of which one number is an extreme.
func requireUsedOrRefused(t *testing.T, p policy.Policy, target policy.Target, field string, number any) fixture {
	t.Helper()
	d := newFixture(t, overflowing()...)
	d.Note(entry.Usage{Usage: chat.Usage{Input: 100, CacheRead: 50, CacheWrite: 5}, Counted: 90})
	d.Policy = p
	d.Target.Budget, d.Target.ContextWindow, d.Target.Prices = target.Budget, target.ContextWindow, target.Prices
	if target.Budget > 0 && target.ContextWindow >= 0 && target.Prices.Validate() == nil {
		requireSound(t, d, field, number)
		return d
	}
	_, err := d.Render(t.Context(), prompt(d.Session))
	require.ErrorContains(t, err, field[strings.LastIndexAny(field, ". ")+1:], "%s %v", field, number)
	return d
}

func TestUsageOfAnyNumbersIsMeasured(t *testing.T) {
	t.Parallel()
	usage := entry.Usage{Usage: chat.Usage{Input: 100, Output: 10, CacheRead: 5, CacheWrite: 5, CacheWriteLong: 2}, Counted: 90, Cost: 0.1}
	extremes.Each(usage, func(field string, number any, u entry.Usage) {
		if math.IsNaN(u.Cost) || math.IsInf(u.Cost, 0) {
			return // JSON has no such numbers
		}
		d := newFixture(t, overflowing()...)
		d.Policy = policies.All()["a3s"]
		d.Note(u)
		requireSound(t, d, field, number)
	})
	extremes.Each(chat.Usage{Input: 1, Output: 1, CacheRead: 1, CacheWrite: 1, CacheWriteLong: 1}, func(field string, number any, u chat.Usage) {
		d := newFixture(t, overflowing()...)
		d.Always(func(context.Context, chat.Request) (chat.Response, error) {
			return chat.Response{Message: chat.AssistantMessage("<summary>" + words(60) + "</summary>"), Usage: u}, nil
		})
		d.Rendered(prompt(d.Session))
		for _, e := range *d.Heard {
			if e.Kind == event.Done {
				require.Contains(t, []chat.Usage{u, {}}, e.Usage, "%s %v: as it was reported, or not at all", field, number)
			}
		}
	})
}

func TestADecisionByAnyNumbersIsTheSameEachTime(t *testing.T) {
	m := policy.Measurement{
		Occasion: policy.OnRender, Count: 3000, Tools: 10, Ratio: 1, Used: 3010, Base: 4000, Budget: 3900, Fits: true, Messages: 10, Jitter: 0.5,
		Covered: 2000, Room: 500, Clearable: 5, Pause: policy.Pause{Failures: 1, Steps: 1}, Carried: 1,
	}
	for name, p := range policies.All() {
		extremes.Each(m, func(field string, number any, m policy.Measurement) {
			for _, pending := range []policy.Pending{policy.PendingNone, policy.PendingRunning, policy.PendingReady} {
				m.Pending = pending
				d := p.Decide(m)
				require.Equal(t, d.Do, p.Decide(m).Do, "%s: %s %v", name, field, number)
				require.GreaterOrEqual(t, d.Limit(), 0, "%s: %s %v", name, field, number)
				require.NotEmpty(t, policy.Explanation{Decision: d}.String())
			}
		})
	}
}
