package sizing_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

var opus = sizing.Prices{
	Rates:    sizing.Rates{Input: 5, CacheRead: 0.50, CacheWrite: 6.25, CacheWriteLong: 10, Output: 25},
	Lifetime: 5 * time.Minute, LongLifetime: time.Hour, LeastCached: 4096,
}

func TestUsageIsPricedByCacheReadsAndWrites(t *testing.T) {
	million := 1_000_000
	long := opus
	long.LongInput, long.LongRates = 200_000, sizing.Rates{Input: 10, Output: 30}
	for _, tt := range []struct {
		rule   string
		prices sizing.Prices
		usage  chat.Usage
		want   sizing.Cost
	}{
		{"each kind of token has its rate", opus, chat.Usage{Input: 6 * million, Output: million, CacheRead: 3 * million, CacheWrite: 2 * million},
			sizing.Cost{Input: 5, CacheRead: 1.50, CacheWrite: 12.50, Output: 25}},
		{"long writes have their own rate", opus, chat.Usage{Input: 3 * million, CacheWrite: 3 * million, CacheWriteLong: million}, sizing.Cost{CacheWrite: 22.50}},
		{"a cache without rates costs as much as input", sizing.Prices{Rates: sizing.Rates{Input: 2, Output: 8}},
			chat.Usage{Input: 4 * million, CacheRead: million, CacheWrite: 2 * million, CacheWriteLong: million}, sizing.Cost{Input: 2, CacheRead: 2, CacheWrite: 4}},
		{"input up to the limit has the short rates", long, chat.Usage{Input: 200_000, Output: 1000}, sizing.Cost{Input: 1, Output: 0.025}},
		{"input above the limit has the long rates", long, chat.Usage{Input: 400_000, Output: 1000, CacheRead: 100_000}, sizing.Cost{Input: 3, CacheRead: 1, Output: 0.03}},
		{"numbers below 0 count as 0", opus, chat.Usage{Input: -5, Output: -1, CacheRead: -2, CacheWrite: -1, CacheWriteLong: 7}, sizing.Cost{}},
		{"what the cache served is not known", opus, chat.Usage{Input: million, Output: million, CacheUnknown: true}, sizing.Cost{}},
		{"nor needed", sizing.Prices{Rates: sizing.Rates{Input: 2, Output: 8}}, chat.Usage{Input: million, Output: million, CacheUnknown: true}, sizing.Cost{Input: 2, Output: 8}},
		{"the zero value is free", sizing.Prices{}, chat.Usage{Input: million, Output: million}, sizing.Cost{}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := tt.prices.Of(tt.usage)
			assert.InDelta(t, tt.want.Input, got.Input, 1e-12)
			assert.InDelta(t, tt.want.CacheRead, got.CacheRead, 1e-12)
			assert.InDelta(t, tt.want.CacheWrite, got.CacheWrite, 1e-12)
			assert.InDelta(t, tt.want.Output, got.Output, 1e-12)
			assert.InDelta(t, tt.want.Total(), got.Total(), 1e-12)
		})
	}
}

func TestAPlannedRequestReadsWhatIsCachedAndWritesTheRest(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		prices sizing.Prices
		give   sizing.Planned
		want   chat.Usage
	}{
		{"the rest is written", opus, sizing.Planned{Input: 10_000, Cached: 8_000, Output: 50}, chat.Usage{Input: 10_000, Output: 50, CacheRead: 8_000, CacheWrite: 2_000}},
		{"the rest is written for longer if requested", opus, sizing.Planned{Input: 10_000, Long: true}, chat.Usage{Input: 10_000, CacheWrite: 10_000, CacheWriteLong: 10_000}},
		{"a prefix too small is not read", opus, sizing.Planned{Input: 10_000, Cached: 4_095}, chat.Usage{Input: 10_000, CacheWrite: 10_000}},
		{"a request too small is not written", opus, sizing.Planned{Input: 4_095}, chat.Usage{Input: 4_095}},
		{"no more is read than is sent", opus, sizing.Planned{Input: 5_000, Cached: 8_000}, chat.Usage{Input: 5_000, CacheRead: 5_000}},
		{"without a lifetime no cache is predicted", sizing.Prices{}, sizing.Planned{Input: 10_000, Cached: 8_000}, chat.Usage{Input: 10_000}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, tt.prices.Foretell(tt.give))
		})
	}
}

