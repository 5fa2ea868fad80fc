package history_test

import (
	"cmp"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sealed"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// ids lists the ids of entries.
func ids(t testing.TB, entries iter.Seq2[entry.Entry, error]) []string {
	t.Helper()
	got := []string{}
	for _, e := range list(t, entries) {
		got = append(got, e.ID)
	}
	return got
}

// add adds entries with these bodies.
func add(t testing.TB, s *history.Session, bodies ...entry.Body) {
	t.Helper()
	for _, b := range bodies {
		sessiontest.Add(t, s, entry.Entry{Body: b})
	}
}

// forked adds two branches after e2 to a session. e5 records the switch, and e7 is the leaf.
//
//	e1 - e2 - e3 - e4
//	       \- e5 - e6 - e7
func forked(t testing.TB, s *history.Session) *history.Session {
	t.Helper()
	require.NoError(t, s.Append(t.Context(), user, answer, user, answer))
	require.NoError(t, s.Branch(t.Context(), "e2"))
	require.NoError(t, s.Append(t.Context(), user, answer))
	return s
}

func TestTwoBranchesShareTheEntriesBeforeThem(t *testing.T) {
	path := tempFile(t)
	s := forked(t, opened(t, path))
	require.Equal(t, "e7", s.Leaf())
	require.Equal(t, []string{"e4", "e7"}, leaves(t, s))
	require.Equal(t, []string{"e1", "e2", "e5", "e6", "e7"}, ids(t, s.PathTo(t.Context(), "")))
	require.Equal(t, []string{"e1", "e2", "e3", "e4"}, ids(t, s.PathTo(t.Context(), "e4")))
	require.Equal(t, "e1: e2() | e6: e7()", shape(viewOf(t, s)))
	branch := sessiontest.Entry(t, s, "e5")
	require.Equal(t, entry.Branch{From: "e4"}, branch.Body)
	require.Equal(t, "e2", branch.Parent)

	require.NoError(t, s.Branch(t.Context(), "e4"))
	require.Equal(t, "e1: e2() | e3: e4()", shape(viewOf(t, s)))
	require.Equal(t, "e1: e2() | e6: e7()", shape(viewAt(t, s, "e7")))

	again := readOnly(t, path)
	require.Equal(t, "e1: e2() | e3: e4()", shape(viewOf(t, again)), "the switch is still in effect after opening again")
	require.Equal(t, s.Leaf(), again.Leaf())
	require.Equal(t, 1+count(t, s), lineCount(t, again), "nothing was rewritten")
}

func TestAbandonedReturnsTheEntriesAfterTheCommonAncestor(t *testing.T) {
	s := forked(t, numbered.Session())
	for _, tt := range []struct {
		from, to, ancestor string
		left               []string
	}{
		{"e4", "e7", "e2", []string{"e3", "e4"}},
		{"e7", "e4", "e2", []string{"e5", "e6", "e7"}},
		{"e7", "e1", "e1", []string{"e2", "e5", "e6", "e7"}},
		{"e1", "e7", "e1", []string{}},
		{"e4", "e4", "e4", []string{}},
		{"e3", "", "e2", []string{"e3"}},
	} {
		t.Run(tt.from+" to "+tt.to, func(t *testing.T) {
			require.Equal(t, tt.left, ids(t, s.Abandoned(t.Context(), tt.from, tt.to)))
			ancestor, err := s.Ancestor(t.Context(), tt.from, tt.to)
			require.NoError(t, err)
			require.Equal(t, tt.ancestor, ancestor)
		})
	}
	_, err := s.Ancestor(t.Context(), "e4", "none")
	missing := errorAs[*storage.NoEntryError](t, err)
	require.Equal(t, "none", missing.ID)
	for _, err := range s.Abandoned(t.Context(), "none", "e1") {
		require.ErrorAs(t, err, &missing)
	}
	for _, err := range s.PathTo(t.Context(), "none") {
		require.ErrorAs(t, err, &missing)
	}
	_, err = (numbered.Session()).Entry(t.Context(), "")
	require.ErrorAs(t, err, &missing)
	_, err = s.ViewAt(t.Context(), "none")
	require.ErrorAs(t, err, &missing)
	require.ErrorAs(t, s.Branch(t.Context(), "none"), &missing)
	require.Equal(t, "e7", s.Leaf())
}

func TestANewRootHasAnEmptyPathBeforeIt(t *testing.T) {
	path := tempFile(t)
	s := forked(t, opened(t, path))
	require.NoError(t, s.Branch(t.Context(), ""))
	require.Empty(t, viewOf(t, s).Turns)
	require.NoError(t, s.Append(t.Context(), user))
	require.Equal(t, []string{"e8", "e9"}, ids(t, s.PathTo(t.Context(), "")))
	ancestor, err := s.Ancestor(t.Context(), "e9", "e4")
	require.NoError(t, err)
	require.Empty(t, ancestor)
	require.Equal(t, []string{"e1", "e2", "e3", "e4"}, ids(t, s.Abandoned(t.Context(), "e4", "e9")))
	require.Equal(t, "e9:", shape(viewOf(t, readOnly(t, path))))
}

func TestABranchFromBeforeACompactionIsNotAffectedByIt(t *testing.T) {
	s := talk(t, user, answer, user, answer)
	add(t, s, entry.Todos{Text: "first"})
	require.NoError(t, s.Append(t.Context(), user))
	before := viewOf(t, s)
	require.NoError(t, s.Compact(t.Context(), summary("S", "e3")))
	add(t, s, entry.Todos{Text: "second"}, entry.ModelChange{Model: "m"})
	require.NoError(t, s.Append(t.Context(), answer))
	require.Equal(t, "S | e3: e4() | e6: e10()", shape(viewOf(t, s)))

	require.NoError(t, s.Branch(t.Context(), "e6"))
	equal(t, before, viewOf(t, s))
	plan, ok := sessiontest.Latest(t, s, entry.TypeTodos)
	require.True(t, ok)
	require.Equal(t, entry.Todos{Text: "first"}, plan.Body)
	_, ok = sessiontest.Latest(t, s, entry.TypeModelChange)
	require.False(t, ok)
	require.NoError(t, s.Compact(t.Context(), summary("T", "e6")), "the branch can be compacted itself")
	require.Equal(t, "T | e6:", shape(viewOf(t, s)))

	require.NoError(t, s.Branch(t.Context(), "e10"))
	require.Equal(t, "S | e3: e4() | e6: e10()", shape(viewOf(t, s)), "back on the first branch the first compaction counts")
	message, ok := sessiontest.Latest(t, s, entry.TypeMessage)
	require.True(t, ok)
	require.Equal(t, "e10", message.ID)
}

func TestACompactionIsDroppedIfItsCutIsGone(t *testing.T) {
	for _, tt := range []struct {
		rule      string
		meanwhile func(*history.Session) error
		c         entry.Compaction
		reason    string
	}{
		{"an undo", func(s *history.Session) error { return s.Branch(t.Context(), "e2") }, summary("S", "e5"), log.BoundaryLeft},
		{"a switch to another branch", func(s *history.Session) error { return s.Branch(t.Context(), "e4") }, summary("S", "e7"), log.BoundaryLeft},
		{"a new root", func(s *history.Session) error { return s.Branch(t.Context(), "") }, summary("S", "e2"), log.BoundaryLeft},
		{"another compaction", func(s *history.Session) error { return s.Compact(t.Context(), summary("T", "e7")) }, summary("S", "e6"), log.BoundaryCovered},
		{"an undo of all that it covers", func(s *history.Session) error { return s.Branch(t.Context(), "e2") }, entry.Compaction{Messages: summary("S", "").Messages, LastCovered: "e7"}, log.BoundaryLeft},
		{"another compaction of all", func(s *history.Session) error { return s.Compact(t.Context(), summary("T", "")) }, entry.Compaction{Messages: summary("S", "").Messages, LastCovered: "e6"}, log.BoundaryCovered},
		{"an entry that never existed", func(*history.Session) error { return nil }, summary("S", "e99"), log.BoundaryMissing},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := tempFile(t)
			s := forked(t, opened(t, path))
			require.NoError(t, tt.meanwhile(s))
			before, entries := content(t, path), all(t, s)
			if tt.reason != log.BoundaryCovered {
				_, err := s.ViewWith(t.Context(), tt.c)
				require.Equal(t, tt.reason, errorAs[*entry.BoundaryError](t, err).Reason)
			}
			err := s.Compact(t.Context(), tt.c)
			boundary := errorAs[*entry.BoundaryError](t, err)
			require.Equal(t, tt.reason, boundary.Reason)
			require.ErrorContains(t, err, boundary.ID)
			require.Equal(t, before, content(t, path))
			equal(t, entries, all(t, s))
		})
	}
}

