package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize/event"
)

func TestPricesAreNamedOrListed(t *testing.T) {
	opus, err := modelinfo.Prices("claude-opus-4-5")
	require.NoError(t, err)
	listed := sizing.Prices{Rates: sizing.Rates{Input: 5, CacheRead: 0.5, CacheWrite: 6.25, Output: 25}, Lifetime: 5 * time.Minute, LeastCached: 4096}
	for name, want := range map[string]sizing.Prices{"claude-opus-4-5": opus, "input=5,read=0.5,write=6.25,output=25,least=4096": listed} {
		got, err := pricing{table: modelinfo.Published()}.named("-prices", name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for name, want := range map[string]string{
		"gpt-9":   `the prices of model "gpt-9" are unknown: give them by -prices input=3,read=0.3,output=15, in dollars a million tokens`,
		"input=x": `-prices: "input=x"`, "in=5": "the names are input, read, write, output and least", "input=-5,output=1": "Prices.Rates.Input is -5",
		"input=3": "lacks input or output: name both", "output=3,read=1": "lacks input or output: name both",
	} {
		_, err := pricing{table: modelinfo.Published()}.named("-prices", name)
		require.ErrorContains(t, err, want)
	}
}

// The cost model foretells the recorded dollars to the cent, and the recorded run costs about the same. Under
// frugal, with digests for summaries, the session costs less.
func TestTheDollarsOfARecordedSessionAreForetold(t *testing.T) {
	sessiontest.Needs(t, recordedSession)
	if !extremes.All() {
		t.Skip("takes too long")
	}
	t.Parallel()
	runs, stderr := ranJSON(t, program.ExitOK, "-window", "200000", "-policy", "frugal", "-prices", "claude-opus-4-5", "-summary-prices", "claude-haiku-4-5",
		recordedSession)
	require.Empty(t, stderr)
	c := runs[0].Check
	require.Equal(t, []int{468, 456, 1, 9, 3}, []int{c.Requests, c.Exact, c.Expired, c.Restarts, c.Others})
	require.InDelta(t, 42.60, c.Recorded, 0.005)
	require.InDelta(t, c.Recorded, c.Kept, 0.02)
	require.InDelta(t, 1.18, c.Factor, 0.02)
	require.InEpsilon(t, c.Recorded, runs[0].Bill.Kept, 0.01)
	require.InDelta(t, 5.79, runs[0].Bill.Restarts, 0.3)
	require.Less(t, runs[1].Bill.Kept, c.Recorded)
	require.Zero(t, runs[1].Events[event.CacheBroken], "only compactions change this prompt's prefix")
	for _, r := range runs {
		b := r.Bill
		require.InDelta(t, b.Kept, b.Read+b.Written+b.Input+b.Output+b.Summaries, 1e-9)
		require.Less(t, b.Restarts, b.Kept)
	}
}
