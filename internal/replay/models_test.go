package replay

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/replay/prefix"
)

// A message of one word takes 5 tokens.
func TestAMeterCountsRequestsAndAnswers(t *testing.T) {
	c := counter(t)
	m := &meter{tokenizer: c, prefix: prefix.Prefix{Tokenizer: c}, Model: chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		if len(req.Messages) == 1 {
			return chat.Response{}, context.DeadlineExceeded
		}
		return chat.Response{Message: chat.AssistantMessage("summary")}, nil
	})}
	one, two := chat.UserMessage("one"), chat.UserMessage("two")
	tokens, cached := m.sends([]chat.Message{one})
	require.Equal(t, []int{5, 0}, []int{tokens, cached})
	_, err := m.Generate(t.Context(), chat.Request{Messages: []chat.Message{one, two}})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), chat.Request{Messages: []chat.Message{two}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, Calls{Number: 2, Sent: 15, Cached: 5, Answered: 5}, m.total())
	require.Len(t, m.taken(), 2)
	require.Empty(t, m.taken())
	tokens, cached = m.sends([]chat.Message{one, two}) // the requests for summaries do not change the agent's prefix
	require.Equal(t, []int{10, 5}, []int{tokens, cached})
}