func TestLastCoveredKeepsTheEntriesAfterIt(t *testing.T) {
	s := talk(t, user, answer)
	c := entry.Compaction{Messages: summary("S", "").Messages, LastCovered: s.Leaf()}
	require.NoError(t, s.Append(t.Context(), user, answer))
	preview := viewWith(t, s, c)
	require.NoError(t, s.Compact(t.Context(), c))
	require.Equal(t, "S | e3: e4()", shape(viewOf(t, s)))
	equal(t, preview, viewOf(t, s))
	require.NoError(t, s.Compact(t.Context(), c), "the same cut again is valid")
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: c.Messages, LastCovered: "e4"}))
	require.Equal(t, "S | e3:", shape(viewOf(t, s)), "the start of the current turn stays")
}

func TestACutMayBeAtAnEntryThatIsNotShown(t *testing.T) {
	s := talk(t, user, calls("a"))
	add(t, s, entry.ModelChange{Model: "m"})
	require.NoError(t, s.Append(t.Context(), done("a")))
	add(t, s, entry.ThinkingChange{Level: "high"}, entry.Label{Target: "e1", Text: "x"})
	require.NoError(t, s.Append(t.Context(), answer, user))
	require.ErrorContains(t, s.Compact(t.Context(), summary("S", "e3")), "cannot cut at entry", "a tool result comes next")
	require.NoError(t, s.Compact(t.Context(), summary("S", "e5")))
	require.Equal(t, "S | e1: e7() | e8:", shape(viewOf(t, s)))
}

