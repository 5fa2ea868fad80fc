package historytest

import (
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// Suite says how a store is tested.
type Suite struct {
	// New gives what opens one new store, which is empty at first. It is called anew after the store was closed, and
	// then opens the same lines again, unless the store is volatile.
	New func(t *testing.T) func() (history.Store, error)
	// Volatile stores forget their lines when they are closed, and so can be opened only once.
	Volatile bool
	// Shared stores let themselves be opened by two at a time. The others refuse the second with [history.ErrLocked].
	Shared bool
}

// Run runs all tests as subtests, each named for the rule that it checks.
func Run(t *testing.T, s Suite) {
	for _, rule := range []struct {
		name    string
		reopens bool
		test    func(*testing.T, func() (history.Store, error))
	}{
		{"a new store is empty", false, isEmpty},
		{"lines come back in order and byte for byte", false, comeBack},
		{"any range of lines can be read, more than once and not to its end", false, rangesAreRead},
		{"a range that is not there is an error", false, wrongRanges},
		{"what is no line is refused, and all that comes with it", false, refuses},
		{"what is appended is not the caller's any more", false, isOwn},
		{"a closed store is over", false, isOver},
		{"many may append and read at once", false, manyAtOnce},
		{"a store that is opened again has the same lines", true, reopened},
		{"a session in it is a session", false, session},
		{"a session that is opened again is the same, byte for byte", true, sessionReopened},
	} {
		t.Run(rule.name, func(t *testing.T) {
			if rule.reopens && s.Volatile {
				t.Skip("the store forgets its lines")
			}
			rule.test(t, s.New(t))
		})
	}
	t.Run("a second writer is refused until the first has closed", func(t *testing.T) {
		if s.Volatile || s.Shared {
			t.Skip("the store may be opened twice, or only once")
		}
		secondWriter(t, s.New(t))
	})
}

const header = `{"type":"session","version":2,"id":"S","time":"2026-01-02T03:04:05Z"}`

// line is the entry of a number, with some text.
func line(n int, text string) []byte {
	return []byte(fmt.Sprintf(`{"type":"custom","id":"e%d","time":"2026-01-02T03:04:05Z","custom":{"name":"%s"}}`, n, text))
}

// lines are a header and entries of different sizes, one of them large and one not UTF-8.
func lines(count int) [][]byte {
	list := [][]byte{[]byte(header)}
	for n := 1; n < count; n++ {
		text := strings.Repeat("x", n*37%1000)
		switch n {
		case 3:
			text = strings.Repeat("long ", 200_000)
		case 5:
			text = "not UTF-8: \xff\xc3("
		case 7:
			text = `\n 中文 🙂`
		}
		list = append(list, line(n, text))
	}
	return list
}

func open(t *testing.T, opener func() (history.Store, error)) history.Store {
	t.Helper()
	store, err := opener()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// read copies lines.
func read(t testing.TB, seq iter.Seq2[[]byte, error]) [][]byte {
	t.Helper()
	var list [][]byte
	for l, err := range seq {
		require.NoError(t, err)
		list = append(list, append([]byte{}, l...))
	}
	return list
}

func requireLines(t testing.TB, store history.Store, want [][]byte) {
	t.Helper()
	require.Equal(t, len(want), store.Len())
	got := read(t, store.Lines(0, store.Len()))
	require.Len(t, got, len(want))
	for i := range want {
		if string(want[i]) != string(got[i]) {
			t.Fatalf("line %d is %.80q, want %.80q", i, got[i], want[i])
		}
	}
}

func isEmpty(t *testing.T, opener func() (history.Store, error)) {
	store := open(t, opener)
	requireLines(t, store, nil)
	require.NoError(t, store.Append(), "nothing can be appended")
	requireLines(t, store, nil)
}

func comeBack(t *testing.T, opener func() (history.Store, error)) {
	store := open(t, opener)
	all := lines(50)
	require.NoError(t, store.Append(all[0]))
	require.NoError(t, store.Append(all[1:4]...))
	requireLines(t, store, all[:4])
	for _, l := range all[4:] {
		require.NoError(t, store.Append(l))
	}
	requireLines(t, store, all)
}

func rangesAreRead(t *testing.T, opener func() (history.Store, error)) {
	store := open(t, opener)
	all := lines(12)
	require.NoError(t, store.Append(all...))
	for from := range all {
		for to := from; to <= len(all); to++ {
			seq := store.Lines(from, to)
			for range 2 {
				got := read(t, seq)
				require.Len(t, got, to-from)
				for i, l := range got {
					require.True(t, string(l) == string(all[from+i]), "line %d of %d to %d", from+i, from, to)
				}
			}
			for range seq {
				break
			}
		}
	}
}

func wrongRanges(t *testing.T, opener func() (history.Store, error)) {
	store := open(t, opener)
	require.NoError(t, store.Append(lines(3)...))
	for _, r := range [][2]int{{-1, 1}, {0, 4}, {2, 1}, {4, 4}, {4, 5}} {
		given := 0
		for l, err := range store.Lines(r[0], r[1]) {
			require.Nil(t, l)
			require.Error(t, err)
			given++
		}
		require.Equal(t, 1, given, "one error for %v", r)
	}
}

func refuses(t *testing.T, opener func() (history.Store, error)) {
	store := open(t, opener)
	all := lines(3)
	require.NoError(t, store.Append(all...))
	for _, bad := range []string{"", "\n", "{\n}", "{}\n"} {
		require.Error(t, store.Append(line(8, ""), []byte(bad), line(9, "")), "%q", bad)
		requireLines(t, store, all)
	}
	require.NoError(t, store.Append(line(8, "")))
	requireLines(t, store, append(all, line(8, "")))
}

func isOwn(t *testing.T, opener func() (history.Store, error)) {
	store := open(t, opener)
	all, mine := lines(4), lines(4)
	require.NoError(t, store.Append(mine...))
	for _, l := range mine {
		clear(l)
	}
	requireLines(t, store, all)
}

func isOver(t *testing.T, opener func() (history.Store, error)) {
	store := open(t, opener)
	require.NoError(t, store.Append(lines(4)...))
	require.NoError(t, store.Close())
	require.NoError(t, store.Close(), "closing twice does nothing")
	require.ErrorIs(t, store.Append(line(9, "")), history.ErrClosed)
	given := 0
	for _, err := range store.Lines(0, 1) {
		require.ErrorIs(t, err, history.ErrClosed)
		given++
	}
	require.Equal(t, 1, given)
	require.Equal(t, 4, store.Len())
}

// Each writer's lines are there in their order, those of one Append next to each other, and what a reader has seen once
// stays as it is.
func manyAtOnce(t *testing.T, opener func() (history.Store, error)) {
	const writers, each = 3, 30
	store := open(t, opener)
	require.NoError(t, store.Append([]byte(header)))
	var writing, reading sync.WaitGroup
	over := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				pair := [][]byte{line(w, fmt.Sprint(i)), line(w, fmt.Sprint(i, " again"))}
				if err := store.Append(pair...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			var seen []string
			for {
				select {
				case <-over:
					return
				default:
				}
				n := 0
				for l, err := range store.Lines(0, store.Len()) {
					if err != nil {
						t.Error(err)
						return
					}
					if n < len(seen) && seen[n] != string(l) {
						t.Errorf("line %d was %q and is %q", n, seen[n], l)
					}
					if n >= len(seen) {
						seen = append(seen, string(l))
					}
					n++
				}
				if n < len(seen) {
					t.Errorf("%d lines after %d", n, len(seen))
				}
			}
		})
	}
	writing.Wait()
	close(over)
	reading.Wait()
	got := read(t, store.Lines(0, store.Len()))
	require.Len(t, got, 1+2*writers*each)
	next := make([]int, writers)
	for i := 1; i < len(got); i += 2 {
		var w int
		_, err := fmt.Sscanf(string(got[i]), `{"type":"custom","id":"e%d"`, &w)
		require.NoError(t, err)
		require.Equal(t, string(line(w, fmt.Sprint(next[w]))), string(got[i]))
		require.Equal(t, string(line(w, fmt.Sprint(next[w], " again"))), string(got[i+1]))
		next[w]++
	}
}

