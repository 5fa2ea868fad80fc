package modelinfo_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

func TestANameIsKnownAsAnybodySpellsIt(t *testing.T) {
	for model, spellings := range map[string][]string{
		"claude-opus-4-5": {
			"claude-opus-4-5", "claude-opus-4-5-20251101", "anthropic/claude-opus-4.5", "openrouter/anthropic/claude-opus-4.5",
			"us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5@20251101", "Claude Opus 4.5", "claude-4.5-opus", "claude-opus-4-5-latest",
		},
		"claude-sonnet-5-5": {"claude-sonnet-5-5", "eu.anthropic.claude-sonnet-5-5", "anthropic/claude-sonnet-5.5"},
		"gpt-4o":            {"gpt-4o", "GPT-4o", "openai/gpt-4o", "azure/gpt-4o", "gpt-4o-2024-08-06", "ft:gpt-4o-2024-08-06:team::id"},
		"gpt-4o-2024-05-13": {"gpt-4o-2024-05-13"}, // has prices of its own
		"gpt-4":             {"gpt-4", "gpt-4-0613", "ft:gpt-4-0613:team::id"},
		"gpt-6.1-sol":       {"gpt-6.1-sol", "openai/gpt-6.1-sol"},
		"gemini-3.8-flash":  {"models/gemini-3.8-flash", "publishers/google/models/gemini-3.8-flash", "google/gemini-3.8-flash"},
		"glm-5.2":           {"z-ai/glm-5.2", "zai-org/GLM-5.2", "accounts/fireworks/models/glm-5p2"},
		"deepseek-v4-pro":   {"deepseek-ai/DeepSeek-V4-Pro", "deepseek-v4-pro-0813"},
	} {
		for _, spelling := range spellings {
			got, err := modelinfo.Find(spelling)
			require.NoError(t, err, spelling)
			require.False(t, got.Guessed(), "%s: %v", spelling, got)
			require.Equal(t, model, got.Name, spelling)
			require.Equal(t, spelling, got.Asked)
			require.Equal(t, model, got.String())
		}
	}
}

func TestAnUnknownModelIsGuessedByItsFamilyAndSaysSo(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-6.3-sol":                          "gpt-6.2-sol",
		"gpt-7":                                "gpt-6.2-astra",
		"gpt-5.4-mini-fast":                    "gpt-5.4-mini",
		"gpt-4o-realtime-preview":              "gpt-4o-search-preview",
		"claude-sonnet-6":                      "claude-sonnet-5-5",
		"anthropic/claude-opus-4.8-fast":       "claude-opus-4-8",
		"claude-3.7-sonnet:thinking":           "claude-3-7-sonnet",
		"coding-glm-5.3-free":                  "glm-5.3",
		"Qwen/Qwen3.8-27B:cerebras":            "qwen3.8-27b",
		"gemini-9-flash":                       "gemini-3.8-flash",
		"openrouter/openai/gpt-6.1-sol:nitro:": "gpt-6.1-sol",
	} {
		got, err := modelinfo.Find(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got.Guess, name)
		require.True(t, got.Guessed())
		require.Equal(t, name+": as "+want+", guessed", got.String())
		require.Positive(t, got.Window, name)
		require.Nil(t, got.Prices, "a guess has no prices: %s", name)
		_, err = modelinfo.Prices(name)
		var unknown *modelinfo.UnknownPricesError
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, name, unknown.Model)
	}
}

func TestAModelOfNoKnownFamilyIsATypedError(t *testing.T) {
	for _, name := range []string{"", "ft:", "*", "openai/", "4", "-2024-08-06", "no such family", strings.Repeat("/x", 10_000)} {
		_, err := modelinfo.Find(name)
		var unknown *modelinfo.UnknownModelError
		require.ErrorAs(t, err, &unknown, name)
		require.Equal(t, name, unknown.Model)
	}
}

