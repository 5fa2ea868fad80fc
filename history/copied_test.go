package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/checksum"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// copyTo appends all lines of a store to another. Their positions may differ there.
func copyTo(t testing.TB, to, from storage.Store) {
	t.Helper()
	end := storage.Position(0)
	for s, err := range from.Read(t.Context(), 0) {
		require.NoError(t, err)
		ends, err := to.Append(t.Context(), end, s.Line)
		require.NoError(t, err)
		end = ends[0]
	}
}

// seen returns the results of a session's methods for every entry.
func seen(t testing.TB, s *history.Session) map[string]any {
	t.Helper()
	ctx := t.Context()
	got := map[string]any{"entries": all(t, s), "leaf": s.Leaf(), "leaves": leaves(t, s), "header": s.Header(), "lines": lineCount(t, s)}
	for _, of := range []entry.Type{"message", "shell", "compaction", "todos", "label", "branch", "clearing", "preamble", "plan", "usage", "refusal"} {
		e, ok, err := s.Latest(ctx, of)
		require.NoError(t, err)
		got["latest "+string(of)] = []any{e, ok}
	}
	for _, e := range all(t, s) {
		v := viewAt(t, s, e.ID)
		one := sessiontest.Entry(t, s, e.ID)
		c, err := s.Retained(ctx, e.ID)
		require.NoError(t, err)
		resolve := func(refs []entry.Ref) []entry.Entry {
			list, err := s.Resolve(ctx, refs...)
			require.NoError(t, err)
			return list
		}
		var preambles, latest []entry.Ref
		for _, ref := range c.Preambles {
			preambles = append(preambles, ref)
		}
		for _, ref := range c.Latest {
			latest = append(latest, ref)
		}
		got["at "+e.ID] = []any{
			fields(v), one, ids(t, s.PathTo(ctx, e.ID)), ids(t, s.Back(ctx, e.ID)), ids(t, s.Abandoned(ctx, "", e.ID)),
			resolve(c.Head), resolve(c.Said), resolve(c.Clearings), resolve(preambles), resolve(latest), c.Start.ID, c.Calls, c.Models, c.Lines,
		}
	}
	return got
}

// Positions in the copy differ.
func TestACopiedSessionIsTheSameAndContinuesTheSameWay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(12)) {
		onDisk, err := storage.OpenFile(onDisk, storage.FileOptions{Disk: &historytest.Disk{}, Sync: storage.SyncNever})
		require.NoError(t, err)
		for name, stores := range map[string][2]storage.Store{"file to memory": {onDisk, &storage.Memory{}}, "memory to file": {&storage.Memory{}, newFile(t)}} {
			s := sessionIn(t, stores[0], history.Options{IDs: numbered.IDs(), Header: entry.Header{ID: "S"}})
			treeAtRandom(t, rand.New(rand.NewPCG(seed, 5)), s)
			copyTo(t, stores[1], stores[0])
			copied := sessionIn(t, stores[1], history.Options{IDs: numbered.IDs()})
			equal(t, seen(t, s), seen(t, copied))
			s = sessionIn(t, stores[0], history.Options{IDs: numbered.IDs()}) // which will have the same ids as the copy
			for _, s := range []*history.Session{s, copied} {
				require.NoError(t, s.Append(t.Context(), chat.UserMessage("on"), calls("new")))
				require.NoError(t, s.Compact(t.Context(), summary("so far", s.Leaf())))
				require.NoError(t, s.Append(t.Context(), done("new"), chat.UserMessage("and on")))
			}
			equal(t, shape(viewOf(t, s)), shape(viewOf(t, copied)))
			equal(t, ids(t, s.PathTo(t.Context(), "")), ids(t, copied.PathTo(t.Context(), "")))
			again := sessionIn(t, stores[1], history.Options{Salvage: true})
			require.Empty(t, again.Skipped(), name)
			equal(t, viewOf(t, copied), viewOf(t, again))
		}
	}
}

