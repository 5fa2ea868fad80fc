package modelinfo_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// The catalogues are made: each has its form, and models of tomorrow.
var catalogues = map[string]string{
	"models.dev": `{
		"openai": {"id": "openai", "name": "OpenAI", "models": {
			"gpt-9": {"id": "gpt-9", "limit": {"context": 2000000, "input": 1800000, "output": 200000},
				"cost": {"input": 2, "output": 8, "cache_read": 0.2, "cache_write": 2.5, "tiers": [{"tier": {"size": 272000}, "input": 4, "output": 12, "cache_read": 0.4, "cache_write": 5}]},
				"modalities": {"input": ["text", "image"]}, "reasoning_options": [{"type": "effort", "values": ["low", "high"]}]},
			"gpt-9-2026-12-01": {"id": "gpt-9-2026-12-01", "limit": {"context": 1}}}},
		"reseller": {"id": "reseller", "models": {
			"openai/gpt-9": {"id": "openai/gpt-9", "limit": {"context": 64000}, "cost": {"input": 3, "output": 9}},
			"acme/own-1": {"id": "acme/own-1", "limit": {"context": 50000, "output": 5000}, "cost": {"input": 1, "output": 1}}}}}`,
	"litellm": `{
		"sample_spec": {"max_input_tokens": "a number", "litellm_provider": "one of …", "mode": "one of …"},
		"gpt-9": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 2000000, "max_output_tokens": 200000, "input_cost_per_token": 2e-06,
			"output_cost_per_token": 8e-06, "cache_read_input_token_cost": 2e-07, "cache_creation_input_token_cost": 2.5e-06, "supports_vision": true,
			"input_cost_per_token_above_272k_tokens": 4e-06, "output_cost_per_token_above_272k_tokens": 1.2e-05, "cache_read_input_token_cost_above_272k_tokens": 4e-07},
		"gpt-9-image": {"litellm_provider": "openai", "mode": "image_generation"},
		"reseller/acme/own-1": {"litellm_provider": "reseller", "mode": "chat", "max_input_tokens": 50000, "max_output_tokens": 5000, "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06}}`,
	"catwalk": `[
		{"id": "openai", "models": [{"id": "gpt-9", "cost_per_1m_in": 2, "cost_per_1m_out": 8, "cost_per_1m_in_cached": 2.5, "cost_per_1m_out_cached": 0.2,
			"context_window": 2000000, "default_max_tokens": 20000, "reasoning_levels": ["low", "high"], "supports_attachments": true}]},
		{"id": "reseller", "models": [{"id": "acme/own-1", "cost_per_1m_in": 1, "cost_per_1m_out": 1, "context_window": 50000}]}]`,
}

func TestACatalogueOfTodayIsReadOverTheTableOfYesterday(t *testing.T) {
	old, err := modelinfo.Find("gpt-9")
	require.NoError(t, err)
	require.True(t, old.Guessed())
	for form, data := range catalogues {
		t.Run(form, func(t *testing.T) {
			table, err := modelinfo.Read(strings.NewReader("\ufeff\n" + data))
			require.NoError(t, err)
			got, err := table.Find("openai/gpt-9-2026-12-01")
			require.NoError(t, err)
			require.False(t, got.Guessed())
			require.Equal(t, "openai", got.Maker)
			require.Equal(t, 2_000_000, got.Window)
			require.Contains(t, got.Takes, "image")
			require.InDelta(t, 2, got.Prices.Input, 0)
			require.InDelta(t, 0.2, got.Prices.CacheRead, 0)
			require.InDelta(t, 2.5, got.Prices.CacheWrite, 0)
			if form != "catwalk" { // which states neither
				require.Equal(t, 200_000, got.Answer)
				require.Equal(t, 272_000, got.Prices.LongInput)
				require.InDelta(t, 12, got.Prices.LongRates.Output, 0)
			}

			others, err := table.Find("own-1")
			require.NoError(t, err)
			require.Equal(t, 50_000, others.Window)
			require.Nil(t, others.Prices, "the prices of a reseller are not the maker's")

			kept, err := table.Find("claude-opus-4-5")
			require.NoError(t, err)
			require.Equal(t, 200_000, kept.Window, "what the catalogue does not have is as in the package's table")
		})
	}
	again, err := modelinfo.Find("gpt-9")
	require.NoError(t, err)
	require.Equal(t, old, again, "the package's table does not change")
}

