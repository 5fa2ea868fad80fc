package summarize_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/policy"
)

// clearingFixture returns a fixture with four rounds of 500 tokens in a window of 10,000, which clears all output but the
// newest 600 tokens.
func clearingFixture(t *testing.T) fixture {
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Budget = 10_000
	d.Say(rounds(1, 4, 500)...)
	d.Policy = policy.Policy{Clear: policy.Clear{
		Always: true,
		Rule:   history.ClearRule{Keep: 600, Placeholder: func(history.ClearedOutput) string { return "[gone]" }},
	}}
	return d
}

func TestAClearingKeepsAtMostItsShareOfTheWindow(t *testing.T) {
	for share, want := range map[float64][]int{0: {3, 4}, 0.5: {3, 4}, 0.03: {4}} {
		d := clearingFixture(t)
		d.Policy.Clear.Share = share
		require.Equal(t, want, outputs(text(d.Messages())), "%v", share)
	}
}

func TestAShortResultIsNotCleared(t *testing.T) {
	d := clearingFixture(t)
	d.Policy.Clear.Rule.Least = 400
	require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
	d = clearingFixture(t)
	d.Policy.Clear.Rule.Least = 600
	require.Equal(t, []int{1, 2, 3, 4}, outputs(text(d.Messages())))
}

func TestAClearingLeavesAWarmCacheAlone(t *testing.T) {
	for _, c := range []struct {
		rule         string
		behind       int
		idle, passed time.Duration
		want         []int
	}{
		{"by default the cache does not count", 0, 0, time.Second, []int{3, 4}},
		{"few tokens behind it may be lost", 2100, 0, time.Second, []int{3, 4}},
		{"many may not", 1000, 0, time.Second, []int{1, 2, 3, 4}},
		{"after five minutes the cache is cold", 1000, 0, 5 * time.Minute, []int{3, 4}},
		{"or after the time that the policy says", 1000, time.Hour, 59 * time.Minute, []int{1, 2, 3, 4}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := clearingFixture(t)
				d.Policy.Clear.Behind, d.Policy.Clear.Idle = c.behind, c.idle
				time.Sleep(c.passed)
				require.Equal(t, c.want, outputs(text(d.Messages())))
			})
		})
	}
}

func TestAPromptThatDoesNotFitIsClearedWhateverTheCacheHolds(t *testing.T) {
	d := clearingFixture(t)
	d.Target.Budget = 2000
	d.Policy.Clear.Behind = 1000
	require.Equal(t, []int{3, 4}, outputs(text(d.Messages())))
}