func TestAddKeepsIDsParentsAndTimes(t *testing.T) {
	at := time.Date(2025, 3, 4, 5, 6, 7, 8, time.FixedZone("here", 3600))
	path := tempFile(t)
	s := opened(t, path)
	added, err := s.Add(t.Context(),
		entry.Entry{ID: "a", Time: at, Body: entry.Message{Message: user}},
		entry.Entry{ID: "b", Body: entry.Message{Message: answer}},
		entry.Entry{ID: "c", Parent: "a", Body: entry.Message{Message: chat.AssistantMessage("another")}},
		entry.Entry{Body: entry.Message{Message: user, Data: []byte(`{ "spaced" : 1 }`)}},
	)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "e1"}, []string{added[0].ID, added[1].ID, added[2].ID, added[3].ID})
	require.Equal(t, []string{"", "a", "a", "c"}, []string{added[0].Parent, added[1].Parent, added[2].Parent, added[3].Parent})
	require.True(t, at.Equal(added[0].Time))
	require.Equal(t, "a: c() | e1:", shape(viewOf(t, s)))
	equal(t, added, all(t, s))
	equal(t, added, all(t, readOnly(t, path)))
}

func TestAnInvalidEntryIsRefused(t *testing.T) {
	message := entry.Message{Message: user}
	later := func(line string) entry.Unknown { return entry.Unknown{Kind: "later", Line: []byte(line)} }
	for _, tt := range []struct {
		rule  string
		entry entry.Entry
		says  string
	}{
		{"no body", entry.Entry{}, "no body"},
		{"an id that is in the session", entry.Entry{ID: "e1", Body: message}, `"e1" already`},
		{"an id of the same Add", entry.Entry{ID: "x", Body: message}, `"x" already`},
		{"a long id", entry.Entry{ID: string(make([]byte, 129)), Body: message}, "128"},
		{"an id that is not UTF-8", entry.Entry{ID: "\xff", Body: message}, "UTF-8"},
		{"a parent that does not exist", entry.Entry{Parent: "none", Body: message}, `"none"`},
		{"a result on a branch without its call", entry.Entry{Parent: "e1", Body: entry.Message{Message: done("a")}}, "no open tool call"},
		{"a nil part", entry.Entry{Body: entry.CustomMessage{Content: chat.Parts{nil}}}, "nil"},
		{"data that is not JSON", entry.Entry{Body: entry.Custom{Data: []byte("{")}}, "JSON"},
		{"a line that is not JSON", entry.Entry{Body: later("{")}, "its line"},
		{"a line of a known type", entry.Entry{Body: later(`{"type":"label","id":"l","label":{}}`)}, "unknown"},
		{"a line of another type", entry.Entry{Body: later(`{"type":"smell","id":"l"}`)}, "unknown"},
		{"two lines", entry.Entry{Body: later("{\"type\":\"later\",\n\"id\":\"l\"}")}, "unknown"},
		{"a line without an id", entry.Entry{Body: later(`{"type":"later"}`)}, "no id"},
		{"a line with another id", entry.Entry{ID: "l", Body: later(`{"type":"later","id":"k"}`)}, "another id"},
		{"a line whose parent does not exist", entry.Entry{Body: later(`{"type":"later","id":"k","parent":"none"}`)}, `"none"`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := tempFile(t)
			s := opened(t, path)
			require.NoError(t, s.Append(t.Context(), user, calls("a")))
			before := content(t, path)
			_, err := s.Add(t.Context(), entry.Entry{ID: "x", Body: message}, tt.entry)
			require.ErrorContains(t, err, tt.says)
			require.Equal(t, before, content(t, path))
			require.Equal(t, 2, count(t, s))
			require.Equal(t, "x", sessiontest.Add(t, s, entry.Entry{ID: "x", Body: message}, entry.Entry{Body: message})[1].Parent)
		})
	}
}