func TestARowPutsWhatItStatesOverWhatWasKnown(t *testing.T) {
	table, err := modelinfo.Read(strings.NewReader(`{
		"windows": {"acme": {"acme-small": 32768}},
		"models": [
			{"name": "claude-opus-4-5", "prices": {"input": 1, "output": 2, "read": 0.5}},
			{"name": "gpt-5", "window": 100000},
			{"name": "acme-large", "window": 65536, "answer": 4096, "takes": "image pdf", "reasoning": "low high",
				"prices": {"input": 0.5, "output": 2, "above": 32000, "long": {"input": 1, "output": 4}, "lifetime": "10m", "longLifetime": "2h", "least": 64}}]}`))
	require.NoError(t, err)
	find := func(name string) modelinfo.Model {
		m, err := table.Find(name)
		require.NoError(t, err)
		require.False(t, m.Guessed())
		return m
	}
	opus := find("claude-opus-4-5")
	require.Equal(t, 200_000, opus.Window)
	require.Equal(t, sizing.Prices{Rates: sizing.Rates{Input: 1, CacheRead: 0.5, Output: 2}, Lifetime: 5 * time.Minute, LongLifetime: time.Hour, LeastCached: 4096},
		*opus.Prices, "rates do not say how the cache works")
	require.Zero(t, find("gpt-5").Input, "a limit of input above the window is that of another window")
	require.Equal(t, 32768, find("acme-small").Window)
	large := find("acme-large")
	require.Equal(t, modelinfo.Words{"image", "pdf"}, large.Takes)
	require.Equal(t, modelinfo.Words{"low", "high"}, large.Reasoning)
	require.Equal(t, sizing.Prices{Rates: sizing.Rates{Input: 0.5, Output: 2}, LongInput: 32_000, LongRates: sizing.Rates{Input: 1, Output: 4},
		Lifetime: 10 * time.Minute, LongLifetime: 2 * time.Hour, LeastCached: 64}, *large.Prices)
}

func TestACatalogueOfOneProviderHasItsPrices(t *testing.T) {
	table, err := modelinfo.Read(strings.NewReader(`{"id": "reseller", "models": [{"id": "acme/own-1", "cost_per_1m_in": 3, "cost_per_1m_out": 9, "context_window": 50000}]}`))
	require.NoError(t, err)
	prices, err := table.Prices("acme/own-1")
	require.NoError(t, err)
	require.InDelta(t, 3, prices.Input, 0)
}

func TestACatalogueThatCannotBeReadIsAnErrorThatSaysWhy(t *testing.T) {
	for data, want := range map[string]string{
		"":                           "form of the catalogue is unknown",
		"[]":                         "form of the catalogue is unknown",
		"{}":                         "form of the catalogue is unknown",
		"<html>":                     "form of the catalogue is unknown",
		`{"gpt-9": {"window": 5}}`:   "form of the catalogue is unknown",
		`{"openai": {"models": {}}}`: "form of the catalogue is unknown",
		`{"models": [{"name": "a", "windw": 5}]}`:                                               `unknown field "windw"`,
		`{"models": [{"window": 5}]}`:                                                           `has the name "": want a model's`,
		`{"models": [{"name": "a", "window": -5}]}`:                                             `"a": a window of -5`,
		`{"models": [{"name": "a", "prices": {"input": -1, "output": 1}}]}`:                     "Prices.Rates.Input is -1",
		`{"models": [{"name": "a", "prices": {"input": 1, "lifetime": "soon"}}]}`:               "invalid duration",
		`{"gpt-9": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": "many"}}`: `"gpt-9"`,
	} {
		_, err := modelinfo.Read(strings.NewReader(data))
		require.ErrorContains(t, err, want, data)
	}
	broken := errors.New("the disk is gone")
	_, err := modelinfo.Read(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	_, err = modelinfo.Read(io.LimitReader(zeros{}, 1<<30))
	require.ErrorContains(t, err, "larger than 64 MB")
}

// zeros is a file without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func FuzzRead(f *testing.F) {
	for _, data := range catalogues {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if table, err := modelinfo.Read(strings.NewReader(data)); err == nil {
			for _, m := range table.Models() {
				found, err := table.Find(m.Name)
				require.NoError(t, err, m.Name)
				_ = found.String()
			}
		}
	})
}
