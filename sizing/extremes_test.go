package sizing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/sizing"
)

func TestAWindowOfAnyNumbersHasABudgetWithinItOrIsAnError(t *testing.T) {
	extremes.Each(sizing.Window{Tokens: 1000, Answer: 10, Threshold: 0.5}, func(field string, number any, w sizing.Window) {
		for _, tools := range extremes.Ints {
			budget, err := w.Budget(tools)
			if err != nil {
				continue
			}
			require.Positive(t, budget, "%s %v, tools %d", field, number, tools)
			require.LessOrEqual(t, budget, max(1, w.Tokens-w.Answer), "%s %v, tools %d", field, number, tools)
		}
	})
	for _, c := range []struct {
		window      sizing.Window
		tools, want int
	}{
		{sizing.Window{Tokens: math.MaxInt}, 0, math.MaxInt},
		{sizing.Window{Tokens: math.MaxInt, Threshold: 1}, 0, math.MaxInt},
		{sizing.Window{Tokens: math.MaxInt, Answer: 7, Threshold: math.MaxFloat64}, 0, math.MaxInt - 7},
		{sizing.Window{Tokens: math.MaxInt}, 1, (math.MaxInt - 1) / 10 * 9},
		{sizing.Window{Tokens: 1000}, math.MaxInt, 1},
	} {
		budget, err := c.window.Budget(c.tools)
		require.NoError(t, err)
		require.InEpsilon(t, c.want, budget, 1e-9, "%+v", c)
	}
}

func TestCountsOfAnyNumbersAreNotBelowZero(t *testing.T) {
	m := chat.UserMessage("one two three")
	request := chat.Request{Messages: []chat.Message{m}}
	answer := chat.AssistantMessage("four five")
	again := chat.Request{Messages: []chat.Message{m, answer, m}}
	response := chat.Response{Message: answer, Usage: chat.Usage{Input: 10, Output: 5, CacheRead: 1, CacheWrite: 1}}
	counts := func(counter chat.Tokenizer, field string, number any) {
		opaque := chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("a"), chat.Opaque{Value: []byte("{}"), Tokens: math.MaxInt}, chat.Opaque{Tokens: math.MaxInt}}}
		for _, n := range []int{
			counter.CountText("one two three"), counter.CountMessage(m), counter.CountMessage(opaque), counter.CountPart(opaque.Content[1]),
			counter.CountTools([]chat.Tool{{Name: "read"}}),
		} {
			require.GreaterOrEqual(t, n, 0, "%s %v", field, number)
		}
	}
	extremes.Each(sizing.Estimator{CharsPerToken: 3, MessageChars: 10}, func(field string, number any, e sizing.Estimator) { counts(e, field, number) })
	counts(sizing.Estimator{CharsPerToken: math.SmallestNonzeroFloat64}, "CharsPerToken", "the smallest")
	extremes.Each(response, func(field string, number any, r chat.Response) {
		counter := &sizing.Calibrated{Base: sizingtest.Quarter{}}
		counter.Observe(request, r)
		counter.Observe(again, r)
		counter.Observe(again, response)
		counts(counter, field, number)
		counts(counter.Safe(), field, number)
		require.False(t, math.IsNaN(counter.Margin()), "%s %v", field, number)
		require.GreaterOrEqual(t, counter.CountRequest(again), 0, "%s %v", field, number)
	})
	huge := &sizing.Calibrated{}
	huge.Observe(request, chat.Response{Usage: chat.Usage{Input: math.MaxInt}})
	require.Equal(t, math.MaxInt, huge.CountRequest(request), "it is not 0")
}
