package sizing

import (
	"fmt"
	"time"

	"github.com/promptree-go/promptree/internal/modelname"
)

// UnknownPricesError is returned for a model that a [PriceTable] has no row for.
type UnknownPricesError struct{ Model string }

func (e *UnknownPricesError) Error() string {
	return fmt.Sprintf("sizing: the prices of model %q are unknown: add a row for it to the table, or write out its Prices", e.Model)
}

// PriceRow holds the prices of a model and their source.
type PriceRow struct {
	// Model is the model's name without a date, such as "claude-opus-4-5". See [PriceTable.Of].
	Model string
	Prices
	// Date is the date on which the source stated the prices, as 2006-01-02.
	Date string
	// Source is the address of the page that states the prices.
	Source string
}

// PriceTable lists the prices of models.
type PriceTable []PriceRow

// Of returns the prices of a model, from the last row that matches, or an [*UnknownPricesError]. The name may end in
// the date of its version and be spelt as a gateway spells it: "anthropic/claude-opus-4.5" and
// "claude-opus-4-5-20251101" match "claude-opus-4-5", but "claude-opus-4-5-fast" does not. A gateway may charge more
// than the row says.
func (t PriceTable) Of(model string) (Prices, error) {
	for i := len(t) - 1; i >= 0; i-- {
		if name := t[i].Model; modelname.Fits(name, model) || modelname.Fits(name+"-20[0-9][0-9]*", model) {
			return t[i].Prices, nil
		}
	}
	return Prices{}, &UnknownPricesError{Model: model}
}

// PublishedPrices returns a new table of the prices that the makers of some models charged for standard requests to
// their own APIs on the date of each row. Prices change: append rows of your own, which take precedence over earlier
// rows of the same model, or use your own table. Lifetimes are the minimum that the provider names.
func PublishedPrices() PriceTable {
	var table PriceTable
	for _, r := range anthropicPrices {
		table = append(table, PriceRow{Model: r.model, Date: r.date, Source: anthropicSource, Prices: Prices{
			Rates:    Rates{Input: r.input, CacheRead: r.read, CacheWrite: 1.25 * r.input, CacheWriteLong: 2 * r.input, Output: 5 * r.input},
			Lifetime: 5 * time.Minute, LongLifetime: time.Hour, LeastCached: r.least,
		}})
	}
	for _, r := range openaiPrices {
		prices := Prices{Rates: Rates{Input: r.input, CacheRead: r.read, Output: r.output}}
		if r.read > 0 {
			prices.Lifetime, prices.LeastCached = 5*time.Minute, 1024
		}
		table = append(table, PriceRow{Model: r.model, Date: "2026-07-02", Source: openaiListing, Prices: prices})
	}
	return append(table, otherPrices...)
}

const anthropicSource = "https://platform.claude.com/docs/en/about-claude/pricing"

// anthropicPrices are Claude's: a cache write costs 1.25 times the input, a write for an hour twice the input, and
// output five times. The minimum cached sizes are those of
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
var anthropicPrices = []struct {
	model       string
	input, read float64
	least       int
	date        string
}{
	{"claude-opus-4-5", 5, 0.50, 4096, "2026-09-23"},
	{"claude-opus-4-6", 5, 0.50, 4096, "2026-09-23"},
	{"claude-opus-4-7", 5, 0.50, 2048, "2026-11-24"},
	{"claude-opus-4-8", 5, 0.50, 1024, "2026-09-23"},
	{"claude-opus-5", 5, 0.50, 512, "2026-09-23"},
	{"claude-opus-5-5", 4, 0.20, 0, "2026-09-23"},
	{"claude-sonnet-4-5", 3, 0.30, 1024, "2026-11-24"},
	{"claude-sonnet-4-6", 3, 0.30, 1024, "2026-09-23"},
	{"claude-sonnet-5", 2, 0.20, 1024, "2026-10-01"},
	{"claude-sonnet-5-5", 2, 0.20, 0, "2026-10-01"},
	{"claude-haiku-4-5", 1, 0.10, 4096, "2026-09-23"},
}

// openaiListing is a public listing that copies the prices of OpenAI's own pages. OpenAI's page of prices does not show its
// earlier models.
const openaiListing = "https://github.com/anomalyco/models.dev/tree/dev/providers/openai/models"

