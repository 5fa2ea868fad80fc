package summarize_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/policy"
)

// measured returns a measurement of a context window of 100,000 tokens, in which a compaction would cover half of them.
func measured(used int, change ...func(*policy.Measurement)) policy.Measurement {
	m := policy.Measurement{
		Occasion: policy.OnRender, Time: time.Unix(1_000_000, 0), Ratio: 1, Count: used, Used: used, Base: 100_000, Budget: 100_000,
		Fits: true, Messages: 100, ToolRounds: true, Covered: 50_000, Room: 10_000,
	}
	for _, f := range change {
		f(&m)
	}
	return m
}

func TestAPolicyDecidesByTheMeasurementAlone(t *testing.T) {
	type change = func(*policy.Measurement)
	over := change(func(m *policy.Measurement) { m.Fits, m.Occasion = false, policy.OnBudgetExceeded })
	pending := func(p policy.Pending) change { return func(m *policy.Measurement) { m.Pending = p } }
	waited := change(func(m *policy.Measurement) { m.Waited = true })
	tried := change(func(m *policy.Measurement) { m.Tried = true })
	paused := change(func(m *policy.Measurement) { m.Pause = policy.Pause{Failures: 1, Steps: 1, Err: "down"} })
	sendable := change(func(m *policy.Measurement) { m.Sendable = true })
	failed := change(func(m *policy.Measurement) { m.TurnFailed = true })
	answered := change(func(m *policy.Measurement) { m.Part = 5000 })
	clearable := change(func(m *policy.Measurement) { m.Clearable = 5000 })
	useless := change(func(m *policy.Measurement) { m.Covered = 9_000 })
	background := policy.Policy{
		Trigger:    policy.Trigger{{Ratio: 0.8, Background: true}, {On: policy.OnBudgetExceeded}},
		Background: policy.Background{Wait: 0.95, Apply: 0.65},
	}
	oncePerTurn := background
	oncePerTurn.Background.OncePerTurn = true
	unwaited := background
	unwaited.Background.Wait = 0
	lowered := background
	lowered.Trigger = policy.Trigger{{Ratio: 0.5, Background: true}}
	foreground := policy.Policy{Trigger: policy.Trigger{{Ratio: 0.8}}}
	clearing := foreground
	clearing.Clear.Rule = a3s.Policy().Clear.Rule
	always := clearing
	always.Clear.Always = true
	off := foreground
	off.Off = true
	for _, c := range []struct {
		name        string
		policy      policy.Policy
		measurement policy.Measurement
		want        policy.Action
		why         string
	}{
		{"nothing happens below the limit", foreground, measured(79_999), policy.ActNothing, "no condition holds"},
		{"the prompt is compacted at the limit", foreground, measured(80_000), policy.ActCompact, "condition 1 holds"},
		{"a reserve grows with the window", policy.Policy{Trigger: policy.Trigger{{Reserve: 10_000, ReserveShare: 0.15}}}, measured(85_000), policy.ActCompact, "condition 1 holds"},
		{"a reserve is not below its share of the window", policy.Policy{Trigger: policy.Trigger{{Reserve: 10_000, ReserveShare: 0.15}}}, measured(84_999), policy.ActNothing, "no condition holds"},
		{"a reserve is not below its tokens", policy.Policy{Trigger: policy.Trigger{{Reserve: 20_000, ReserveShare: 0.15}}}, measured(80_000), policy.ActCompact, "condition 1 holds"},
		{"nothing is compacted if that would save nothing", foreground, measured(90_000, useless), policy.ActNothing, "no condition holds"},
		{"nothing is compacted over the budget either if that would save nothing", foreground, measured(110_000, over, useless), policy.ActNothing, "no condition holds"},
		{"a policy that is off does nothing", off, measured(110_000, over), policy.ActNothing, "the policy is off"},
		{"a background condition starts a summary", background, measured(80_000), policy.ActStart, "condition 1 holds"},
		{"a background condition compacts at once if the prompt does not fit", background, measured(110_000, over), policy.ActCompact, "condition 1 holds"},
		{"no second summary is started", background, measured(90_000, pending(policy.PendingRunning)), policy.ActNothing, "a summary is running"},
		{"no summary is started beside one elsewhere", background, measured(90_000, pending(policy.PendingElsewhere)), policy.ActNothing, "a summary is running elsewhere"},
		{"a prompt near the limit waits for the summary", background, measured(95_000, pending(policy.PendingRunning)), policy.ActWait, "0.95 of the window is used, at or above 0.95, and a summary is running"},
		{"a prompt too large by the provider's count waits for the summary", unwaited, measured(100_001, pending(policy.PendingRunning)), policy.ActWait, "the prompt does not fit, and a summary is running"},
		{"a prompt too large by the provider's count is compacted at once if no summary is being made", unwaited, measured(100_001), policy.ActCompact, "condition 1 holds"},
		{"a prompt near the limit waits once", background, measured(95_000, pending(policy.PendingRunning), waited), policy.ActNothing, "a summary is running"},
		{"a prompt that does not fit waits for the summary", foreground, measured(110_000, over, pending(policy.PendingElsewhere)), policy.ActWait, "the prompt does not fit, and a summary is running elsewhere"},
		{"a prompt that waited in vain leaves the summary to be made", foreground, measured(110_000, over, pending(policy.PendingRunning), waited), policy.ActNothing, "a summary is running"},
		{"a prompt that waited in vain for a summary elsewhere is compacted here", foreground, measured(110_000, over, pending(policy.PendingElsewhere), waited), policy.ActCompact, "condition 1 holds"},
		{"a summary that is ready is put in place", background, measured(80_000, pending(policy.PendingReady)), policy.ActPlace, "a summary is ready"},
		{"a summary that is ready is put in place though the prompt does not fit", background, measured(110_000, over, pending(policy.PendingReady)), policy.ActPlace, "a summary is ready"},
		{"a summary that is ready is discarded if it is not needed any more", background, measured(64_999, pending(policy.PendingReady)), policy.ActDiscard, "64999 tokens are used, fewer than the 65000 at which the summary is put in place"},
		{"a lower ratio also lowers the tokens from which a summary is put in place", lowered, measured(50_000, pending(policy.PendingReady)), policy.ActPlace, "a summary is ready"},
		{"a summary is discarded below the ratio that starts one", lowered, measured(49_999, pending(policy.PendingReady)), policy.ActDiscard, "49999 tokens are used, fewer than the 50000 at which the summary is put in place"},
		{"nothing happens in the pause after a failure", foreground, measured(90_000, paused), policy.ActNothing, "paused for 1 more step after 1 failures, the last: down"},
		{"a prompt that nothing makes fit is not compacted in a pause", foreground, measured(110_000, over, paused), policy.ActNothing, "paused for 1 more step after 1 failures, the last: down"},
		{"a part that was answered is put in place before history is let go", foreground, measured(110_000, over, sendable, paused, answered), policy.ActPart, "5000 tokens of history are summarised: paused for 1 more step after 1 failures, the last: down"},
		{"a part that was answered is put in place while the rest is being made", foreground, measured(110_000, over, sendable, answered, waited, pending(policy.PendingRunning)), policy.ActPart, "5000 tokens of history are summarised: a summary is running"},
		{"a part that was answered is put in place before the rest is asked for", foreground, measured(110_000, over, answered), policy.ActPart, "5000 tokens of history are summarised: condition 1 holds"},
		{"a prompt that the last resort makes fit is not compacted in a pause", foreground, measured(110_000, over, sendable, paused), policy.ActNothing, "paused for 1 more step after 1 failures, the last: down"},
		{"once in a turn a prompt that does not fit is compacted at once", oncePerTurn, measured(110_000, over, sendable), policy.ActCompact, "condition 1 holds"},
		{"after a failure in the turn a summary is started instead", oncePerTurn, measured(110_000, over, sendable, failed), policy.ActStart, "condition 1 holds"},
		{"after a failure in the turn a prompt that can be sent does not wait", oncePerTurn, measured(110_000, over, sendable, failed, pending(policy.PendingRunning)), policy.ActNothing, "a summary is running"},
		{"after a failure in the turn a prompt that cannot be sent is compacted at once", oncePerTurn, measured(110_000, over, failed), policy.ActCompact, "condition 1 holds"},
		{"a prompt that does not fit is compacted once a render", foreground, measured(110_000, over, paused, tried), policy.ActNothing, "an attempt to compact failed"},
		{"output is cleared first", clearing, measured(80_000, clearable), policy.ActClear, "clearing old tool output saves 5000 tokens"},
		{"output is cleared before a background condition starts", func() policy.Policy { p := background; p.Clear = clearing.Clear; return p }(), measured(80_000, clearable), policy.ActClear, "clearing old tool output saves 5000 tokens"},
		{"nothing is cleared below the limit", clearing, measured(79_999, clearable), policy.ActNothing, "no condition holds"},
		{"output is cleared below the limit if Clear.Always is set", always, measured(10, clearable), policy.ActClear, "clearing old tool output saves 5000 tokens"},
		{"without conditions only a prompt that does not fit is compacted", policy.Policy{}, measured(110_000, over), policy.ActCompact, "condition 1 holds"},
		{"without conditions a prompt that fits is not compacted", policy.Policy{}, measured(99_999), policy.ActNothing, "no condition holds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.policy.Decide(c.measurement)
			require.Equal(t, c.want, d.Do, "%s", d.Why)
			require.Equal(t, c.why, d.Why)
			require.Equal(t, d, c.policy.Decide(c.measurement))
		})
	}
}

