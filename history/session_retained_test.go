package history_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// retained returns what a compaction at the leaf would retain.
func retained(t testing.TB, s *history.Session) entry.Retained {
	t.Helper()
	c, err := s.Retained(t.Context(), "")
	require.NoError(t, err)
	return c
}

func refIDs(refs []entry.Ref) []string {
	var list []string
	for _, r := range refs {
		list = append(list, r.ID)
	}
	return list
}

// The lists have a limit.
func TestACompactedSessionRetainsTheSameAsOneThatWasNever(t *testing.T) {
	plain, compacted := numbered.Session(), numbered.Session()
	n := 0
	say := func(bodies ...entry.Body) {
		for _, b := range bodies {
			n++
			for _, s := range []*history.Session{plain, compacted} {
				sessiontest.Add(t, s, entry.Entry{ID: fmt.Sprint("n", n), Body: b})
			}
		}
	}
	message := func(m chat.Message) entry.Body { return entry.Message{Message: m} }
	for i := range 1300 {
		call := fmt.Sprint("c", i)
		say(message(chat.UserMessage(fmt.Sprint("question ", i))), message(calls(call, call+"b")), message(done(call)))
		switch {
		case i < 40:
			say(entry.Preamble{Digest: fmt.Sprint("d", i)}, entry.Custom{Name: fmt.Sprint("k", i%30), Data: []byte("1")})
		case i < 130:
			say(entry.Refusal{Model: fmt.Sprint("m", i), Limit: i})
		case i == 131:
			say(entry.Usage{Model: "m129", Usage: chat.Usage{Input: 1000}}, entry.ModelChange{Model: "m128"}, entry.Todos{Text: "go on"})
		}
		if i%50 == 49 {
			require.NoError(t, compacted.Compact(t.Context(), summary("so far", "")))
		}
	}
	got, want := retained(t, compacted), retained(t, plain)
	require.Equal(t, refIDs(want.Head), refIDs(got.Head))
	require.Len(t, got.Head, 64)
	require.Equal(t, refIDs(want.Said), refIDs(got.Said))
	require.Len(t, got.Said, 1000)
	require.Equal(t, "n1", got.Said[0].ID)
	require.Equal(t, 300, got.SaidLeft)
	require.Equal(t, want.Start.ID, got.Start.ID)
	require.NotEmpty(t, got.Start.ID)
	require.Equal(t, want.Calls, got.Calls)
	require.Equal(t, 999, len(got.Calls), "1,000, less one that was answered")
	require.Equal(t, "c1299b", got.Calls[998])
	require.Equal(t, want.Models, got.Models)
	require.Len(t, got.Models, 64)
	require.Equal(t, "m129", got.Models[63].Model)
	require.Len(t, got.Preambles, 16)
	require.Equal(t, want.Latest[entry.TypeTodos].ID, got.Latest[entry.TypeTodos].ID)
	for digest, ref := range want.Preambles {
		require.Equal(t, ref.ID, got.Preambles[digest].ID)
	}
	require.Equal(t, lineCount(t, compacted), got.Lines)

	todos, found, err := compacted.Latest(t.Context(), entry.TypeTodos)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, entry.Todos{Text: "go on"}, todos.Body)
	said, err := compacted.Resolve(t.Context(), got.Said...)
	require.NoError(t, err)
	require.Len(t, said, 1000)
	require.Equal(t, "question 1299", said[999].Message().Text())
	none, err := compacted.Resolve(t.Context(), entry.Ref{ID: "nobody", At: got.Said[3].At})
	require.NoError(t, err)
	require.Empty(t, none)
	moved, err := compacted.Resolve(t.Context(), entry.Ref{ID: "n1", At: got.Said[3].At}, entry.Ref{ID: "n1"})
	require.NoError(t, err)
	require.Len(t, moved, 1, "a position is a hint")
}

// A session that is opened again reads the start of the turn, and nothing between it and what is kept.
func TestACompactionRetainsTheStartOfTheTurnThatItCuts(t *testing.T) {
	store := &storage.Memory{}
	s := sessionIn(t, store, history.Options{IDs: numbered.IDs()})
	require.NoError(t, s.Append(t.Context(), user, answer, user))
	for range 3 {
		require.NoError(t, s.Append(t.Context(), answer, answer, answer))
		require.NoError(t, s.Compact(t.Context(), summary("S", s.Leaf())))
	}
	require.NoError(t, s.Append(t.Context(), answer))
	require.Equal(t, "S | e3: e14() e16()", shape(viewOf(t, s)))
	opened := func(salvage bool, lost ...string) *history.Session {
		damaged := &storage.Memory{}
		copyTo(t, damaged, store)
		for line, err := range store.Read(t.Context(), 0) {
			require.NoError(t, err)
			if slices.Contains(lost, line.ID) {
				line.Data = []byte("{")
				require.NoError(t, damaged.Replace(t.Context(), line))
			}
		}
		return sessionIn(t, damaged, history.Options{Salvage: salvage, Cache: history.NewCache(1 << 20)})
	}
	equal(t, viewOf(t, s), viewOf(t, opened(false, "e1", "e2", "e4", "e5", "e6", "e7", "e8", "e9", "e10", "e11", "e12", "e13")))

	_, err := opened(false, "e3").View(t.Context())
	require.IsType(t, &storage.CorruptError{}, err)
	salvaged := opened(true, "e3")
	require.Equal(t, "S | e1: e14() e16()", shape(viewOf(t, salvaged)), "without e3 the turn before it has no end")
	v, err := salvaged.ViewWith(t.Context(), summary("T", "e16"))
	require.NoError(t, err)
	require.Equal(t, "T | e1: e16()", shape(v))
}

func TestAResultOfACompactedCallIsAccepted(t *testing.T) {
	s := talk(t, user, calls("a", "b"), done("a"))
	for range 3 {
		require.NoError(t, s.Compact(t.Context(), summary("so far", "")))
	}
	require.Error(t, s.Append(t.Context(), done("a")))
	require.Error(t, s.Append(t.Context(), done("c")))
	require.NoError(t, s.Append(t.Context(), done("b")))
	require.Error(t, s.Append(t.Context(), done("b")))
	require.Empty(t, retained(t, s).Calls)
}
