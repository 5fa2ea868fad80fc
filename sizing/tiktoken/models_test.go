package tiktoken

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing"
)

func TestModelsHaveTheirEncoding(t *testing.T) {
	for _, tt := range []struct {
		encoding *encoding
		models   []string
	}{
		{o200kBase(), []string{
			"gpt-5", "gpt-5-mini", "gpt-5-2025-08-07", "gpt-5.1-codex", "gpt-5.2", "gpt-4.1", "gpt-4.1-nano", "gpt-4.5-preview",
			"gpt-4o", "gpt-4o-mini", "gpt-4o-2024-05-13", "gpt-4o-audio-preview", "chatgpt-4o-latest",
			"o1", "o1-mini", "o1-preview", "o3", "o3-mini", "o3-pro", "o4-mini", "o4-mini-2025-04-16", "gpt-oss-120b",
			"ft:gpt-4o-mini-2024-07-18:team::id", "ft:gpt-4.1", "GPT-4o", "openai/gpt-5", "azure/gpt-4o", "openrouter/openai/gpt-4o",
		}},
		{cl100kBase(), []string{
			"gpt-4", "gpt-4-0613", "gpt-4-32k", "gpt-4-turbo", "gpt-4-turbo-2024-04-09", "gpt-4-1106-preview",
			"gpt-3.5-turbo", "gpt-3.5-turbo-0125", "gpt-3.5-turbo-16k", "gpt-35-turbo", "ft:gpt-4-0613:team::id", "text-embedding-3-large",
		}},
	} {
		for _, model := range tt.models {
			f, ok := familyOf(model)
			require.True(t, ok, model)
			require.Equal(t, tt.encoding.vocab, f.encoding().vocab, model)
			_, err := ForModel(model)
			require.NoError(t, err)
		}
	}
}

func TestTheLongestFamilyNameThatMatchesWins(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-4": "gpt-4", "gpt-4-0613": "gpt-4-*", "gpt-4o": "gpt-4o*", "gpt-4o-mini-2024-07-18": "gpt-4o-mini*",
		"gpt-4.1-mini": "gpt-4.1-mini*", "gpt-5.1": "gpt-5*", "gpt-5-nano": "gpt-5-nano*",
	} {
		f, _ := familyOf(model)
		require.Equal(t, want, f.name, model)
	}
}

func TestAnUnknownModelIsATypedError(t *testing.T) {
	for _, model := range []string{"", "gpt", "gpt-4x", "gpt-6", "claude-sonnet-4", "ft:", "*", "my-gpt-4o", "openai/", "other/gpt-4o"} {
		_, err := ForModel(model)
		var unknown *UnknownModelError
		require.ErrorAs(t, err, &unknown, model)
		require.Equal(t, model, unknown.Model)
		_, err = WindowOf(model)
		require.ErrorAs(t, err, &unknown, model)
		require.Equal(t, model, unknown.Model)
		require.ErrorContains(t, err, "name its encoding with New")
		require.ErrorContains(t, err, "sizing.Calibrated")
	}
}

func TestAnUnknownEncodingIsATypedError(t *testing.T) {
	_, err := New("o300k_base")
	unknown, ok := errors.AsType[*UnknownEncodingError](err)
	require.True(t, ok)
	require.Equal(t, "o300k_base", unknown.Encoding)
	require.EqualError(t, err, `tiktoken: unknown encoding "o300k_base": use o200k_base, cl100k_base, p50k_base or r50k_base`)
}

func TestModelsHaveTheirDocumentedWindow(t *testing.T) {
	for model, tokens := range map[string]int{
		"gpt-4o": 128_000, "gpt-4o-2024-08-06": 128_000, "ft:gpt-4o-2024-08-06:team::id": 128_000, "gpt-4-turbo-2024-04-09": 128_000,
		"gpt-4.1-mini-2025-04-14": 1_047_576, "o3-mini": 200_000, "o1-preview": 128_000,
		"gpt-4": 8_192, "gpt-4-32k": 32_768, "gpt-3.5-turbo": 16_385, "gpt-3.5-turbo-0125": 16_385,
		"gpt-5": 272_000, "gpt-5-mini-2025-08-07": 272_000, "gpt-5-chat-latest": 128_000,
	} {
		window, err := WindowOf(model)
		require.NoError(t, err, model)
		require.Equal(t, sizing.Window{Tokens: tokens, Answer: ReplyPriming}, window, model)
		_, err = ForModel(model)
		require.NoError(t, err, "a model with a window has an encoding: %s", model)
	}
}

func TestWindowOfAnotherModelOfTheFamilyIsNotGuessed(t *testing.T) {
	for _, model := range []string{"gpt-4o-realtime-preview", "gpt-4o-2024", "gpt-4o-2024-08-0x", "gpt-4-vision", "2024-08-06", "-2024-08-06"} {
		_, err := WindowOf(model)
		var unknown *UnknownModelError
		require.ErrorAs(t, err, &unknown, model)
	}
}

func TestCountersShareTheirTableAndNothingElse(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, b := newTestCounter(t, "o200k_base"), newTestCounter(t, "o200k_base")
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "neither copies a table of 5 MB")
	require.NotSame(t, a.memory, b.memory)
	require.Equal(t, 1, a.CountText(strings.Repeat(" ", 64)))
}
