package sizing_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

func TestTheBudgetIsTheWindowLessAnswerToolsAndMargin(t *testing.T) {
	for _, tt := range []struct {
		rule        string
		window      sizing.Window
		tools, want int
	}{
		{"the whole window", sizing.Window{Tokens: 8_000}, 0, 8_000},
		{"less the answer", sizing.Window{Tokens: 8_000, Answer: 1_000}, 0, 7_000},
		{"an answer of all but one token", sizing.Window{Tokens: 8_000, Answer: 7_999}, 0, 1},
		{"an unknown window is 128,000 if that is allowed", sizing.Window{AllowUnknown: true}, 0, 128_000},
		{"an unknown window less the answer", sizing.Window{AllowUnknown: true, Answer: 8_000}, 0, 120_000},
		{"a known window is kept if an unknown one is allowed", sizing.Window{Tokens: 8_000, AllowUnknown: true}, 0, 8_000},

		{"a ratio applies to the effective window", sizing.Window{Tokens: 10_000, Answer: 2_000, Threshold: 0.5}, 0, 4_000},
		{"a ratio is rounded down", sizing.Window{Tokens: 999, Threshold: 0.5}, 0, 499},
		{"a ratio of 1 is the whole window", sizing.Window{Tokens: 8_000, Threshold: 1}, 0, 8_000},
		{"a ratio near nothing leaves 1 token", sizing.Window{Tokens: 8_000, Threshold: 1e-9}, 0, 1},
		{"a number of tokens", sizing.Window{Tokens: 8_000, Threshold: 5_000}, 0, 5_000},
		{"a number of tokens is not lowered by the answer", sizing.Window{Tokens: 8_000, Answer: 1_000, Threshold: 5_000}, 0, 5_000},
		{"a number of tokens is at most the effective window", sizing.Window{Tokens: 8_000, Answer: 4_000, Threshold: 5_000}, 0, 4_000},
		{"100 tokens is the lowest number", sizing.Window{Tokens: 8_000, Threshold: 100}, 0, 100},
		{"a fraction of a token is dropped", sizing.Window{Tokens: 8_000, Threshold: 100.9}, 0, 100},
		{"a number of tokens above the window", sizing.Window{Tokens: 8_000, Threshold: 1e12}, 0, 8_000},

		{"tools are subtracted, and a tenth of the rest", sizing.Window{Tokens: 8_000}, 1_000, 6_300},
		{"the rest is rounded down", sizing.Window{Tokens: 1_001}, 1_000, 1},
		{"19 less a tenth is 17", sizing.Window{Tokens: 20}, 1, 17},
		{"tools are subtracted from the threshold", sizing.Window{Tokens: 8_000, Threshold: 0.5}, 1_000, 2_700},
		{"tools and the answer are subtracted", sizing.Window{Tokens: 8_000, Answer: 2_000}, 1_000, 4_500},
		{"tools that fill the window leave 1 token", sizing.Window{Tokens: 8_000}, 8_000, 1},
		{"tools larger than the window leave 1 token", sizing.Window{Tokens: 8_000}, 100_000, 1},
		{"tools in the prompt keep the margin and are not subtracted", sizing.Window{Tokens: 5_000, ToolsInPrompt: true}, 0, 4_500},
		{"tools of the largest number leave 1 token", sizing.Window{Tokens: 8_000}, math.MaxInt, 1},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := tt.window.Budget(tt.tools)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

// The margin is computed in whole numbers: floor((base-tools) * 0.9).
func TestTheMarginIsATenthRoundedUp(t *testing.T) {
	const window = 5_000
	for tools := 1; tools < window; tools++ {
		got, err := sizing.Window{Tokens: window}.Budget(tools)
		require.NoError(t, err)
		require.Equal(t, max(1, (window-tools)*9/10), got, "tools of %d tokens", tools)
	}
}

func TestAmbiguousThresholdIsAnError(t *testing.T) {
	for _, threshold := range []float64{
		1.000001, 1.5, 2, 50, 99, 99.999, -0.5, -1, -1_000, math.NaN(), math.Inf(1), math.Inf(-1),
	} {
		_, err := sizing.Window{Tokens: 8_000, Threshold: threshold}.Budget(0)
		ambiguous, ok := errors.AsType[*sizing.ThresholdError](err)
		require.True(t, ok, "%v: %v", threshold, err)
		require.Equal(t, math.Float64bits(threshold), math.Float64bits(ambiguous.Threshold))
	}
	require.EqualError(t, &sizing.ThresholdError{Threshold: 80},
		"sizing: threshold 80 is ambiguous: give a ratio of the window (above 0, up to 1) or a number of tokens (100 or more)")
}

func TestABudgetOfImpossibleNumbersIsAnError(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		window sizing.Window
		tools  int
		want   string
	}{
		{"a negative window", sizing.Window{Tokens: -1}, 0, "sizing: Window.Tokens is -1: want a number above 0"},
		{"a negative window is not an unknown one", sizing.Window{Tokens: -1, AllowUnknown: true}, 0, "sizing: Window.Tokens is -1: want a number above 0"},
		{"a negative answer", sizing.Window{Tokens: 100, Answer: -1}, 0, "sizing: Window.Answer of -1 tokens does not fit a window of 100: lower it"},
		{"an answer as large as the window", sizing.Window{Tokens: 100, Answer: 100}, 0, "sizing: Window.Answer of 100 tokens does not fit a window of 100: lower it"},
		{"negative tools", sizing.Window{Tokens: 100}, -1, "sizing: the tools take -1 tokens: want 0 or more"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := tt.window.Budget(tt.tools)
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestUnknownWindowIsAnError(t *testing.T) {
	_, err := sizing.Window{Answer: 10, Threshold: 0.5}.Budget(0)
	require.ErrorIs(t, err, sizing.ErrUnknownWindow)
	_, err = sizing.Window{}.Effective()
	require.ErrorIs(t, err, sizing.ErrUnknownWindow)
	got, err := sizing.Window{Tokens: 8_000, Answer: 1_000, Threshold: 0.5}.Effective()
	require.NoError(t, err)
	require.Equal(t, 7_000, got)
}

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
	prices, err := modelinfo.Prices("claude-opus-4-5")
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
