package summarize_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
)

// moment returns a measurement of a window of 100,000 tokens, in which a compaction would relieve a lot.
func moment(used int, change ...func(*summarize.Measurement)) summarize.Measurement {
	m := summarize.Measurement{
		Occasion: summarize.OnRender, Time: time.Unix(1_000_000, 0), Ratio: 1, Count: used, Used: used, Base: 100_000, Budget: 100_000,
		Fits: true, Messages: 100, Warm: true, Covered: 50_000, Room: 10_000,
	}
	for _, f := range change {
		f(&m)
	}
	return m
}

func TestAPolicyDecidesByTheMeasurementAlone(t *testing.T) {
	type change = func(*summarize.Measurement)
	over := change(func(m *summarize.Measurement) { m.Fits, m.Occasion = false, summarize.OnBudgetExceeded })
	pending := func(p summarize.Pending) change { return func(m *summarize.Measurement) { m.Pending = p } }
	waited := change(func(m *summarize.Measurement) { m.Waited = true })
	tried := change(func(m *summarize.Measurement) { m.Tried = true })
	paused := change(func(m *summarize.Measurement) { m.Pause = summarize.Pause{Failures: 1, Steps: 1, Err: "down"} })
	clearable := change(func(m *summarize.Measurement) { m.Clearable = 5000 })
	useless := change(func(m *summarize.Measurement) { m.Covered = 9_000 })
	background := summarize.Policy{
		Trigger:    summarize.Trigger{{Ratio: 0.8, Background: true}, {On: summarize.OnBudgetExceeded}},
		Background: summarize.Background{Wait: 0.95, Apply: 0.65},
	}
	unwaited := background
	unwaited.Background.Wait = 0
	lowered := background
	lowered.Trigger = summarize.Trigger{{Ratio: 0.5, Background: true}}
	foreground := summarize.Policy{Trigger: summarize.Trigger{{Ratio: 0.8}}}
	clearing := foreground
	clearing.Clear.Rule = a3s.Policy().Clear.Rule
	always := clearing
	always.Clear.Always = true
	off := foreground
	off.Off = true
	for _, c := range []struct {
		name   string
		policy summarize.Policy
		moment summarize.Measurement
		want   summarize.Action
		why    string
	}{
		{"nothing below the limit", foreground, moment(79_999), summarize.ActNothing, "no condition holds"},
		{"compacts at the limit", foreground, moment(80_000), summarize.ActCompact, "condition 1 holds"},
		{"nothing if nothing would be relieved", foreground, moment(90_000, useless), summarize.ActNothing, "no condition holds"},
		{"nothing even over the budget if nothing would be relieved", foreground, moment(110_000, over, useless), summarize.ActNothing, "no condition holds"},
		{"a policy that is off does nothing", off, moment(110_000, over), summarize.ActNothing, "the policy is off"},
		{"a background condition starts", background, moment(80_000), summarize.ActStart, "condition 1 holds"},
		{"but not while the prompt does not fit", background, moment(110_000, over), summarize.ActCompact, "condition 1 holds"},
		{"nothing is started twice", background, moment(90_000, pending(summarize.PendingRunning)), summarize.ActNothing, "a summary is running"},
		{"nor beside somebody else", background, moment(90_000, pending(summarize.PendingElsewhere)), summarize.ActNothing, "a summary is running elsewhere"},
		{"a prompt near the end waits", background, moment(95_000, pending(summarize.PendingRunning)), summarize.ActWait, "0.95 of the window is used, at or above 0.95, and a summary is running"},
		{"so does one that is too large by the provider's count", unwaited, moment(100_001, pending(summarize.PendingRunning)), summarize.ActWait, "the prompt does not fit, and a summary is running"},
		{"which is compacted at once if no summary is being made", unwaited, moment(100_001), summarize.ActCompact, "condition 1 holds"},
		{"once", background, moment(95_000, pending(summarize.PendingRunning), waited), summarize.ActNothing, "a summary is running"},
		{"a prompt that does not fit waits", foreground, moment(110_000, over, pending(summarize.PendingElsewhere)), summarize.ActWait, "the prompt does not fit, and a summary is running elsewhere"},
		{"and compacts if it waited in vain", foreground, moment(110_000, over, pending(summarize.PendingRunning), waited), summarize.ActCompact, "condition 1 holds"},
		{"a summary that is ready is put in place", background, moment(80_000, pending(summarize.PendingReady)), summarize.ActPlace, "a summary is ready"},
		{"even though the prompt does not fit", background, moment(110_000, over, pending(summarize.PendingReady)), summarize.ActPlace, "a summary is ready"},
		{"but not once it is not needed any more", background, moment(64_999, pending(summarize.PendingReady)), summarize.ActDiscard, "64999 tokens are used, less than the 65000 from which on the summary is put in place"},
		{"a threshold that is lowered alone lowers that too", lowered, moment(50_000, pending(summarize.PendingReady)), summarize.ActPlace, "a summary is ready"},
		{"to where a summary is begun", lowered, moment(49_999, pending(summarize.PendingReady)), summarize.ActDiscard, "49999 tokens are used, less than the 50000 from which on the summary is put in place"},
		{"a failure pauses", foreground, moment(90_000, paused), summarize.ActNothing, "paused for 1 more step after 1 failures, the last: down"},
		{"but not if the prompt does not fit", foreground, moment(110_000, over, paused), summarize.ActCompact, "condition 1 holds"},
		{"which is tried once a render", foreground, moment(110_000, over, paused, tried), summarize.ActNothing, "it was tried, and failed"},
		{"clears first", clearing, moment(80_000, clearable), summarize.ActClear, "clearing old tool output saves 5000 tokens"},
		{"in the background too", func() summarize.Policy { p := background; p.Clear = clearing.Clear; return p }(), moment(80_000, clearable), summarize.ActClear, "clearing old tool output saves 5000 tokens"},
		{"does not clear below the limit", clearing, moment(79_999, clearable), summarize.ActNothing, "no condition holds"},
		{"unless it always does", always, moment(10, clearable), summarize.ActClear, "clearing old tool output saves 5000 tokens"},
		{"without conditions a prompt that does not fit is compacted", summarize.Policy{}, moment(110_000, over), summarize.ActCompact, "condition 1 holds"},
		{"and no other", summarize.Policy{}, moment(99_999), summarize.ActNothing, "no condition holds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.policy.Decide(c.moment)
			require.Equal(t, c.want, d.Do, "%s", d.Why)
			require.Equal(t, c.why, d.Why)
			require.Equal(t, d, c.policy.Decide(c.moment))
		})
	}
}

