package replay

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

func TestAScriptAnswersWithTheRecordedSummaries(t *testing.T) {
	s := opened(t, generatedSession)
	summaries := recordedSummaries(s.recording)
	require.Len(t, summaries, 2)
	model, err := modelNamed(modelScript, s.recording, counter(t))
	require.NoError(t, err)
	for _, want := range []string{summaries[0], summaries[1], summaries[1]} {
		response, err := model.Generate(t.Context(), chat.Request{})
		require.NoError(t, err)
		require.Contains(t, response.Message.Text(), want)
	}
	response, err := model.Generate(t.Context(), chat.Request{MaxTokens: 400})
	require.NoError(t, err)
	require.Less(t, counter(t).CountMessage(response.Message), 200, "half of the tokens are for thinking")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = model.Generate(ctx, chat.Request{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAScriptAnswersWithoutRecordedSummaries(t *testing.T) {
	s := opened(t, written(t, "s.jsonl", talk...))
	model, err := modelNamed(modelScript, s.recording, counter(t))
	require.NoError(t, err)
	response, err := model.Generate(t.Context(), chat.Request{})
	require.NoError(t, err)
	require.Contains(t, response.Message.Text(), noSummary)
}
