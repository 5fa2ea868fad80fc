package sessiontest

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
)

// The functions below do what a session's own do, and fail the test where these fail.

func Open(t testing.TB, path string, o history.Options) *history.Session {
	t.Helper()
	s, err := history.Open(path, o)
	require.NoError(t, err)
	return s
}

// Opened returns the session of a file, with the ids e1, e2 and so on. It is closed at the end of the test.
func Opened(t testing.TB, path string) *history.Session {
	t.Helper()
	s := Open(t, path, history.Options{IDs: numbered.IDs()})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func New(t testing.TB, store storage.Store, o history.Options) *history.Session {
	t.Helper()
	s, err := history.New(t.Context(), store, o)
	require.NoError(t, err)
	return s
}

func Add(t testing.TB, s *history.Session, entries ...entry.Entry) []entry.Entry {
	t.Helper()
	added, err := s.Add(t.Context(), entries...)
	require.NoError(t, err)
	return added
}

func View(t testing.TB, s *history.Session) history.View {
	t.Helper()
	v, err := s.View(t.Context())
	require.NoError(t, err)
	return v
}

func Entry(t testing.TB, s *history.Session, id string) entry.Entry {
	t.Helper()
	e, err := s.Entry(t.Context(), id)
	require.NoError(t, err)
	return e
}

func Latest(t testing.TB, s *history.Session, of entry.Type) (e entry.Entry, found bool) {
	t.Helper()
	e, found, err := s.Latest(t.Context(), of)
	require.NoError(t, err)
	return e, found
}

// Along returns the entries of a path as a session does.
func Along(path []entry.Entry) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		for _, e := range path {
			if !yield(e, nil) {
				return
			}
		}
	}
}