func TestALimitIsReachedAtItsExactValue(t *testing.T) {
	cold := func(m *summarize.Measurement) { m.Warm = false }
	jittered := func(by float64) func(*summarize.Measurement) {
		return func(m *summarize.Measurement) { m.Jitter = by }
	}
	for _, c := range []struct {
		name      string
		condition summarize.Condition
		moment    summarize.Measurement
		holds     bool
		at        int
	}{
		{"a ratio", summarize.Condition{Ratio: 0.8}, moment(80_000), true, 80_000},
		{"a ratio that must be exceeded", summarize.Condition{Ratio: 0.8, Above: true}, moment(80_000), false, 80_000},
		{"one token more", summarize.Condition{Ratio: 0.8, Above: true}, moment(80_001), true, 80_000},
		{"a reserve", summarize.Condition{Reserve: 16_384}, moment(83_616), true, 83_616},
		{"a reserve of at most half the window", summarize.Condition{Reserve: 90_000}, moment(50_000), true, 50_000},
		{"a cap", summarize.Condition{Cap: 60_000}, moment(60_000), true, 60_000},
		{"the smallest counts", summarize.Condition{Ratio: 0.8, Cap: 60_000}, moment(60_000), true, 60_000},
		{"a cold cache adds to the ratio", summarize.Condition{Ratio: 0.8, Cold: 0.1}, moment(89_999, cold), false, 90_000},
		{"and is reached there", summarize.Condition{Ratio: 0.8, Cold: 0.1}, moment(90_000, cold), true, 90_000},
		{"with another ratio it moves along", summarize.Condition{Ratio: 0.5, Cold: 0.1}, moment(60_000, cold), true, 60_000},
		{"a jitter moves it down", summarize.Condition{Ratio: 0.8, Jitter: 0.02}, moment(78_000, jittered(-1)), true, 78_000},
		{"and up", summarize.Condition{Ratio: 0.8, Jitter: 0.02}, moment(81_999, jittered(1)), false, 82_000},
		{"too few messages", summarize.Condition{Ratio: 0.8, Messages: 101}, moment(99_000), false, 0},
		{"another occasion", summarize.Condition{On: summarize.OnDemand}, moment(99_000), false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := summarize.Policy{Trigger: summarize.Trigger{c.condition}}.Decide(c.moment).Findings[0]
			require.Equal(t, c.holds, f.Holds, f.Why)
			require.Equal(t, c.at, f.At)
		})
	}
}

func TestAnExplanationNeverClaimsWhatDidNotHappen(t *testing.T) {
	require.Equal(t, "nothing was decided yet\n", summarize.Explanation{}.String())
	d := summarize.Policy{Trigger: summarize.Trigger{{Ratio: 0.8}}}.Decide(moment(80_000))
	for outcome, want := range map[summarize.Outcome]string{
		summarize.OutcomePlaced:  "placed: condition 1 holds\n",
		summarize.OutcomeFailed:  "failed: condition 1 holds: the model is down\n",
		summarize.OutcomeVetoed:  "vetoed: condition 1 holds\n",
		summarize.OutcomeStarted: "started: condition 1 holds\n",
		"":                       "nothing: condition 1 holds\n",
	} {
		e := summarize.Explanation{Decision: d, Outcome: outcome}
		if outcome == summarize.OutcomeFailed {
			e.Err = "the model is down"
		}
		require.Equal(t, "render: 80000 of 100000 tokens (80.0%): 1 × (80000 of the prompt + 0 of tools), 100 messages, cache warm\n"+
			"  1. yes 80000 is at or above 80000 (0.8 of the window)\n"+want, e.String())
	}
}
