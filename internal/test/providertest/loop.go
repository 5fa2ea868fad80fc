package providertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/mirror"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Mirror returns a mirror of a session for the messages of an SDK's loop, and the function that closes its compactor.
func Mirror(s *history.Session, tokenizer chat.Tokenizer, budget int) (*mirror.Mirror[chat.Message], func() error) {
	compactor := &summarize.Compactor{
		Session: s, Policy: compacttest.Unjudged(a3s.Policy()),
		Target: policy.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: budget},
	}
	return mirror.New(compactor), compactor.Close
}

// Kept returns the messages that a session has of a loop, which must have been compacted.
func Kept(t testing.TB, s *history.Session) (list []chat.Message) {
	t.Helper()
	view, err := s.View(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, view.Compacted)
	for e, err := range s.PathTo(t.Context(), "") {
		require.NoError(t, err)
		if m := e.Message(); m.Role != "" {
			list = append(list, m)
		}
	}
	return list
}
