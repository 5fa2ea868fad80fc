package summarize_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize"
)

func TestConditionHolds(t *testing.T) {
	at := func(used, window int) summarize.Moment {
		return summarize.Moment{Occasion: summarize.OnRender, Used: used, Window: window, Messages: 10}
	}
	with := func(m summarize.Moment, change func(*summarize.Moment)) summarize.Moment { change(&m); return m }
	warm := func(m summarize.Moment, jitter float64) summarize.Moment {
		return with(m, func(m *summarize.Moment) { m.Warm, m.Jitter = true, jitter })
	}
	on := func(o summarize.Occasion, m summarize.Moment) summarize.Moment {
		return with(m, func(m *summarize.Moment) { m.Occasion = o })
	}
	ratio := summarize.Condition{Ratio: 0.8}
	reserve := summarize.Condition{Reserve: 16_384, Above: true}
	capped := summarize.Condition{Ratio: 0.65, Cap: 200_000, Above: true}
	cache := summarize.Condition{Ratio: 0.8, Jitter: 0.02, Cold: 0.9}
	for _, c := range []struct {
		name      string
		condition summarize.Condition
		moment    summarize.Moment
		holds     bool
		at        int
	}{
		{"a ratio, below", ratio, at(79_999, 100_000), false, 80_000},
		{"a ratio, exactly", ratio, at(80_000, 100_000), true, 80_000},
		{"window less reserve, exactly", reserve, at(83_616, 100_000), false, 83_616},
		{"window less reserve, above", reserve, at(83_617, 100_000), true, 83_616},
		{"a reserve takes half of a small window at the most", reserve, at(8_000, 16_000), false, 8_000},
		{"a reserve of more than half, above", reserve, at(8_001, 16_000), true, 8_000},
		{"the ratio of a small window", capped, at(65_000, 100_000), false, 65_000},
		{"the ratio of a small window, above", capped, at(65_001, 100_000), true, 65_000},
		{"the cap of a large window", capped, at(200_000, 1_000_000), false, 200_000},
		{"the cap of a large window, above", capped, at(200_001, 1_000_000), true, 200_000},
		{"a cold cache waits", cache, at(89_999, 100_000), false, 90_000},
		{"a cold cache at its line", cache, at(90_000, 100_000), true, 90_000},
		{"a warm cache, jittered down", cache, warm(at(78_000, 100_000), -1), true, 78_000},
		{"a warm cache, jittered up", cache, warm(at(81_999, 100_000), 1), false, 82_000},
		{"too few messages", summarize.Condition{Ratio: 0.8, Messages: 11}, at(90_000, 100_000), false, 0},
		{"no limits, at its occasion", summarize.Condition{On: summarize.OnBudgetExceeded}, on(summarize.OnBudgetExceeded, at(1, 2)), true, 0},
		{"no limits, at another", summarize.Condition{On: summarize.OnBudgetExceeded}, at(1, 2), false, 0},
		{"a ratio where the prompt does not even fit", ratio, on(summarize.OnBudgetExceeded, at(110, 100)), true, 80},
		{"by hand", summarize.Condition{On: summarize.OnDemand, Messages: 2}, on(summarize.OnDemand, at(1, 100)), true, 0},
		{"a smaller window", summarize.Condition{On: summarize.OnModelSwitch, Ratio: 1, Above: true}, on(summarize.OnModelSwitch, at(101, 100)), true, 100},
		{"a window that is large enough", summarize.Condition{On: summarize.OnModelSwitch, Ratio: 1, Above: true}, on(summarize.OnModelSwitch, at(100, 100)), false, 100},
		{"memory pressure", summarize.Condition{On: summarize.OnMemoryPressure}, on(summarize.OnMemoryPressure, at(1, 100)), true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := summarize.Trigger{c.condition}.Explain(c.moment)
			require.Len(t, e.Findings, 1)
			require.Equal(t, c.holds, e.Findings[0].Holds, e)
			require.Equal(t, c.at, e.Findings[0].At, e)
			require.Equal(t, c.holds, e.Held == 0)
		})
	}
}

func TestFirstConditionThatHoldsDecides(t *testing.T) {
	trigger := summarize.Trigger{{Ratio: 0.9}, {Ratio: 0.5}, {Ratio: 0.4}}
	m := summarize.Moment{Occasion: summarize.OnRender, Used: 60, Window: 100}
	require.Equal(t, 1, trigger.Explain(m).Held)
	m.Used = 30
	require.Equal(t, -1, trigger.Explain(m).Held)
}

func ExampleTrigger_Explain() {
	trigger := summarize.Trigger{{Ratio: 0.8, Cold: 0.9, Background: true}, {On: summarize.OnBudgetExceeded}}
	fmt.Print(trigger.Explain(summarize.Moment{Occasion: summarize.OnRender, Used: 85_000, Window: 100_000, Messages: 12}))
	// Output:
	// render: 85000 of 100000 tokens (85.0%), 12 messages, cache cold
	//   1. no  85000 is not at or above 90000 (with a cold cache 0.9 of the window)
	//   2. no  this is no budget exceeded
	// not compacted: no condition holds
}

func TestEnvironmentTakesThePlaceOfRatios(t *testing.T) {
	policy := summarize.Policy{
		Trigger:    summarize.Trigger{{Ratio: 0.8, Env: "THRESHOLD"}, {Ratio: 0.7}},
		Background: summarize.Background{Wait: 0.95, WaitEnv: "WAIT"},
	}
	for _, c := range []struct {
		name        string
		env         map[string]string
		ratio, wait float64
		err         string
	}{
		{"neither is set", nil, 0.8, 0.95, ""},
		{"one is empty", map[string]string{"THRESHOLD": ""}, 0.8, 0.95, ""},
		{"both are set", map[string]string{"THRESHOLD": "0.6", "WAIT": " 0.9 "}, 0.6, 0.9, ""},
		{"no number", map[string]string{"THRESHOLD": "most"}, 0, 0, `THRESHOLD is "most"`},
		{"no ratio", map[string]string{"WAIT": "80"}, 0, 0, `WAIT is "80"`},
		{"nothing", map[string]string{"WAIT": "0"}, 0, 0, `WAIT is "0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := policy.WithEnv(func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.ratio, got.Trigger[0].Ratio)
			require.Equal(t, 0.7, got.Trigger[1].Ratio)
			require.Equal(t, c.wait, got.Background.Wait)
			require.Equal(t, 0.8, policy.Trigger[0].Ratio, "the policy itself stays")
		})
	}
}
