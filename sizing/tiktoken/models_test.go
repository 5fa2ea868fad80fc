package tiktoken

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/errtest"
)

func TestModelsHaveTheirEncoding(t *testing.T) {
	for _, tt := range []struct {
		of     *Counter
		models []string
	}{
		{O200k(), []string{
			"gpt-5", "gpt-5-mini", "gpt-5-2025-08-07", "gpt-5.1-codex", "gpt-5.2", "gpt-4.1", "gpt-4.1-nano", "gpt-4.5-preview",
			"gpt-4o", "gpt-4o-mini", "gpt-4o-2024-05-13", "gpt-4o-audio-preview", "chatgpt-4o-latest",
			"o1", "o1-mini", "o1-preview", "o3", "o3-mini", "o3-pro", "o4-mini", "o4-mini-2025-04-16", "gpt-oss-120b",
			"ft:gpt-4o-mini-2024-07-18:team::id", "ft:gpt-4.1", "GPT-4o", "openai/gpt-5", "azure/gpt-4o", "openrouter/openai/gpt-4o",
		}},
		{Cl100k(), []string{
			"gpt-4", "gpt-4-0613", "gpt-4-32k", "gpt-4-turbo", "gpt-4-turbo-2024-04-09", "gpt-4-1106-preview",
			"gpt-3.5-turbo", "gpt-3.5-turbo-0125", "gpt-3.5-turbo-16k", "gpt-35-turbo", "ft:gpt-4-0613:team::id", "text-embedding-3-large",
		}},
	} {
		for _, model := range tt.models {
			counter, err := ForModel(model)
			require.NoError(t, err, model)
			require.Equal(t, tt.of.vocab, counter.vocab, model)
		}
	}
}

func TestAnUnknownModelIsATypedError(t *testing.T) {
	for _, model := range []string{"", "ft:", "*", "openai/", "claude-sonnet-4-6", "gpt-6.1-sol", "my-model"} {
		_, err := ForModel(model)
		var unknown *NoEncodingError
		require.ErrorAs(t, err, &unknown, model)
		require.Equal(t, model, unknown.Model)
		require.ErrorContains(t, err, "name its encoding with New")
		require.ErrorContains(t, err, "sizing/counters")
	}
}

func TestAnUnknownEncodingIsATypedError(t *testing.T) {
	_, err := New("o300k_base")
	require.Equal(t, "o300k_base", errtest.As[*UnknownEncodingError](t, err).Encoding)
	require.EqualError(t, err, `tiktoken: unknown encoding "o300k_base": use o200k_base, cl100k_base, p50k_base or r50k_base`)
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
