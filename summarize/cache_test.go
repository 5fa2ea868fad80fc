package summarize_test

import (
	"context"
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
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

var cached = sizing.Prices{
	Rates: sizing.Rates{Input: 5, CacheRead: 0.5, CacheWrite: 6.25, Output: 25}, Lifetime: 5 * time.Minute, LeastCached: 100,
}

// pricedFixture returns a fixture with a model whose prices are known, and two tools.
func pricedFixture(t *testing.T) fixture {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 2, 200)...)...)
	d.Target.Prices, d.Target.Name = cached, "m"
	d.Target.Tools = []chat.Tool{{Name: "read", Description: words(20)}, {Name: "write", Description: words(20)}}
	return d
}

// send renders a prompt and appends the next round, with the usage that a provider reports whose count is 1.5 times
// ours.
func send(d fixture, prompt elements.Node) {
	d.T.Helper()
	r, err := d.Render(d.T.Context(), prompt)
	require.NoError(d.T, err)
	said := round(len(entries(d.T, d.Session)), 200)
	d.Say(said[0])
	used := d.Explain(d.T.Context()).Measurement.Foretold
	used.Input = (r.Tokens + quarter{}.CountTools(d.Target.Tools)) * 3 / 2
	used.CacheWrite, used.Output = used.Input-used.CacheRead, 40
	_, err = d.Session.Add(d.T.Context(), entry.Entry{Body: d.Usage(r, chat.Response{Usage: used}, "")})
	require.NoError(d.T, err)
	d.Say(said[1])
}

// foretold returns the measurement of the prompt, which another compactor of the session must agree with.
func foretold(d fixture, prompt elements.Node) policy.Measurement {
	d.T.Helper()
	var m [2]policy.Measurement
	for i := range m {
		other := fixtureOf(d.T, d.Session)
		other.Target, other.Policy = d.Target, d.Policy
		if i == 0 {
			other = d
		}
		_, err := other.Render(d.T.Context(), prompt)
		require.NoError(d.T, err)
		m[i] = other.Explain(d.T.Context()).Measurement
	}
	require.Equal(d.T, m[0], m[1])
	return m[0]
}

func TestTheCachedTokensOfAPromptArePredicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := pricedFixture(t)
		first := foretold(d, prompt(d.Session))
		require.False(t, first.Cold, "no usage was reported for the answers in the session, and the newest answer is recent")
		require.Zero(t, first.Foretold.CacheRead)
		require.Equal(t, first.Foretold.Input, first.Foretold.CacheWrite)

		send(d, prompt(d.Session))
		used, _ := d.Latest(entry.TypeUsage)
		sent := used.Body.(entry.Usage)
		require.InDelta(t, cached.Of(sent.Usage).Total(), sent.Cost, 1e-12)
		time.Sleep(5 * time.Minute)
		warm := foretold(d, prompt(d.Session))
		require.False(t, warm.Cold)
		require.Equal(t, sent.CacheRead+sent.CacheWrite, warm.Foretold.CacheRead, "the tokens that the request before read and wrote")
		require.InDelta(t, float64(warm.Count+warm.Tools)*1.5, float64(warm.Foretold.Input), 2)
		require.Contains(t, d.Explain(t.Context()).String(), "of them cached")

		time.Sleep(time.Nanosecond)
		cold := foretold(d, prompt(d.Session))
		require.True(t, cold.Cold)
		require.Zero(t, cold.Foretold.CacheRead)
		require.Empty(t, *d.Heard, "no prompt broke the cache: it expired")
	})
}