func TestALimitIsReachedAtItsExactValue(t *testing.T) {
	cold := func(m *policy.Measurement) { m.ToolRounds = false }
	jittered := func(by float64) func(*policy.Measurement) {
		return func(m *policy.Measurement) { m.Jitter = by }
	}
	for _, c := range []struct {
		name        string
		condition   policy.Condition
		measurement policy.Measurement
		holds       bool
		at          int
	}{
		{"a ratio", policy.Condition{Ratio: 0.8}, measured(80_000), true, 80_000},
		{"a ratio that must be exceeded", policy.Condition{Ratio: 0.8, Above: true}, measured(80_000), false, 80_000},
		{"a ratio that is exceeded by a token", policy.Condition{Ratio: 0.8, Above: true}, measured(80_001), true, 80_000},
		{"a reserve", policy.Condition{Reserve: 16_384}, measured(83_616), true, 83_616},
		{"a reserve of at most half the window", policy.Condition{Reserve: 90_000}, measured(50_000), true, 50_000},
		{"a cap", policy.Condition{Cap: 60_000}, measured(60_000), true, 60_000},
		{"the smallest of several limits counts", policy.Condition{Ratio: 0.8, Cap: 60_000}, measured(60_000), true, 60_000},
		{"a cold cache adds to the ratio", policy.Condition{Ratio: 0.8, Cold: 0.1}, measured(89_999, cold), false, 90_000},
		{"a ratio with a cold cache is reached", policy.Condition{Ratio: 0.8, Cold: 0.1}, measured(90_000, cold), true, 90_000},
		{"a cold cache adds to any ratio", policy.Condition{Ratio: 0.5, Cold: 0.1}, measured(60_000, cold), true, 60_000},
		{"a jitter lowers the ratio", policy.Condition{Ratio: 0.8, Jitter: 0.02}, measured(78_000, jittered(-1)), true, 78_000},
		{"a jitter raises the ratio", policy.Condition{Ratio: 0.8, Jitter: 0.02}, measured(81_999, jittered(1)), false, 82_000},
		{"too few messages", policy.Condition{Ratio: 0.8, Messages: 101}, measured(99_000), false, 0},
		{"another occasion", policy.Condition{On: policy.OnDemand}, measured(99_000), false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := policy.Policy{Trigger: policy.Trigger{c.condition}}.Decide(c.measurement).Findings[0]
			require.Equal(t, c.holds, f.Holds, f.Why)
			require.Equal(t, c.at, f.At)
		})
	}
}