func reopened(t *testing.T, opener func() (history.Store, error)) {
	all := lines(20)
	store, err := opener()
	require.NoError(t, err)
	require.NoError(t, store.Append(all[:10]...))
	require.NoError(t, store.Close())
	store = open(t, opener)
	requireLines(t, store, all[:10])
	require.NoError(t, store.Append(all[10:]...))
	require.NoError(t, store.Close())
	requireLines(t, open(t, opener), all)
}

func secondWriter(t *testing.T, opener func() (history.Store, error)) {
	first, err := opener()
	require.NoError(t, err)
	require.NoError(t, first.Append(lines(3)...))
	second, err := opener()
	require.ErrorIs(t, err, history.ErrLocked)
	require.Nil(t, second)
	require.NoError(t, first.Append(line(3, "the first goes on")))
	require.NoError(t, first.Close())
	require.Equal(t, 4, open(t, opener).Len())
}

// talk makes a session with entries of many kinds, two branches and a compaction on each.
func talk(t *testing.T, store history.Store) *history.Session {
	t.Helper()
	s, err := history.New(store, history.Options{})
	require.NoError(t, err)
	call := chat.ToolCall{ID: "c1", Name: "run", Arguments: `{"cmd":"make <all>"}`}
	require.NoError(t, s.Append(
		chat.UserMessage("one \xff"),
		chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{
			chat.Thinking{Text: "hm", Signature: "sig"}, chat.Opaque{Value: []byte("{ \"spaced\" : 1 }\n")},
		}, ToolCalls: []chat.ToolCall{call}},
		chat.ToolResult("c1", "fine"),
	))
	_, err = s.Add(
		history.Entry{Body: history.ModelChange{Model: "m"}},
		history.Entry{Body: history.Shell{Command: "ls", Output: "a\xff\n", ExitCode: 1}},
		history.Entry{Body: history.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text("look")}}},
		history.Entry{Body: history.Todos{Items: []history.Todo{{Text: "that"}}}},
		history.Entry{Body: history.Unknown{Kind: "later", Line: []byte(`{"type":"later","id":"x","parent":"e7","later": 1.0}`)}},
		history.Entry{Body: history.Message{Message: chat.AssistantMessage("two")}},
	)
	require.NoError(t, err)
	require.NoError(t, s.Compact(history.Compaction{Messages: []chat.Message{chat.UserMessage(" S \n")}, FirstKept: "e5"}))
	left := s.Leaf()
	_, err = s.Add(history.Entry{Parent: "e3", Body: history.BranchSummary{From: left, Summary: history.Summary{Text: "tried"}}})
	require.NoError(t, err)
	require.NoError(t, s.Append(chat.AssistantMessage("three"), chat.UserMessage("four")))
	require.NoError(t, s.Branch("e2"))
	require.NoError(t, s.Append(chat.ToolResult("c1", "the call is open again"), chat.AssistantMessage("five"), chat.UserMessage("six")))
	require.NoError(t, s.Compact(history.Compaction{Messages: []chat.Message{chat.UserMessage("T")}, LastCovered: "e2"}))
	require.NoError(t, s.Append(chat.UserMessage("seven")))
	return s
}