func TestAMeasurementUsesTheSessionsClock(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s, err := history.New(t.Context(), &storage.Memory{}, history.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	d := fixtureOf(t, s, chat.UserMessage(task))
	d.Say(rounds(1, 2, 200)...)
	d.Target.Prices = cached
	send(d, prompt(s))
	require.False(t, foretold(d, prompt(s)).Cold)
	now = now.Add(6 * time.Minute)
	m := foretold(d, prompt(s))
	require.True(t, m.Cold)
	require.Equal(t, now, m.Time)
}

func TestAPromptThatBreaksTheCacheCausesAnEventThatSaysWhatChanged(t *testing.T) {
	clock := func(text string, s *history.Session) elements.Node {
		tree := prompt(s)
		tree[0] = elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent. " + text)}}
		return tree
	}
	for _, tt := range []struct {
		rule   string
		change func(d fixture) elements.Node
		want   sizing.RequestChange // ChangeNone: there is no event
		why    string
	}{
		{"more history breaks nothing", func(d fixture) elements.Node { return prompt(d.Session) }, sizing.ChangeNone, ""},
		{"a clock in the system prompt", func(d fixture) elements.Node { return clock("It is 12:01.", d.Session) }, sizing.ChangeSystem, "such as a clock"},
		{"tools in another order", func(d fixture) elements.Node {
			d.Target.Tools[0], d.Target.Tools[1] = d.Target.Tools[1], d.Target.Tools[0]
			return prompt(d.Session)
		}, sizing.ChangeToolOrder, "list them in a fixed order"},
		{"another tool", func(d fixture) elements.Node {
			d.Target.Tools[0].Description += " It reads."
			return prompt(d.Session)
		}, sizing.ChangeTools, "keep them for the whole session"},
		{"context in front of the history", func(d fixture) elements.Node {
			tree := prompt(d.Session)
			return append(elements.Nodes{tree[0], elements.UserMessage{Children: elements.Nodes{elements.Text("retrieved")}}}, tree[1:]...)
		}, sizing.ChangeMessages, "context in front of the history"},
		{"the last message may change from step to step", func(d fixture) elements.Node {
			ending := func(text string) elements.Node {
				return append(prompt(d.Session), elements.UserMessage{Children: elements.Nodes{elements.Text(strings.Repeat(text, 2000))}})
			}
			send(d, ending("now "))
			return ending("then ")
		}, sizing.ChangeNone, ""},
		{"a clearing causes no event, since the compactor made it", func(d fixture) elements.Node {
			d.Policy.Clear = a3s.Policy().Clear
			d.Policy.Clear.Rule.Keep, d.Policy.Clear.Always = 1, true
			d.T.Cleanup(func() { require.Contains(d.T, kinds(*d.Heard), "cleared") })
			return prompt(d.Session)
		}, sizing.ChangeNone, ""},
		{"a compaction causes no event either", func(d fixture) elements.Node {
			d.Answers(models.SaySummary("What was done."))
			_, err := d.Compact(d.T.Context(), "")
			require.NoError(d.T, err)
			*d.Heard = nil
			return prompt(d.Session)
		}, sizing.ChangeNone, ""},
		{"another model has a cache of its own", func(d fixture) elements.Node {
			d.Target.Name = "other"
			return clock("It is 12:01.", d.Session)
		}, sizing.ChangeNone, ""},
		{"a cache that expired cannot be broken", func(d fixture) elements.Node {
			time.Sleep(time.Hour)
			return clock("It is 12:01.", d.Session)
		}, sizing.ChangeNone, ""},
		{"without prices nothing is predicted", func(d fixture) elements.Node {
			d.Target.Prices = sizing.Prices{}
			return clock("It is 12:01.", d.Session)
		}, sizing.ChangeNone, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := pricedFixture(t)
				for range 4 {
					send(d, prompt(d.Session))
				}
				require.Empty(t, *d.Heard)
				d.Rendered(tt.change(d))
				var told []event.Event
				for _, e := range *d.Heard {
					if e.Kind == event.CacheBroken {
						told = append(told, e)
					}
				}
				if tt.want == sizing.ChangeNone {
					require.Empty(t, told)
					return
				}
				require.Len(t, told, 1)
				got := told[0].Break
				require.Equal(t, tt.want, got.Change)
				require.Contains(t, told[0].Why, tt.why)
				require.Greater(t, got.Tokens, 1000)
				require.InDelta(t, float64(got.Tokens)*5.75e-6, got.Dollars, 1e-9)
			})
		})
	}
}

