package endless_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/internal/endless"
)

func TestAnAnswerOfUsualLengthIsReturnedAsItIs(t *testing.T) {
	want := chat.Response{Message: chat.AssistantMessage("Three ships."), Usage: chat.Usage{Output: 3}, StopReason: chat.StopMaxTokens}
	got, err := endless.Generate(t.Context(), chat.Request{MaxTokens: 10}, func(_ context.Context, r chat.Request) (chat.Response, error) {
		r.Stream(chat.Text("Three ships."))
		return want, nil
	})
	require.NoError(t, err)
	require.Equal(t, want, got)
	down := errors.New("down")
	_, err = endless.Generate(t.Context(), chat.Request{}, func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{}, down })
	require.Equal(t, down, err)
}

func TestAnEndlessAnswerIsCutOffWhileItStreams(t *testing.T) {
	streamed := 0
	got, err := endless.Generate(t.Context(), chat.Request{MaxTokens: 1000}, func(ctx context.Context, r chat.Request) (chat.Response, error) {
		for ctx.Err() == nil {
			r.Stream(chat.Text(strings.Repeat("ü", 500)))
			streamed += 1000
		}
		return chat.Response{}, context.Cause(ctx)
	})
	require.NoError(t, err)
	require.Less(t, streamed, 40_000)
	require.True(t, strings.HasPrefix(got.Message.Text(), "üüü"))
	require.Len(t, got.Message.Text(), 16*1000+16<<10)
}

func TestAnAnswerThatIsFarTooLongIsCut(t *testing.T) {
	got, err := endless.Generate(t.Context(), chat.Request{MaxTokens: 1}, func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage(strings.Repeat("a", 1<<20)), Usage: chat.Usage{Output: 9}}, nil
	})
	require.NoError(t, err)
	require.Len(t, got.Message.Text(), 16+16<<10)
	require.Equal(t, 9, got.Usage.Output)
}

func TestEndlessThinkingLeavesWhatWasSaid(t *testing.T) {
	got, err := endless.Generate(t.Context(), chat.Request{}, func(ctx context.Context, r chat.Request) (chat.Response, error) {
		for ctx.Err() == nil {
			r.Stream(chat.Thinking{Text: strings.Repeat("hm ", 1000)})
		}
		return chat.Response{}, context.Cause(ctx)
	})
	require.NoError(t, err)
	require.Empty(t, got.Message.Text())
}
