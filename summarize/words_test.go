package summarize_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestTheTailShrinksByRoundsUntilTheRestFits(t *testing.T) {
	last := 0
	for size := 500; size < 1100; size += 20 {
		d := fixtureOf(t, numbered.Session(), chat.UserMessage(task))
		d.Target.Budget, d.Policy = 10_000, a3s.Policy()
		d.Policy.Clear = policy.Clear{}
		d.Target.Model = saying("Done.")
		d.Say(rounds(1, 25, size)...) // the newest 20 messages are 10 rounds
		d.Messages()
		n := len(kept(d.Session))
		if last > 0 {
			require.LessOrEqual(t, last-n, 1, "at %d tokens a round %d are kept, and %d before", size, n, last)
			require.LessOrEqual(t, n, last)
		}
		last = n
	}
	require.Less(t, last, 10)
	require.Greater(t, last, 4)
}

func TestNothingIsCompactedIfTheCutKeepsEverything(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Policy = a3s.Policy()
	d.Policy.Clear = policy.Clear{}
	d.Say(rounds(1, 5, 690)...) // 11 messages, of which 20 are kept
	d.Messages()
	require.Empty(t, d.Requests())
	require.Contains(t, d.Explain(t.Context()).String(), "there is nothing to relieve: 0 tokens of history would be covered")
	_, err := d.Compact(t.Context(), "")
	require.ErrorIs(t, err, summarize.ErrNothingToCompact)

	d.Answers(models.Say("What was done, in short, for who goes on."))
	d.Say(round(6, 690)...) // now the prompt does not fit
	require.Contains(t, text(d.Messages()), "What was done, in short")
}