// carryFixture returns a fixture whose policy compacts by the carry rule alone.
func carryFixture(t *testing.T) fixture {
	d := pricedFixture(t)
	d.Target.Budget, d.Target.ContextWindow = 100_000, 110_000
	d.Policy.Trigger = policy.Trigger{{CostFactor: 1}}
	d.Policy.Cut, d.Policy.Replace.Max, d.Policy.Replace.Share = history.Cut{Tokens: 500}, 300, 0.2
	d.Always(models.SaySummary("What was done."))
	return d
}

func TestTheCarryRuleCompactsOnceCarryingHasCostWhatCompactingCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := carryFixture(t)
		send(d, prompt(d.Session)) // a first request is cold
		var before policy.Measurement
		for n := range 200 {
			d.Policy.Off = true
			m := foretold(d, prompt(d.Session))
			d.Policy.Off = false
			require.False(t, m.Cold)
			if m.Carried >= m.Compacting && m.Carried > 0 {
				require.Greater(t, n, 3)
				require.Less(t, before.Carried, before.Compacting)
				break
			}
			require.GreaterOrEqual(t, m.Carried, before.Carried)
			send(d, prompt(d.Session))
			require.Empty(t, compactions(d.Session), "carried $%.4f of $%.4f", m.Carried, m.Compacting)
			before = m
		}
		d.Rendered(prompt(d.Session))
		require.Len(t, compactions(d.Session), 1)
		require.Contains(t, d.Explain(t.Context()).String(), "carrying has cost $")
		d.Rendered(prompt(d.Session))
		require.Len(t, compactions(d.Session), 1, "the carrying cost starts from 0 again")
	})
}

func TestTheCarryRuleCompactsEarlierIfTheCacheIsCold(t *testing.T) {
	for _, loss := range []float64{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			d := carryFixture(t)
			d.Policy.Trigger[0].Loss = loss
			d.Say(rounds(3, 40, 200)...)
			d.Policy.Off = true
			send(d, prompt(d.Session))
			d.Policy.Off = false
			d.Rendered(prompt(d.Session))
			require.Empty(t, compactions(d.Session))
			time.Sleep(6 * time.Minute)
			d.Rendered(prompt(d.Session))
			if loss == 0 {
				require.Len(t, compactions(d.Session), 1)
			} else {
				require.Empty(t, compactions(d.Session), "but not if the summary's loss is higher")
			}
		})
	}
}

func TestAConditionWithCarry(t *testing.T) {
	worth := func(carried, compacting float64) func(*policy.Measurement) {
		return func(m *policy.Measurement) { m.Carried, m.Compacting = carried, compacting }
	}
	over := func(m *policy.Measurement) { m.Fits, m.Occasion = false, policy.OnBudgetExceeded }
	for _, tt := range []struct {
		rule        string
		condition   policy.Condition
		measurement policy.Measurement
		holds       bool
		why         string
	}{
		{"holds at the cost", policy.Condition{CostFactor: 1}, measured(50_000, worth(0.21, 0.21)), true, "carrying has cost $0.2100, at or above 1 × $0.2100, the cost of compacting"},
		{"does not hold below the cost", policy.Condition{CostFactor: 1}, measured(50_000, worth(0.20, 0.21)), false, "carrying has cost $0.2000, below 1 × $0.2100, the cost of compacting"},
		{"holds at half the cost if CostFactor is 0.5", policy.Condition{CostFactor: 0.5}, measured(50_000, worth(0.11, 0.21)), true, "at or above 0.5 × $0.2100"},
		{"adds Loss to the cost", policy.Condition{CostFactor: 1, Loss: 0.3}, measured(50_000, worth(0.21, 0.21)), false, "below 1 × $0.5100"},
		{"does not hold without prices", policy.Condition{CostFactor: 1}, measured(50_000), false, "carrying the history has cost nothing that is known"},
		{"needs its other limit too", policy.Condition{CostFactor: 1, Ratio: 0.6}, measured(50_000, worth(1, 0.2)), false, "50000 is not at or above 60000"},
		{"holds anyway if the prompt does not fit", policy.Condition{CostFactor: 1}, measured(110_000, over), true, "whatever is used"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			d := policy.Policy{Trigger: policy.Trigger{tt.condition}}.Decide(tt.measurement)
			require.Equal(t, tt.holds, d.Findings[0].Holds)
			require.Contains(t, d.Findings[0].Why, tt.why)
		})
	}
}

