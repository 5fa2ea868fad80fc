package history_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// note adds a custom entry.
func note(t testing.TB, s *history.Session, name, data string) {
	t.Helper()
	sessiontest.Add(t, s, entry.Entry{Body: entry.Custom{Name: name, Data: json.RawMessage(data)}})
}

// customs returns the custom entries of names with a prefix, as name=data.
func customs(t testing.TB, s *history.Session, id, prefix string) []string {
	t.Helper()
	list, err := s.Customs(t.Context(), id, prefix)
	require.NoError(t, err)
	var texts []string
	for _, e := range list {
		b := e.Body.(entry.Custom)
		texts = append(texts, b.Name+"="+string(b.Data))
	}
	return texts
}

func TestTheNewestCustomEntryOfEachNameOutlivesCompactionsAndReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	s := openedWith(t, path, history.Options{})
	check := func(want ...string) {
		t.Helper()
		require.Equal(t, want, customs(t, s, "", "k/"))
		require.NoError(t, s.Close())
		s = openedWith(t, path, history.Options{})
		require.Equal(t, want, customs(t, s, "", "k/"))
	}
	say := func() { require.NoError(t, s.Append(t.Context(), chat.UserMessage("u"), chat.AssistantMessage("a"))) }
	compact := func() { require.NoError(t, s.Compact(t.Context(), summary("so far", ""))) }
	say()
	note(t, s, "k/a", "1")
	note(t, s, "other", "0")
	note(t, s, "k/b", "2")
	note(t, s, "k/a", "3")
	check("k/b=2", "k/a=3")
	compact()
	check("k/b=2", "k/a=3")
	say()
	before := s.Leaf()
	note(t, s, "k/b", "4")
	note(t, s, "k/c", "5")
	check("k/a=3", "k/b=4", "k/c=5")
	require.Equal(t, []string{"k/b=2", "k/a=3"}, customs(t, s, before, "k/"), "of an earlier entry")
	compact()
	compact()
	note(t, s, "k/a", "") // it ends
	check("k/b=4", "k/c=5")
	compact()
	check("k/b=4", "k/c=5")
	require.NoError(t, s.Branch(t.Context(), before))
	check("k/b=2", "k/a=3")
	require.Equal(t, []string{"other=0"}, customs(t, s, "", "oth"))
	require.NoError(t, s.Close())
}

func TestACompactionRetainsABoundedNumberOfNames(t *testing.T) {
	s := talk(t, userSays("u"), agentSays("a"))
	for i := range 300 {
		note(t, s, fmt.Sprint("k/", i), "1")
	}
	require.Len(t, customs(t, s, "", "k/"), 300)
	require.NoError(t, s.Compact(t.Context(), summary("so far", "")))
	left := customs(t, s, "", "k/")
	require.Len(t, left, 256)
	require.Equal(t, "k/44=1", left[0])
}

func TestAnErasedCustomEntryEndsItsName(t *testing.T) {
	s := talk(t, userSays("u"), agentSays("a"))
	note(t, s, "k/a", "1")
	id := s.Leaf()
	require.NoError(t, s.Compact(t.Context(), summary("so far", "")))
	erase(t, s, id)
	require.Empty(t, customs(t, s, "", "k/"))
}
