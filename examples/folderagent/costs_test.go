package folderagent

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/event"
)

// asks has an agent read a file in each of many rounds, with a model that reports no usage.
func asks(t *testing.T, rounds, window int) (*Agent, Costs) {
	t.Helper()
	var say []chat.Message
	for n := range rounds {
		say = append(say, reads(string(rune('a'+n)), "one.md"))
	}
	prices := sizing.Prices{Rates: sizing.Rates{Input: 5, CacheRead: 0.5, CacheWrite: 6.25, Output: 25}, Lifetime: time.Hour}
	a := &Agent{
		Model: Foretold(&scripted{say: say}, &Forecast{Tokenizer: tokenizer(t), Prices: prices}), Session: &history.Session{}, Tools: toolsOf(t, folder(t, map[string]string{"one.md": strings.Repeat("a line\n", 150)}), ""),
		Summarizer: &scripted{}, Tokenizer: tokenizer(t), Window: sizing.Window{Tokens: window},
		Prices: prices,
	}
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	_, err := a.Ask(t.Context(), "What is one?")
	require.NoError(t, err)
	return a, a.Costs()
}

func TestWithoutACompactionBothCostsAreEqual(t *testing.T) {
	_, costs := asks(t, 8, 100_000)
	require.Positive(t, costs.Spent)
	require.Zero(t, costs.Summaries)
	require.InEpsilon(t, costs.Whole, costs.Spent, 0.05)
}

func TestACompactedSessionCostsItsSummariesToo(t *testing.T) {
	meter := Meter{Prices: sizing.Prices{Rates: sizing.Rates{Input: 5, Output: 25}}}
	meter.AddEvent(event.Event{Kind: event.Done, Asked: event.Asked{Usage: chat.Usage{Input: 1_000_000, Output: 100_000}}})
	require.Equal(t, Costs{Spent: 7.5, Summaries: 7.5}, meter.Costs())
	meter.SummaryPrices = sizing.Prices{Rates: sizing.Rates{Input: 1}}
	meter.AddEvent(event.Event{Kind: event.Done, Asked: event.Asked{Model: Summarizer, Usage: chat.Usage{Input: 1_000_000}}})
	require.InDelta(t, 8.5, meter.Costs().Summaries, 1e-9, "by the prices of the model that wrote it")
	meter.AddEvent(event.Event{Kind: event.Started, Asked: event.Asked{Usage: chat.Usage{Input: 5}}})
	require.InDelta(t, 8.5, meter.Costs().Spent, 1e-9)
}

func TestTheCostWithoutCompactionIncludesTheWholeHistory(t *testing.T) {
	a, costs := asks(t, 8, 100_000)
	require.NoError(t, a.Session.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("It is a file of lines.")}}))
	_, err := a.Ask(t.Context(), "Go on.")
	require.NoError(t, err)
	after := a.Costs()
	require.Greater(t, after.Whole-costs.Whole, 0.5*8*400*0.5e-6, "the whole history is read")
	require.InEpsilon(t, costs.Whole, costs.Spent, 0.05)
	require.Regexp(t, `saved \d+% of \$[\d.]+ without compaction$`, after.String())
	require.NotContains(t, costs.String(), "saved", "nothing was compacted yet")
}