func TestAnyNumbersHaveAPrice(t *testing.T) {
	extremes.Each(chat.Usage{Input: 10, Output: 1, CacheRead: 3, CacheWrite: 4, CacheWriteLong: 2}, func(field string, number any, u chat.Usage) {
		total := opus.Of(u).Total()
		require.True(t, total >= 0 && !math.IsInf(total, 0), "%s %v: %v", field, number, total)
	})
	extremes.Each(sizing.Planned{Input: 10_000, Cached: 5_000, Output: 1}, func(field string, number any, r sizing.Planned) {
		u := opus.Foretell(r)
		require.True(t, u.CacheRead >= 0 && u.CacheWrite >= 0 && u.CacheRead+u.CacheWrite <= u.Input, "%s %v: %+v", field, number, u)
	})
}

func TestInvalidPricesAreRefused(t *testing.T) {
	require.NoError(t, opus.Validate())
	require.NoError(t, sizing.Prices{}.Validate())
	for want, change := range map[string]func(*sizing.Prices){
		"Rates.Input is -1":                             func(p *sizing.Prices) { p.Input = -1 },
		"Rates.CacheWriteLong is NaN":                   func(p *sizing.Prices) { p.CacheWriteLong = math.NaN() },
		"LongRates.Output is +Inf":                      func(p *sizing.Prices) { p.LongRates.Output = math.Inf(1) },
		"LongInput is -1":                               func(p *sizing.Prices) { p.LongInput = -1 },
		"LeastCached is -1":                             func(p *sizing.Prices) { p.LeastCached = -1 },
		"Lifetime is -1ns":                              func(p *sizing.Prices) { p.Lifetime = -1 },
		"LongLifetime is 5m0s: want more than Lifetime": func(p *sizing.Prices) { p.LongLifetime = p.Lifetime },
	} {
		p := opus
		change(&p)
		require.ErrorContains(t, p.Validate(), "sizing: Prices."+want)
	}
}

// The recorder wrote down what each request cost.
func TestARecordedSessionCostsWhatItsRecorderSays(t *testing.T) {
	sessiontest.Needs(t, recorded)
	file, err := os.Open(recorded)
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	sum := 0.0
	requests := 0
	for lines.Scan() {
		var line struct {
			Message struct {
				Role, Model string
				Usage       struct {
					Input, Output, CacheRead, CacheWrite int
					Cost                                 struct{ Input, Output, CacheRead, CacheWrite, Total float64 }
				}
			}
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		m := line.Message
		if m.Role != "assistant" {
			continue
		}
		prices, err := modelinfo.Prices(m.Model)
		require.NoError(t, err)
		u := m.Usage
		cost := prices.Of(chat.Usage{Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
		require.InDelta(t, u.Cost.Input, cost.Input, 1e-12)
		require.InDelta(t, u.Cost.CacheRead, cost.CacheRead, 1e-12)
		require.InDelta(t, u.Cost.CacheWrite, cost.CacheWrite, 1e-12)
		require.InDelta(t, u.Cost.Output, cost.Output, 1e-12)
		require.InDelta(t, u.Cost.Total, cost.Total(), 1e-12)
		sum += cost.Total()
		requests++
	}
	require.NoError(t, lines.Err())
	require.Equal(t, 484, requests)
	require.InDelta(t, 42.60, sum, 0.005)
}

// An answer that took several requests is billed for the prompt of each, and none of them was as long as all together.
func TestSeveralRequestsAreBilledButNoneIsLong(t *testing.T) {
	p := sizing.Prices{Rates: sizing.Rates{Input: 1, Output: 2}, LongInput: 200_000, LongRates: sizing.Rates{Input: 10, Output: 20}}
	require.InDelta(t, 0.3, p.Of(chat.Usage{Input: 300_000, Prompt: 100_000}).Total(), 1e-9)
	require.InDelta(t, 3, p.Of(chat.Usage{Input: 300_000}).Total(), 1e-9)
	var counter sizing.Calibrated
	asked := chat.Request{Messages: []chat.Message{chat.UserMessage("a")}}
	counter.Observe(asked, chat.Response{Message: chat.AssistantMessage("b"), Usage: chat.Usage{Input: 300, Prompt: 100, Output: 5}})
	require.Equal(t, 100, counter.CountRequest(asked))
}