func newFile(t testing.TB) *storage.File {
	t.Helper()
	f, err := storage.OpenFile(onDisk, storage.FileOptions{Disk: &historytest.Disk{}, Sync: storage.SyncNever})
	require.NoError(t, err)
	return f
}

// storeOf returns a store with a header and these lines.
func storeOf(t testing.TB, lines ...storage.Line) *storage.Memory {
	t.Helper()
	store := &storage.Memory{}
	_, err := store.Append(t.Context(), 0, append([]storage.Line{{ID: "S", Kind: storage.KindHeader, Data: []byte(header)}}, lines...)...)
	require.NoError(t, err)
	return store
}

// lineAs returns the line of an entry with a body that the package might not write.
func lineAs(kind entry.Type, id, parent, body string) storage.Line {
	l := storage.Line{ID: id, Parent: parent, Kind: string(kind)}
	parentField := ""
	if parent != "" {
		parentField = fmt.Sprintf(`"parent":%q,`, parent)
	}
	l.Data = checksum.Add(fmt.Appendf(nil, `{"type":%q,"id":%q,%s"time":"2026-01-02T03:04:05Z",%q:%s}`, kind, id, parentField, kind, body))
	return l
}

func userLine(id, parent string) storage.Line {
	return lineAs("message", id, parent, `{"role":"user","content":[{"type":"text","text":"`+id+`"}]}`)
}

// With Salvage the line is left out or repaired instead, and references never form a cycle.
func TestALineWithADanglingReferenceIsNamed(t *testing.T) {
	t.Parallel()
	compaction := func(id, parent, cut string) storage.Line {
		return lineAs("compaction", id, parent, `{"messages":[{"role":"user","content":[{"type":"text","text":"S"}]}],`+cut+`}`)
	}
	for _, tt := range []struct {
		rule     string
		lines    []storage.Line
		line     int // in the error, 0 for none
		salvaged string
	}{
		{"a parent that comes later", []storage.Line{userLine("e1", ""), userLine("e2", "e3"), userLine("e3", "e2")}, 3, "e1: | e2: | e3:"},
		{"a parent that is the entry itself", []storage.Line{userLine("e1", ""), userLine("e2", "e2"), userLine("e3", "e2")}, 3, "e1: | e2: | e3:"},
		{"two entries that are each other's parents", []storage.Line{userLine("e1", "e2"), userLine("e2", "e1")}, 2, "e1: | e2:"},
		{"a parent that is the header", []storage.Line{userLine("e1", "S"), userLine("e2", "e1")}, 2, "e1: | e2:"},
		{"a duplicate of the first entry", []storage.Line{userLine("e1", ""), userLine("e2", "e1"), userLine("e1", "e2")}, 4, "e1: | e2:"},
		{"the first kept entry is missing", []storage.Line{userLine("e1", ""), userLine("e2", "e1"), compaction("e3", "e2", `"firstKept":"e9"`), userLine("e4", "e3")}, 4, "S | e4:"},
		{"the last covered entry is missing", []storage.Line{userLine("e1", ""), compaction("e3", "e1", `"lastCovered":"e9"`), userLine("e4", "e3")}, 3, "S | e4:"},
		{"the first kept entry comes after the compaction", []storage.Line{userLine("e1", ""), compaction("e2", "e1", `"firstKept":"e3"`), userLine("e3", "e2")}, 3, "S | e3:"},
		{"the first kept entry is on another branch", []storage.Line{userLine("e1", ""), userLine("e2", "e1"), userLine("e3", "e1"), compaction("e4", "e3", `"firstKept":"e2"`)}, 5, "S | e3:"},
		{"a compaction that keeps only itself is valid", []storage.Line{userLine("e1", ""), compaction("e2", "e1", `"firstKept":"e2"`), userLine("e3", "e2")}, 0, "S | e3:"},
		{"a compaction that follows an entry covered by another is valid", []storage.Line{
			userLine("e1", ""), userLine("e2", "e1"), compaction("e3", "e2", `"firstKept":"e2"`), compaction("e4", "e1", `"firstKept":"e1"`), userLine("e5", "e4"),
		}, 0, "S | e1: | e5:"},
		{"the first kept entry is an unreadable line", []storage.Line{
			userLine("e1", ""), {ID: "e2", Parent: "e1", Kind: "message", Data: []byte("garbage")}, userLine("e3", "e2"), compaction("e4", "e3", `"firstKept":"e2"`), userLine("e5", "e4"),
		}, 3, "S | e3: | e5:"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s, err := history.New(t.Context(), storeOf(t, tt.lines...), history.Options{})
			if tt.line == 0 {
				require.NoError(t, err)
				_ = viewOf(t, s)
			} else {
				require.Equal(t, tt.line, errorAs[*storage.CorruptError](t, err).Line)
			}
			s = sessionIn(t, storeOf(t, tt.lines...), history.Options{Salvage: true, IDs: numbered.IDs()})
			require.Equal(t, tt.salvaged, shape(viewOf(t, s)))
			before := count(t, s)
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")))
			require.NoError(t, s.Compact(t.Context(), summary("so far", s.Leaf())))
			require.Equal(t, before+2, count(t, s))
			for _, e := range all(t, s) {
				require.NotEmpty(t, ids(t, s.PathTo(t.Context(), e.ID)))
			}
		})
	}
}