func TestAnExplanationNeverClaimsWhatDidNotHappen(t *testing.T) {
	require.Equal(t, "nothing was decided yet\n", policy.Explanation{}.String())
	d := policy.Policy{Trigger: policy.Trigger{{Ratio: 0.8}}}.Decide(measured(80_000))
	for outcome, want := range map[string]string{
		"placed":  "placed: condition 1 holds\n",
		"failed":  "failed: condition 1 holds: the model is down\n",
		"vetoed":  "vetoed: condition 1 holds\n",
		"started": "started: condition 1 holds\n",
		"":        "nothing: condition 1 holds\n",
	} {
		e := policy.Explanation{Decision: d, Outcome: outcome}
		if outcome == "failed" {
			e.Err = "the model is down"
		}
		require.Equal(t, "render: 80000 of 100000 tokens (80.0%): 1 × (80000 of the prompt + 0 of tools), 100 messages\n"+
			"  1. yes 80000 is at or above 80000 (0.8 of the window)\n"+want, e.String())
	}
}

func TestAnExplanationSaysThatTheCacheIsColdOnlyIfTheProvidersIs(t *testing.T) {
	for _, cold := range []bool{false, true} {
		for _, rounds := range []bool{false, true} {
			m := policy.Measurement{Occasion: policy.OnRender, Used: 10, Base: 100, Ratio: 1, Count: 10, Cold: cold, ToolRounds: rounds}
			e := policy.Explanation{Decision: policy.Policy{}.Decide(m)}
			require.Equal(t, cold, strings.Contains(e.String(), "cold"), e.String())
		}
	}
}
