package summarize_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
)

func TestAContextLimitIsARefusalInTokensWithItsSizes(t *testing.T) {
	for _, tt := range []struct {
		rule string
		err  error
		want summarize.TooLarge
		ok   bool
	}{
		{"the text of a provider", errors.New("prompt is too long: 219898 tokens > 200000 maximum"), summarize.TooLarge{Limit: 200000, Tokens: 219898}, true},
		{"an error of package chat", &chat.ContextLimitError{Limit: 8192, Tokens: 9000}, summarize.TooLarge{Limit: 8192, Tokens: 9000}, true},
		{"HTTP 413 without words", errors.New("413 status code (no body)"), summarize.TooLarge{}, true},
		{"bytes", errors.New("413 request_too_large: Request exceeds the maximum size"), summarize.TooLarge{}, false},
		{"HTTP 400 without words", errors.New("400 status code (no body)"), summarize.TooLarge{}, false},
		{"a rate limit", errors.New("429 This request exceeds the limit of 30000 tokens per minute"), summarize.TooLarge{}, false},
		{"no error", nil, summarize.TooLarge{}, false},
	} {
		over, ok := summarize.ContextLimit(tt.err)
		require.Equal(t, tt.ok, ok, tt.rule)
		require.Equal(t, tt.want, over, tt.rule)
	}
}