// clearFixture returns a fixture whose policy clears by the carry rule, and compacts nothing.
func clearFixture(t *testing.T) fixture {
	d := carryFixture(t)
	d.Policy.Trigger = nil
	d.Policy.Clear = policy.Clear{CostFactor: 1, Rule: history.ClearRule{Keep: 600, Placeholder: func(history.ClearedOutput) string { return "[gone]" }}}
	return d
}

// cleared returns the number of clearings that d heard of.
func cleared(d fixture) (n int) {
	for _, e := range *d.Heard {
		if e.Kind == event.Cleared {
			n++
		}
	}
	return n
}

func TestOutputIsClearedInBatchesOnceCarryingItHasCostWhatTheCacheBreakCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := clearFixture(t)
		last, gaps := 0, []int(nil)
		for n := range 120 {
			before := cleared(d)
			send(d, prompt(d.Session))
			if cleared(d) > before {
				gaps = append(gaps, n-last)
				last = n
			}
		}
		require.Greater(t, len(gaps), 2)
		require.Greater(t, gaps[len(gaps)-1], 2, "several rounds at a time: %v", gaps)
		d.Policy.Off = true
		m := foretold(d, prompt(d.Session))
		require.Positive(t, m.CarriedOutput)
		require.Less(t, m.CarriedOutput, m.Breaking)
		d.Policy.Off = false
		d.Rendered(prompt(d.Session))
		require.Contains(t, d.Explain(t.Context()).String(), "the cost of clearing")
		n := cleared(d)
		time.Sleep(6 * time.Minute)
		d.Rendered(prompt(d.Session))
		require.Equal(t, n+1, cleared(d), "all the rest is cleared once the cache is cold")
	})
}

func TestACompactionAndAClearingBreakTheCacheOnce(t *testing.T) {
	d := policy.Policy{Trigger: policy.Trigger{{CostFactor: 1}}, Clear: policy.Clear{CostFactor: 1, Rule: history.ClearRule{Keep: 1}}}
	m := policy.Measurement{
		Occasion: policy.OnRender, Fits: true, Base: 100_000, Used: 50_000, Covered: 40_000, Room: 1000,
		Carried: 1, Compacting: 0.5, Clearable: 5000, CarriedOutput: 1, Breaking: 0.5,
	}
	require.Equal(t, policy.ActCompact, d.Decide(m).Do, "the compaction is made first")
	m.Tried = true
	require.Equal(t, policy.ActClear, d.Decide(m).Do)
	m.Tried, m.Carried = false, 0.1
	require.Equal(t, policy.ActClear, d.Decide(m).Do)
	m.CarriedOutput = 0.4
	require.Equal(t, policy.ActNothing, d.Decide(m).Do)
	m.Fits, m.Occasion = false, policy.OnBudgetExceeded
	require.Equal(t, policy.ActClear, d.Decide(m).Do, "output is cleared anyway if the prompt does not fit")
}

func TestTheCheapestModelWritesTheSummary(t *testing.T) {
	rates := func(input, output float64) sizing.Prices {
		return sizing.Prices{Rates: sizing.Rates{Input: input, Output: output}, Lifetime: 5 * time.Minute}
	}
	for _, tt := range []struct {
		rule  string
		other sizing.Prices
		want  string
	}{
		{"a cheaper model", rates(0.5, 2), "other"},
		{"not a dearer model", rates(50, 200), ""},
		{"not a model without prices", sizing.Prices{}, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			d := carryFixture(t)
			asked := ""
			d.Models = map[string]policy.Target{"other": {Prices: tt.other, Model: chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
				asked = "other"
				return models.SaySummary("What was done.")(ctx, req)
			})}}
			d.Policy.Ask.Cheapest = true
			d.Say(rounds(3, 20, 200)...)
			d.Rendered(prompt(d.Session))
			require.Len(t, compactions(d.Session), 1)
			require.Equal(t, tt.want, asked)
		})
	}
}
