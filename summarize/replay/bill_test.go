package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize/replay/internal/stepping"
)

func TestAPolicyIsGivenThePricesOfTheLifetimeThatTheRequestsAskFor(t *testing.T) {
	opus, err := modelinfo.Prices("claude-opus-4-5")
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
		{"the longer one", time.Hour, nil, hour},
		{"another one", 30 * time.Minute, &Check{Long: 1}, half},
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
	a, b := fit(x, y)
	require.InDeltaSlice(t, []float64{50, 1.25}, []float64{a, b}, 1e-9)
	a, _ = fit(x, below)
	require.Zero(t, a, "the part outside the recording is not negative")
	a, b = fit(x[:2], []float64{1100, 1200})
	require.Equal(t, []float64{1000, 1}, []float64{a, b}, "too few for a line")
	a, b = fit(x[:2], []float64{50, 100})
	require.Equal(t, []float64{0, 0.5}, []float64{a, b})
	a, b = fit(nil, nil)
	require.Equal(t, []float64{0, 1}, []float64{a, b})
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
		{"a shared prefix is read", nil, time.Minute, million, Bill{Kept: 0.5 + 6.25 + 25, Read: 0.5, Written: 6.25, Output: 25}},
		{"a shared prefix is read with the fixed tokens before it", func(b *biller) { b.fixed = million }, time.Minute, million, Bill{Kept: 32.25, Read: 1, Written: 6.25, Output: 25}},
		{"after the lifetime nothing is read", nil, time.Hour, million, Bill{Kept: 37.5, Written: 12.5, Output: 25}},
		{"within the longer lifetime that the last request asked for the prefix is read", func(b *biller) { b.kept = time.Hour }, time.Hour, million, Bill{Kept: 31.75, Read: 0.5, Written: 6.25, Output: 25}},
		{"a restart reads nothing", func(b *biller) { b.check.outcomes["r7"] = outcomeRestart }, time.Minute, million, Bill{Kept: 37.5, Written: 12.5, Output: 25, Restarts: 5.75}},
		{"what the recorded cache kept for longer is read", func(b *biller) { b.check.outcomes["r7"] = outcomeOutlived }, time.Hour, million, Bill{Kept: 31.75, Read: 0.5, Written: 6.25, Output: 25}},
		{"but not with another lifetime", func(b *biller) { b.check.outcomes["r7"], b.lifetime = outcomeOutlived, time.Minute }, time.Hour, million, Bill{Kept: 37.5, Written: 12.5, Output: 25}},
		{"reads are counted in the provider's steps", nil, time.Minute, million + 27, Bill{Kept: 31.75, Read: 0.5, Written: 6.25, Output: 25}},
		{"writes for the longer lifetime have their price", func(b *biller) { b.long = 1 }, time.Minute, million, Bill{Kept: 35.5, Read: 0.5, Written: 10, Output: 25}},
		{"the first request reads what it was recorded to read", func(b *biller) { b.begun = false }, time.Hour, 0, Bill{Kept: 31.75, Read: 0.5, Written: 6.25, Output: 25}},
		{"a prefix that changed is written", nil, time.Minute, 0, Bill{Kept: 37.5, Written: 12.5, Output: 25}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			check := &Check{Step: 64, outcomes: map[string]string{}}
			b := biller{prices: prices, check: check, begun: true, sent: at, kept: prices.Lifetime}
			if tt.change != nil {
				tt.change(&b)
			}
			var bill Bill
			step := stepping.Step{Line: 7, ID: "r7", Time: at.Add(tt.after), Usage: chat.Usage{Input: 1, CacheRead: million}}
			usage, cost := b.request(&bill, step, 2*million, tt.common, million)
			require.InDelta(t, bill.Kept, cost.Dollars, 1e-9)
			require.Equal(t, tt.common > 0 && bill.Read == 0, cost.Lost.Tokens > 0)
			require.InDelta(t, float64(cost.Lost.Tokens)*5.75e-6, cost.Lost.Dollars, 1e-9)
			require.Equal(t, chat.Usage{Input: 2*million + b.fixed, CacheRead: usage.CacheRead, CacheWrite: 2*million + b.fixed - usage.CacheRead, CacheWriteLong: int(b.long) * usage.CacheWrite, Output: million},
				usage, "with the fixed tokens")
			require.InDelta(t, tt.want.Kept, bill.Kept, 1e-9)
			require.InDelta(t, tt.want.Restarts, bill.Restarts, 1e-9)
			require.InDeltaSlice(t, []float64{tt.want.Read, tt.want.Written, 0, tt.want.Output}, []float64{bill.Read, bill.Written, bill.Input, bill.Output}, 1e-9)
			before := bill
			step.Usage = chat.Usage{}
			usage, cost = b.request(&bill, step, 2*million, tt.common, million)
			require.Empty(t, usage)
			require.Empty(t, cost)
			require.Equal(t, before, bill, "a cancelled request costs nothing")
		})
	}
}
