package sizing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/sizing"
)

func TestCarryingAndCompactingArePricedByTokensReadAndWritten(t *testing.T) {
	c := sizing.Carry{Input: 100_000, Head: 3_000, Summary: 4_000, Kept: 13_000}
	haiku := sizing.Prices{Rates: sizing.Rates{Input: 1, CacheRead: 0.1, Output: 5}}
	for _, tt := range []struct {
		rule   string
		change func(*sizing.Carry)
		want   float64
	}{
		{"a fork reads the prefix and pays extra for its writes", func(*sizing.Carry) {}, 0.05 + 0.10 + 17_000*5.75e-6},
		{"another model reads no cache", func(c *sizing.Carry) { c.Summarizer = haiku }, 0.10 + 0.02 + 17_000*5.75e-6},
		{"with a cold cache, tokens that are not written are saved", func(c *sizing.Carry) { c.Cold = true }, 0.50 + 0.10 - 80_000*6.25e-6},
		{"the saving is never larger than the cost", func(c *sizing.Carry) { c.Cold, c.Summarizer = true, haiku }, 0},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c := c
			tt.change(&c)
			require.InDelta(t, tt.want, opus.Compacting(c), 1e-12)
		})
	}
	without := sizing.Prices{Rates: sizing.Rates{Input: 5, Output: 25}}
	for _, c.Cold = range []bool{false, true} {
		require.InDelta(t, 0.50+0.10, without.Compacting(c), 1e-12, "without a cache all is input")
		require.InDelta(t, 0.40, without.Carrying(c, 100_000), 1e-12)
	}
	require.Equal(t, 20_000, c.Base())
	require.InDelta(t, 0.04, opus.Carrying(c, 100_000), 1e-12)
	require.Zero(t, opus.Carrying(c, 19_000))
	extremes.Each(c, func(field string, number any, c sizing.Carry) {
		if _, rate := number.(float64); rate {
			return // those are Validate's
		}
		require.GreaterOrEqual(t, opus.Compacting(c), 0.0, "%s %v", field, number)
		require.GreaterOrEqual(t, opus.Carrying(c, c.Input), 0.0, "%s %v", field, number)
	})
}

func ExamplePrices_Compacting() {
	prices, err := sizing.PublishedPrices().Of("claude-opus-4-5")
	if err != nil {
		fmt.Println(err)
		return
	}
	carried := 0.0
	for input := 20_000; ; input += 2_000 { // of one request after the other
		c := sizing.Carry{Input: input, Head: 3_000, Summary: 4_000, Kept: 10_000}
		carried += prices.Carrying(c, input)
		if cost := prices.Compacting(c); carried >= cost {
			fmt.Printf("compact at %d tokens: carrying has cost $%.2f, compacting costs $%.2f\n", input, carried, cost)
			return
		}
	}
	// Output:
	// compact at 58000 tokens: carrying has cost $0.22, compacting costs $0.21
}