// Another program may have written the compaction, so its references may be wrong and its lists of any length.
func TestASessionWorksWhateverItsCompactionsRetain(t *testing.T) {
	t.Parallel()
	var refs, preambles, models, calls []string
	for i := range 20_000 {
		refs = append(refs, fmt.Sprintf(`{"id":"x%d","at":%d}`, i, i-3))
		preambles = append(preambles, fmt.Sprintf(`"d%d":{"id":"x%d","at":%d}`, i, i, i))
		models = append(models, fmt.Sprintf(`{"model":"m%d"}`, i))
		calls = append(calls, fmt.Sprintf(`"c%d"`, i))
	}
	all := strings.Join(refs, ",")
	retained := `{"lines":-7,"head":[` + all + `],"clearings":[` + all + `],"said":[` + all + `],"calls":[` + strings.Join(calls, ",") +
		`],"latest":{"todos":{"id":"e1","at":-5},"label":{"id":"x","at":999999999999},"shell":{"id":"e2","at":2},"later":{"id":"e1"}},` +
		`"preambles":{` + strings.Join(preambles, ",") + `},"models":[` + strings.Join(models, ",") + `]}`
	lines := []storage.Line{
		userLine("e1", ""), userLine("e2", "e1"),
		lineAs("compaction", "e3", "e2", `{"messages":[{"role":"user","content":[{"type":"text","text":"S"}]}],"firstKept":"e2","retained":`+retained+`}`),
		userLine("e4", "e3"),
	}
	for name, store := range map[string]storage.Store{"memory": &storage.Memory{}, "file": newFile(t)} {
		t.Run(name, func(t *testing.T) {
			copyTo(t, store, storeOf(t, lines...))
			s := sessionIn(t, store, history.Options{IDs: numbered.IDs()})
			require.Equal(t, "S | e2: | e4:", shape(viewOf(t, s)))
			for _, of := range []entry.Type{"todos", "label", "shell", "later", "preamble"} {
				_, ok := sessiontest.Latest(t, s, of)
				require.False(t, ok, of)
			}
			require.Equal(t, 5, lineCount(t, s))
			require.NoError(t, s.Compact(t.Context(), summary("so far", "e4")))
			c := list(t, s.Back(t.Context(), ""))[0].Compaction().Retained
			require.Len(t, c.Head, 64)
			require.Len(t, c.Clearings, 64)
			require.Len(t, c.Said, 1000)
			require.Equal(t, "x0", c.Said[0].ID, "the first message stays")
			require.Equal(t, "e4", c.Said[999].ID)
			require.Len(t, c.Calls, 1000)
			require.Len(t, c.Preambles, 16)
			require.Len(t, c.Models, 64)
			found, err := s.Resolve(context.Background(), slices.Concat(c.Head, c.Said, c.Clearings)...)
			require.NoError(t, err)
			require.Len(t, found, 1)
		})
	}
}
