package history_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
)

// treeAtRandom adds entries of every type to a session, on branches that start anywhere.
func treeAtRandom(t testing.TB, r *rand.Rand, s *history.Session) {
	t.Helper()
	known := []string{}
	var open []string // ids of calls on any branch
	for n := range 10 + r.IntN(60) {
		e := entry.Entry{}
		if len(known) > 0 && r.IntN(8) == 0 {
			e.Parent = known[r.IntN(len(known))]
		}
		switch r.IntN(14) {
		case 0, 1:
			e.Body = entry.Message{Message: chat.UserMessage(fmt.Sprint("u", n))}
		case 2, 3, 4, 5:
			m := chat.AssistantMessage(fmt.Sprint("a", n))
			for i := range r.IntN(4) {
				id := fmt.Sprint("c", n, "-", i)
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: id, Name: "run", Arguments: "{}"})
				open = append(open, id)
			}
			e.Body = entry.Message{Message: m}
		case 6, 7, 8, 9:
			if len(open) == 0 {
				continue
			}
			e.Body = entry.Message{Message: done(open[len(open)-1-r.IntN(min(len(open), 4))])}
		case 10:
			e.Body = entry.Shell{Command: "ls", Output: fmt.Sprint(n), Hidden: r.IntN(3) == 0}
		case 11:
			e.Body = []entry.Body{
				entry.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text(fmt.Sprint(n))}},
				entry.BranchSummary{Summary: entry.Summary{Text: fmt.Sprint(n)}},
				entry.Label{Target: "e1", Text: "x"},
				entry.Todos{Text: "x"},
			}[r.IntN(4)]
		case 12:
			if len(known) > 0 {
				require.NoError(t, s.Branch(t.Context(), known[r.IntN(len(known))]))
				known = append(known, s.Leaf())
			}
			continue
		case 13:
			c := summary(fmt.Sprint("S", n), "")
			if len(known) > 0 && r.IntN(4) > 0 {
				c.FirstKept = known[len(known)-1-r.IntN(min(len(known), 10))]
			} else if len(known) > 0 && r.IntN(2) > 0 {
				c.LastCovered = known[len(known)-1-r.IntN(min(len(known), 5))]
			}
			if r.IntN(2) == 0 {
				c.Thinking = []chat.Thinking{{Text: "hm", Signature: fmt.Sprint(n)}}
			}
			e.Body = c
		}
		before := len(all(t, s))
		added, err := s.Add(t.Context(), e)
		if err != nil { // a result without its call, or an invalid cut
			require.Len(t, all(t, s), before)
			continue
		}
		known = append(known, added[0].ID)
	}
}

// requireEveryPath checks the view at each entry of a random tree: it is valid, the same as in a session that has only
// the entry's path, and the same after the session is opened again.
func requireEveryPath(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	path := tempFile(t)
	s := openedWith(t, path, history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Sync: storage.SyncNever}})
	treeAtRandom(t, r, s)
	views := map[string][]chat.Message{}
	for _, e := range all(t, s) {
		linear := numbered.Session()
		for _, p := range list(t, s.PathTo(t.Context(), e.ID)) {
			_, err := linear.Add(t.Context(), p)
			require.NoError(t, err, "%s on the path to %s", p.ID, e.ID)
		}
		v := viewAt(t, s, e.ID)
		equal(t, viewOf(t, linear), v)
		views[e.ID] = v.Messages()
		require.NoError(t, chat.Validate(append(v.Messages(), chat.UserMessage("on"))), "at %s", e.ID)
		for _, other := range []string{s.Leaf(), "e1"} {
			ancestor, err := s.Ancestor(t.Context(), e.ID, other)
			require.NoError(t, err)
			require.Len(t, ids(t, s.PathTo(t.Context(), e.ID)), len(ids(t, s.Abandoned(t.Context(), e.ID, other)))+lengthTo(t, s, ancestor))
		}
	}
	leaf := s.Leaf()
	require.NoError(t, s.Close())
	again := readOnly(t, path)
	require.Equal(t, leaf, again.Leaf())
	for id, want := range views {
		equal(t, want, viewAt(t, again, id).Messages())
	}
}

// lengthTo returns the number of entries on the path to an entry, 0 for "".
func lengthTo(t testing.TB, s *history.Session, id string) int {
	t.Helper()
	if id == "" {
		return 0
	}
	return len(ids(t, s.PathTo(t.Context(), id)))
}

func TestTheViewAtAnyEntryDependsOnlyOnItsPath(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(60)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { requireEveryPath(t, seed) })
	}
}

func FuzzTree(f *testing.F) { extremes.FuzzSeeds(f, 1, requireEveryPath) }
