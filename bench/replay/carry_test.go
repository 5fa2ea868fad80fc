package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/sessiontest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// By the carry rule, in a policy that is otherwise ordinary and has digests for summaries, the recorded session costs less than
// half of what it cost.
func TestTheCarryRuleHalvesTheCostOfARecordedSession(t *testing.T) {
	sessiontest.Needs(t, recordedSession)
	if race {
		t.Skip("takes too long with the race detector")
	}
	t.Parallel()
	s := opened(t, recordedSession)
	biller, err := billerFor("claude-opus-4-5", "claude-haiku-4-5", 0)
	require.NoError(t, err)
	r, err := (&replayer{tokenizer: counter(t), model: modelOffline, window: 200_000, budget: 200_000, biller: biller}).priced(t.Context(), s)
	require.NoError(t, err)
	policy := stagewise.Policy()
	policy.Cut, policy.Place.Max = history.Cut{Tokens: 20_000}, 4_000
	for _, alpha := range []float64{0.5, 1} {
		policy.Trigger = summarize.Trigger{{Carry: alpha}}
		run, err := r.replay(t.Context(), s, policy)
		require.NoError(t, err)
		kept, pinned := run.Bill.Kept/r.check.Recorded, run.Bill.Pinned/r.check.Recorded
		t.Logf("%v: %.1f%% with the restarts, %.1f%% pinned, %d compactions, peak %d", alpha, 100*kept, 100*pinned, len(run.Compactions), run.Peak)
		require.Less(t, kept, 0.5)
		require.Less(t, pinned, kept)
		require.Zero(t, run.Events[string(summarize.EventCacheBreak)], "nothing in this prompt changes by itself")
	}
}
