package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/event"
)

func TestPricesAreNamedOrListed(t *testing.T) {
	opus, err := sizing.PublishedPrices().Of("claude-opus-4-5")
	require.NoError(t, err)
	listed := sizing.Prices{Rates: sizing.Rates{Input: 5, CacheRead: 0.5, CacheWrite: 6.25, Output: 25}, Lifetime: 5 * time.Minute, LeastCached: 4096}
	for name, want := range map[string]sizing.Prices{"claude-opus-4-5": opus, "input=5,read=0.5,write=6.25,output=25,least=4096": listed} {
		got, err := pricesNamed("-prices", name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for name, want := range map[string]string{
		"gpt-9":   `the prices of model "gpt-9" are unknown: give them by -prices input=3,read=0.3,write=3.75,output=15, in dollars a million tokens`,
		"input=x": `-prices: "input=x"`, "in=5": "the names are input, read, write, output and least", "input=-5": "Prices.Rates.Input is -5",
	} {
		_, err := pricesNamed("-prices", name)
		require.ErrorContains(t, err, want)
	}
	_, err = billerFor("claude-opus-4-5", "gpt-9", 0)
	require.ErrorContains(t, err, "by -summary-prices input=3")
	_, err = billerFor("claude-opus-4-5", "", -1)
	require.ErrorContains(t, err, "-ttl is -1ns")
}

func TestAPolicyIsGivenThePricesOfTheLifetimeThatTheRequestsAskFor(t *testing.T) {
	opus, err := sizing.PublishedPrices().Of("claude-opus-4-5")
	require.NoError(t, err)
	half, hour := opus, opus
	half.Lifetime, half.LongLifetime = 30*time.Minute, 0
	hour.Lifetime, hour.LongLifetime, hour.CacheWrite = time.Hour, 0, opus.CacheWriteLong
	for _, tt := range []struct {
		name     string
		lifetime time.Duration
		check    *Check
		want     sizing.Prices
	}{
		{"the model's", 0, nil, opus},
		{"the recording's", 0, &Check{Long: 0.6}, hour},
		{"the recording's, mostly short", 0, &Check{Long: 0.4}, opus},
		{"the longer one of -ttl", time.Hour, nil, hour},
		{"another one of -ttl", 30 * time.Minute, &Check{Long: 1}, half},
	} {
		require.Equal(t, tt.want, (&biller{prices: opus, lifetime: tt.lifetime, check: tt.check}).planning(), tt.name)
	}
}

func TestTokensAreFittedWithAStraightLine(t *testing.T) {
	x := []float64{100, 200, 300, 400, 500, 600, 700, 800}
	var y, below []float64
	for _, v := range x {
		y, below = append(y, 50+1.25*v), append(below, 2*v-10)
	}
	a, b, ok := fit(x, y)
	require.True(t, ok)
	require.InDeltaSlice(t, []float64{50, 1.25}, []float64{a, b}, 1e-9)
	a, _, ok = fit(x, below)
	require.True(t, ok)
	require.Zero(t, a, "the part outside the recording is not negative")
	_, _, ok = fit(x[:7], y[:7])
	require.False(t, ok, "too few")
	_, _, ok = fit(make([]float64, 8), y)
	require.False(t, ok, "all the same")
}

func TestARequestReadsItsSharedPrefixFromTheCacheAndWritesTheRest(t *testing.T) {
	prices := sizing.Prices{
		Rates:    sizing.Rates{Input: 5, CacheRead: 0.5, CacheWrite: 6.25, CacheWriteLong: 10, Output: 25},
		Lifetime: 5 * time.Minute, LongLifetime: time.Hour, LeastCached: 1000,
	}
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	million := 1_000_000
	for _, tt := range []struct {
		rule   string
		change func(*biller)
		after  time.Duration
		common int
		want   Bill
	}{
		{"a shared prefix is read", nil, time.Minute, million, Bill{Kept: 0.5 + 6.25 + 25, Pinned: 0.5 + 6.25 + 25, Read: 0.5, Written: 6.25, Output: 25}},
		{"a shared prefix is read with the fixed tokens before it", func(b *biller) { b.fixed = million }, time.Minute, million, Bill{Kept: 32.25, Pinned: 32.25, Read: 1, Written: 6.25, Output: 25}},
		{"after the lifetime nothing is read", nil, time.Hour, million, Bill{Kept: 37.5, Pinned: 37.5, Written: 12.5, Output: 25}},
		{"within the longer lifetime that the last request asked for the prefix is read", func(b *biller) { b.kept = time.Hour }, time.Hour, million, Bill{Kept: 31.75, Pinned: 31.75, Read: 0.5, Written: 6.25, Output: 25}},
		{"a restart reads nothing", func(b *biller) { b.check.restarts[7] = true }, time.Minute, million, Bill{Kept: 37.5, Pinned: 31.75, Written: 12.5, Output: 25}},
		{"what the recorded cache kept for longer is read", func(b *biller) { b.check.outlived[7] = true }, time.Hour, million, Bill{Kept: 31.75, Pinned: 37.5, Read: 0.5, Written: 6.25, Output: 25}},
		{"but not with a lifetime of -ttl", func(b *biller) { b.check.outlived[7], b.lifetime = true, time.Minute }, time.Hour, million, Bill{Kept: 37.5, Pinned: 37.5, Written: 12.5, Output: 25}},
		{"reads are counted in the provider's steps", nil, time.Minute, million + 27, Bill{Kept: 31.75, Pinned: 31.75, Read: 0.5, Written: 6.25, Output: 25}},
		{"writes for the longer lifetime have their price", func(b *biller) { b.long = 1 }, time.Minute, million, Bill{Kept: 35.5, Pinned: 35.5, Read: 0.5, Written: 10, Output: 25}},
		{"the first request reads what it was recorded to read", func(b *biller) { b.begun = false }, time.Hour, 0, Bill{Kept: 31.75, Pinned: 31.75, Read: 0.5, Written: 6.25, Output: 25}},
		{"a prefix that changed is written", nil, time.Minute, 0, Bill{Kept: 37.5, Pinned: 37.5, Written: 12.5, Output: 25}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			check := &Check{step: 64, restarts: map[int]bool{}, outlived: map[int]bool{}}
			b := biller{prices: prices, summaries: prices, check: check, begun: true, sent: at, kept: prices.Lifetime}
			if tt.change != nil {
				tt.change(&b)
			}
			var bill Bill
			step := stepping.Step{Line: 7, Time: at.Add(tt.after), Usage: chat.Usage{Input: 1, CacheRead: million}}
			usage := b.request(&bill, step, 2*million, tt.common, million)
			require.Equal(t, chat.Usage{Input: 2 * million, CacheRead: usage.CacheRead, CacheWrite: 2*million - usage.CacheRead, CacheWriteLong: int(b.long) * usage.CacheWrite, Output: million},
				usage, "without the fixed tokens")
			require.InDelta(t, tt.want.Kept, bill.Kept, 1e-9)
			require.InDelta(t, tt.want.Pinned, bill.Pinned, 1e-9)
			require.InDeltaSlice(t, []float64{tt.want.Read, tt.want.Written, 0, tt.want.Output}, []float64{bill.Read, bill.Written, bill.Input, bill.Output}, 1e-9)
			before := bill
			step.Usage = chat.Usage{}
			require.Empty(t, b.request(&bill, step, 2*million, tt.common, million))
			require.Equal(t, before, bill, "a cancelled request costs nothing")
		})
	}
}

// The cost model foretells the recorded dollars to the cent, and the recorded run costs about the same. By the carry
// rule, with digests for summaries, the session costs less than half.
func TestTheDollarsOfARecordedSessionAreForetold(t *testing.T) {
	sessiontest.Needs(t, recordedSession)
	if !extremes.All() {
		t.Skip("takes too long")
	}
	t.Parallel()
	runs, stderr := ranJSON(t, program.ExitOK, "-window", "200000", "-policy", "stagewise", "-prices", "claude-opus-4-5", "-summary-prices", "claude-haiku-4-5",
		"-carry", "0.5", recordedSession)
	require.Empty(t, stderr)
	c := runs[0].Check
	require.Equal(t, []int{468, 456, 1, 9, 3}, []int{c.Requests, c.Exact, c.Expired, c.Restarts, c.Others})
	require.InDelta(t, 42.60, c.Recorded, 0.005)
	require.InDelta(t, c.Recorded, c.Kept, 0.02)
	require.InDelta(t, 36.81, c.Pinned, 0.02)
	require.InDelta(t, 1.18, c.Factor, 0.02)
	require.InEpsilon(t, c.Recorded, runs[0].Bill.Kept, 0.01)
	require.InEpsilon(t, c.Pinned, runs[0].Bill.Pinned, 0.01)
	require.Less(t, runs[1].Bill.Kept, c.Recorded/2)
	require.Zero(t, runs[1].Events[string(event.CacheBroken)], "only compactions change this prompt's prefix")
	for _, r := range runs {
		b := r.Bill
		require.InDelta(t, b.Kept, b.Read+b.Written+b.Input+b.Output+b.Summaries, 1e-9)
		require.LessOrEqual(t, b.Pinned, b.Kept)
	}
}