func TestUnknownEntriesAreCopiedUnchanged(t *testing.T) {
	const line = `{"type":"smell","id":"l-7","parent":"e1","time":"2026-01-02T03:04:05Z","smell": {"deep":[1.0]} }`
	from := opened(t, file(t, header, hello, line, ""))
	path := filepath.Join(t.TempDir(), "copy.jsonl")
	to := opened(t, path)
	_, err := to.Add(t.Context(), all(t, from)...)
	require.NoError(t, err)
	require.Contains(t, content(t, path), "\n"+sealed.Line(line)+"\n")
	equal(t, all(t, from), all(t, to))
	require.Equal(t, "l-7", to.Leaf())
}

func TestACompactionOfAPlanThatHasEndedIsDropped(t *testing.T) {
	for _, tt := range []struct {
		outcome entry.PlanOutcome
		of      string
		dropped bool
	}{
		{entry.PlanFailed, "", true}, {entry.PlanVetoed, "", true}, {entry.PlanDropped, "", true},
		{entry.PlanRetried, "", false}, {entry.PlanDropped, "another", false},
	} {
		s := talk(t, user, chat.AssistantMessage("two"), chat.AssistantMessage("three"))
		added := sessiontest.Add(t, s, entry.Entry{Body: entry.Plan{FirstKept: "e3"}})
		c := summary("S", "e3")
		c.Plan = added[0].ID
		sessiontest.Add(t, s, entry.Entry{Body: entry.PlanEnd{Plan: cmp.Or(tt.of, c.Plan), Outcome: tt.outcome}})
		err := s.Compact(t.Context(), c)
		if !tt.dropped {
			require.NoError(t, err)
			continue
		}
		boundary := errorAs[*entry.BoundaryError](t, err)
		require.Equal(t, log.BoundaryEnded, boundary.Reason)
		require.Equal(t, c.Plan, boundary.ID)
	}
}

func TestWalkingBackDecodesNoEntryThatTheCacheHolds(t *testing.T) {
	walk := func(cache *history.Cache) float64 {
		s := sessionIn(t, &storage.Memory{}, history.Options{Cache: cache})
		for range 100 {
			require.NoError(t, s.Append(t.Context(), chat.UserMessage(strings.Repeat("word ", 10))))
		}
		require.NoError(t, s.Compact(t.Context(), summary("so far", "")))
		return testing.AllocsPerRun(1, func() {
			n := 0
			for _, err := range s.Back(t.Context(), "") {
				require.NoError(t, err)
				n++
			}
			require.Equal(t, 101, n)
		})
	}
	require.Less(t, 10*walk(history.NewCache(1<<20)), walk(history.NewCache(0)))
}