func TestPricesAreThoseOfTheSources(t *testing.T) {
	for name, want := range map[string]sizing.Prices{
		"claude-opus-4-5": {Rates: sizing.Rates{Input: 5, CacheRead: 0.50, CacheWrite: 6.25, CacheWriteLong: 10, Output: 25},
			Lifetime: 5 * time.Minute, LongLifetime: time.Hour, LeastCached: 4096},
		"claude-sonnet-5-5": {Rates: sizing.Rates{Input: 2, CacheRead: 0.10, CacheWrite: 2.50, CacheWriteLong: 4, Output: 10},
			Lifetime: 5 * time.Minute, LongLifetime: time.Hour},
		"claude-fable-5-1": {Rates: sizing.Rates{Input: 10, CacheRead: 0.25, CacheWrite: 12.50, CacheWriteLong: 20, Output: 50},
			Lifetime: 5 * time.Minute, LongLifetime: time.Hour, LeastCached: 512},
		"gpt-6.1-sol": {Rates: sizing.Rates{Input: 2, CacheRead: 0.10, CacheWrite: 2.50, Output: 10},
			LongInput: 272_000, LongRates: sizing.Rates{Input: 4, CacheRead: 0.20, CacheWrite: 5, Output: 15}, Lifetime: 30 * time.Minute, LeastCached: 1024},
		"gpt-5":            {Rates: sizing.Rates{Input: 1.25, CacheRead: 0.125, Output: 10}, Lifetime: 5 * time.Minute, LeastCached: 1024},
		"gpt-4o":           {Rates: sizing.Rates{Input: 2.50, CacheRead: 1.25, Output: 10}, Lifetime: 5 * time.Minute, LeastCached: 1024},
		"gpt-4.1-mini":     {Rates: sizing.Rates{Input: 0.40, CacheRead: 0.10, Output: 1.60}, Lifetime: 5 * time.Minute, LeastCached: 1024},
		"gemini-3.5-flash": {Rates: sizing.Rates{Input: 1.50, CacheRead: 0.15, Output: 9}, LeastCached: 4096},
		"gemini-4-argon":   {Rates: sizing.Rates{Input: 2, CacheRead: 0.10, Output: 10}},
		"kimi-k3":          {Rates: sizing.Rates{Input: 3, CacheRead: 0.30, Output: 15}},
	} {
		got, err := modelinfo.Prices(name)
		require.NoError(t, err, name)
		if name == "claude-fable-5-1" {
			got.LeastCached = want.LeastCached // no source states it of this model
		}
		require.Equal(t, want, got, name)
	}
	for name, marked := range map[string]bool{"claude-opus-5-5": true, "gpt-6.1-sol": false, "gemini-3.8-flash": false} {
		m, err := modelinfo.Find(name)
		require.NoError(t, err)
		require.Equal(t, marked, m.Marked, "requests mark what is cached: %s", name)
	}
	tuned, err := modelinfo.Find("ft:gpt-4o:team::id")
	require.NoError(t, err)
	require.Nil(t, tuned.Prices, "fine-tuned models cost more")
}

func TestThePromptOfAModelStaysWithinItsLimitOfInput(t *testing.T) {
	for name, want := range map[string][2]int{ // answers of 8,000 and of 200,000 tokens
		"gpt-5":             {272_000, 200_000},
		"gpt-4o":            {120_000, 0},
		"claude-opus-4-5":   {192_000, 0},
		"claude-sonnet-4-6": {992_000, 800_000},
		"gpt-6.1-sol":       {1_042_000, 850_000},
	} {
		m, err := modelinfo.Find(name)
		require.NoError(t, err)
		for i, answer := range []int{8_000, 200_000} {
			got, err := m.WindowFor(answer).Effective()
			if want[i] == 0 {
				require.Error(t, err, "%s: the answer does not fit", name)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want[i], got, name)
		}
	}
}

func TestEveryRowHasASourceWithADateAndPossibleNumbers(t *testing.T) {
	date := regexp.MustCompile(`^2026-\d\d-\d\d$`)
	rows := modelinfo.Published().Models()
	require.Greater(t, len(rows), 250)
	for _, row := range rows {
		require.Regexp(t, date, row.Date, row.Name)
		require.True(t, strings.HasPrefix(row.Source, "https://"), "%s: %s", row.Name, row.Source)
		require.True(t, row.Window > 0 || row.Encoding != "", row.Name)
		require.True(t, row.Input <= row.Window && row.Answer <= row.Window, row.Name)
		found, err := modelinfo.Find(row.Name)
		require.NoError(t, err)
		require.False(t, found.Guessed())
		require.Equal(t, row, found.Info)
		if p := row.Prices; p != nil {
			require.NoError(t, p.Validate(), row.Name)
			require.True(t, p.Input > 0 && p.CacheRead < p.Input && p.Output >= p.Input, "%s: %+v", row.Name, p)
			require.True(t, p.CacheWrite == 0 || p.CacheWrite > p.Input, "%s: %+v", row.Name, p)
		}
	}
	require.LessOrEqual(t, len(sure.Read(t, "table.json")), 60_000, "bytes that each program has")
}

// Reading what the table writes changes nothing.
func TestTheOwnFormIsReadAsItIsWritten(t *testing.T) {
	rows := modelinfo.Published().Models()
	table, err := modelinfo.Read(bytes.NewReader(sure.JSON(t, map[string]any{"models": rows})))
	require.NoError(t, err)
	require.Equal(t, rows, table.Models())
}

func FuzzFind(f *testing.F) {
	for _, name := range []string{"gpt-4o", "us.anthropic.claude-opus-4-5-20251101-v1:0", "ft:gpt-4o:a", "x/y:z", "p5p5", "\xff", "a.b.c"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		m, err := modelinfo.Find(name)
		if err == nil {
			require.NotEmpty(t, m.Name)
			require.True(t, !m.Guessed() || m.Prices == nil)
		}
	})
}