// sent lists what a model sees at each entry of a session.
func sent(t *testing.T, s *history.Session) map[string][]chat.Message {
	t.Helper()
	all := map[string][]chat.Message{}
	for e, err := range s.Entries() {
		require.NoError(t, err)
		v, err := s.ViewAt(e.ID)
		require.NoError(t, err)
		all[e.ID] = v.Messages()
		if last := all[e.ID][len(all[e.ID])-1]; last.Role != chat.RoleAssistant {
			require.NoError(t, chat.Validate(all[e.ID]), "at %s", e.ID)
		}
	}
	return all
}

func session(t *testing.T, opener func() (history.Store, error)) {
	store := open(t, opener)
	s := talk(t, store)
	require.Equal(t, s.Len()+1, store.Len())
	memory := talk(t, &history.MemoryStore{})
	require.Empty(t, cmp.Diff(sent(t, memory), sent(t, s)), "it is the same wherever it is kept")
	require.Equal(t, memory.Leaf(), s.Leaf())
	require.Equal(t, memory.Leaves(), s.Leaves())
	require.NoError(t, s.Close())
	require.ErrorIs(t, store.Append(line(99, "")), history.ErrClosed, "a session closes its store")
}

func sessionReopened(t *testing.T, opener func() (history.Store, error)) {
	store, err := opener()
	require.NoError(t, err)
	s := talk(t, store)
	want, leaf, head := sent(t, s), s.Leaf(), s.Header()
	kept := read(t, store.Lines(0, store.Len()))
	require.NoError(t, s.Close())

	store = open(t, opener)
	s, err = history.New(store, history.Options{})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, sent(t, s)))
	require.Equal(t, leaf, s.Leaf())
	require.Equal(t, head, s.Header())
	require.NoError(t, s.Append(chat.AssistantMessage("on")))
	requireLines(t, store, append(kept, read(t, store.Lines(len(kept), len(kept)+1))...))
}