// openaiPrices are those of OpenAI's earlier models that sizing/tiktoken knows the window of. A model without a price for
// cached input has no cache.
var openaiPrices = []struct {
	model               string
	input, read, output float64
}{
	{"gpt-3.5-turbo", 0.50, 0, 1.50},
	{"gpt-4", 30, 0, 60},
	{"gpt-4-turbo", 10, 0, 30},
	{"gpt-4.1", 2, 0.50, 8},
	{"gpt-4.1-mini", 0.40, 0.10, 1.60},
	{"gpt-4.1-nano", 0.10, 0.025, 0.40},
	{"gpt-4o", 2.50, 1.25, 10},
	{"gpt-4o-2024-05-13", 5, 0, 15},
	{"gpt-4o-mini", 0.15, 0.075, 0.60},
	{"gpt-5", 1.25, 0.125, 10},
	{"gpt-5-chat-latest", 1.25, 0.125, 10},
	{"gpt-5-codex", 1.25, 0.125, 10},
	{"gpt-5-mini", 0.25, 0.025, 2},
	{"gpt-5-nano", 0.05, 0.005, 0.40},
	{"gpt-5.1", 1.25, 0.125, 10},
	{"gpt-5.1-chat-latest", 1.25, 0.125, 10},
	{"gpt-5.1-codex", 1.25, 0.125, 10},
	{"gpt-5.1-codex-max", 1.25, 0.125, 10},
	{"gpt-5.1-codex-mini", 0.25, 0.025, 2},
	{"gpt-5.2", 1.75, 0.175, 14},
	{"gpt-5.2-chat-latest", 1.75, 0.175, 14},
	{"gpt-5.2-codex", 1.75, 0.175, 14},
	{"o1", 15, 7.50, 60},
	{"o1-pro", 150, 0, 600},
	{"o3", 2, 0.50, 8},
	{"o3-deep-research", 10, 2.50, 40},
	{"o3-mini", 1.10, 0.55, 4.40},
	{"o3-pro", 20, 0, 80},
	{"o4-mini", 1.10, 0.275, 4.40},
	{"o4-mini-deep-research", 2, 0.50, 8},
}

const (
	openaiSource = "https://developers.openai.com/api/docs/pricing"
	geminiSource = "https://ai.google.dev/gemini-api/docs/pricing"

	// longOpenAI and longGemini are the inputs, in tokens, above which requests cost more.
	longOpenAI = 272_000
	longGemini = 200_000
)

// otherPrices are those of OpenAI and Google. OpenAI's caches keep idle content for at least 5 minutes, and from
// GPT-5.6 on for 30, and charge for writes from then on. Google names no lifetime for its implicit cache. The price of
// GPT-6.1 for a write of 12 hours is not in its row.
var otherPrices = PriceTable{
	// These are the prices that GitHub lists for it; they were not compared with OpenAI's own page.
	{Model: "gpt-5.3-codex", Date: "2026-11-24", Source: "https://raw.githubusercontent.com/github/docs/main/data/tables/copilot/models-and-pricing.yml", Prices: Prices{
		Rates:    Rates{Input: 1.75, CacheRead: 0.175, Output: 14},
		Lifetime: 5 * time.Minute, LeastCached: 1024,
	}},
	{Model: "gpt-5.4", Date: "2026-06-04", Source: openaiSource, Prices: Prices{
		Rates:     Rates{Input: 2.50, CacheRead: 0.25, Output: 15},
		LongInput: longOpenAI, LongRates: Rates{Input: 5, CacheRead: 0.50, Output: 22.50},
		Lifetime: 5 * time.Minute, LeastCached: 1024,
	}},
	{Model: "gpt-5.4-mini", Date: "2026-06-04", Source: openaiSource, Prices: Prices{
		Rates:    Rates{Input: 0.75, CacheRead: 0.075, Output: 4.50},
		Lifetime: 5 * time.Minute, LeastCached: 1024,
	}},
	{Model: "gpt-5.5", Date: "2026-06-04", Source: openaiSource, Prices: Prices{
		Rates:     Rates{Input: 5, CacheRead: 0.50, Output: 30},
		LongInput: longOpenAI, LongRates: Rates{Input: 10, CacheRead: 1, Output: 45},
		Lifetime: 5 * time.Minute, LeastCached: 1024,
	}},
	{Model: "gpt-6.1-sol", Date: "2026-10-13", Source: openaiSource, Prices: Prices{
		Rates:     Rates{Input: 2, CacheRead: 0.10, CacheWrite: 2.50, Output: 10},
		LongInput: longOpenAI, LongRates: Rates{Input: 4, CacheRead: 0.20, CacheWrite: 5, Output: 15},
		Lifetime: 30 * time.Minute, LeastCached: 1024,
	}},
	{Model: "gemini-2.5-flash", Date: "2026-03-01", Source: geminiSource, Prices: Prices{
		Rates: Rates{Input: 0.30, CacheRead: 0.03, Output: 2.50}, LeastCached: 2048,
	}},
	{Model: "gemini-2.5-pro", Date: "2026-03-01", Source: geminiSource, Prices: Prices{
		Rates:     Rates{Input: 1.25, CacheRead: 0.125, Output: 10},
		LongInput: longGemini, LongRates: Rates{Input: 2.50, CacheRead: 0.25, Output: 15}, LeastCached: 2048,
	}},
	{Model: "gemini-3.1-pro-preview", Date: "2026-02-19", Source: geminiSource, Prices: Prices{
		Rates:     Rates{Input: 2, CacheRead: 0.20, Output: 12},
		LongInput: longGemini, LongRates: Rates{Input: 4, CacheRead: 0.40, Output: 18}, LeastCached: 4096,
	}},
}
