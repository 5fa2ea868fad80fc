package folderagent

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
)

func TestTheCostWithoutCompactionIsThatOfTheWholeHistory(t *testing.T) {
	w, a := watched(t, map[string]string{"one.md": strings.Repeat("a line\n", 150)})
	prices := sizing.Prices{Rates: sizing.Rates{Input: 5, CacheRead: 0.5, CacheWrite: 6.25, Output: 25}, Lifetime: time.Hour}
	script := reads("one.md", 8)
	a.Compactor.Target.Prices, a.Compactor.Target.Model = prices, Foretold(script, tiktoken.O200k(), prices)
	_, err := a.Run(t.Context(), "What is one?")
	require.NoError(t, err)
	costs, err := w.Costs(t.Context())
	require.NoError(t, err)
	require.Positive(t, costs.Spent)
	require.Zero(t, costs.Summaries)
	require.InEpsilon(t, costs.Whole, costs.Spent, 0.05)
	require.NotContains(t, costs.String(), "saved", "nothing was compacted yet")

	require.NoError(t, a.Compactor.Session.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("It is a file of lines.")}}))
	script.Steps = append(script.Steps, models.Say("Done."))
	_, err = a.Run(t.Context(), "Go on.")
	require.NoError(t, err)
	after, err := w.Costs(t.Context())
	require.NoError(t, err)
	require.Greater(t, after.Whole-costs.Whole, 0.5*8*400*0.5e-6, "the whole history is read")
	require.GreaterOrEqual(t, after.Needed, costs.Needed)
	require.Regexp(t, `saved \d+% of \$[\d.]+ without compaction$`, Costs{Spent: 1, Whole: 2}.String())
}

func TestASummaryCostsByThePricesOfItsModel(t *testing.T) {
	w, a := watched(t, nil)
	a.Compactor.Target.Prices = sizing.Prices{Rates: sizing.Rates{Input: 5, Output: 25}}
	a.Compactor.Models = map[string]summarize.Target{"small": {Prices: sizing.Prices{Rates: sizing.Rates{Input: 1}}}}
	w.event(event.Event{Kind: event.Done, Asked: event.Asked{Usage: chat.Usage{Input: 1_000_000, Output: 100_000}}})
	require.InDelta(t, 7.5, w.summaries, 1e-9)
	w.event(event.Event{Kind: event.Failed, Asked: event.Asked{Model: "small", Usage: chat.Usage{Input: 1_000_000}}})
	require.InDelta(t, 8.5, w.summaries, 1e-9)
	w.event(event.Event{Kind: event.Started, Asked: event.Asked{Usage: chat.Usage{Input: 5}}})
	require.InDelta(t, 8.5, w.summaries, 1e-9)
}
