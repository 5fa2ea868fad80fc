package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/checksum"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sealed"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// largeEnv makes the log of the large test one gigabyte.
const largeEnv = "PROMPTREE_HISTORY_LARGE"

// writeLarge writes a log of about size bytes, with entries of 1,600 bytes on average, and returns their number.
func writeLarge(t testing.TB, path string, size int64) int {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	var b bytes.Buffer
	b.WriteString(header + "\n")
	written, n := int64(0), 0
	text := strings.Repeat("All that was said. ", 10)
	parent := ""
	for written < size {
		n++
		id, call := fmt.Sprint("e", n), fmt.Sprint("call_", n-n%2)
		start := b.Len()
		fmt.Fprintf(&b, `{"type":"message","id":%q,%s"time":"2026-01-02T03:04:05.123456789Z","message":`, id, parent)
		switch {
		case n%100 == 1:
			fmt.Fprintf(&b, `{"role":"user","content":[{"type":"text","text":%q}]}}`, text)
		case n%100 == 0:
			b.WriteString(`{"role":"assistant","content":[{"type":"text","text":"Done."}]}}`)
		case n%2 == 0:
			fmt.Fprintf(&b, `{"role":"assistant","content":[{"type":"text","text":%q}],"toolCalls":[{"id":%q,"name":"read","arguments":"{}"}]}}`, text, call)
		default:
			fmt.Fprintf(&b, `{"role":"tool","content":[{"type":"text","text":%q}],"toolCallId":%q}}`, strings.Repeat(text, 13), call)
		}
		sum := checksum.Add(bytes.Clone(b.Bytes()[start:]))
		b.Truncate(start)
		b.Write(append(sum, '\n'))
		parent = fmt.Sprintf(`"parent":%q,`, id)
		if b.Len() > 1<<20 {
			written += int64(b.Len())
			_, err := b.WriteTo(f)
			require.NoError(t, err)
		}
	}
	_, err = b.WriteTo(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return n
}

// heap returns the number of bytes in use on the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// An open session keeps an index of at most 200 bytes an entry, and reads entries one after the other.
func TestALargeLogIsNotReadIntoMemory(t *testing.T) {
	size := int64(cases(24) << 20)
	if os.Getenv(largeEnv) != "" {
		size = 1 << 30
	}
	path := tempFile(t)
	entries := writeLarge(t, path, size)

	before := heap()
	start := time.Now()
	s := openedWith(t, path, history.Options{IDs: numbered.IDs(), Cache: history.NewCache(64 << 10)})
	defer s.Close()
	took := time.Since(start)
	index := heap() - before
	require.Equal(t, entries, count(t, s))
	perEntry := float64(index) / float64(entries)
	t.Logf("%d MB, %d entries: opened in %v, %.0f bytes of memory an entry", size>>20, entries, took.Round(time.Millisecond), perEntry)
	require.Less(t, perEntry, 200.0)

	start = time.Now()
	read, peak := 0, int64(0)
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		require.NotEmpty(t, e.Message().Role)
		if read++; read%(entries/4) == 0 {
			peak = max(peak, heap()-before)
		}
	}
	require.Equal(t, entries, read)
	t.Logf("read in %v, %d KB besides the index", time.Since(start).Round(time.Millisecond), (peak-index)>>10)
	require.Less(t, peak-index, int64(4<<20)+int64(entries)*4)

	turns := 0
	for turn, err := range history.Turns(s.PathTo(t.Context(), "")) {
		require.NoError(t, err)
		turns++
		require.Empty(t, turn.Late)
		for i, r := range turn.Rounds {
			require.True(t, len(r.Results) == len(r.Assistant.Message().ToolCalls) || i == len(turn.Rounds)-1)
		}
	}
	require.Equal(t, (entries+99)/100, turns)

	require.NoError(t, s.Compact(t.Context(), summary("so far", fmt.Sprint("e", entries-entries%2-20))))
	require.Len(t, viewOf(t, s).Turns, 1)
	require.Less(t, heap()-before, index+8<<20, "a view reads only the entries that it shows")
	runtime.KeepAlive(s)
}

func TestALineLongerThanTheLimitIsNotReadIntoMemory(t *testing.T) {
	size, maxLine := 10<<20, int64(8<<20)
	if os.Getenv(largeEnv) != "" {
		size, maxLine = 100<<20, 64<<20 // the default
	}
	long := sealed.Line(`{"type":"custom","id":"e2","parent":"e1","time":"2026-01-02T03:04:07Z","custom":{"name":"` + strings.Repeat("x", size) + `"}}`)
	after := strings.Replace(welcome, `"e2"`, `"e3"`, 1)
	limit := func(max int64) history.Options {
		return history.Options{IDs: numbered.IDs(), File: storage.FileOptions{MaxLine: max}}
	}

	path := file(t, header, hello, long, after, "")
	before := heap()
	_, err := history.Open(path, limit(maxLine))
	requireCorrupt(t, err, path, 3)
	tooLong := errorAs[*storage.LineTooLongError](t, err)
	equal(t, &storage.LineTooLongError{Bytes: int64(len(long)), Max: maxLine}, tooLong)
	require.Less(t, heap()-before, maxLine)

	s := sessiontest.Open(t, path, limit(2*maxLine))
	require.Equal(t, "e1: e3()", shape(viewOf(t, s)))
	require.Len(t, sessiontest.Entry(t, s, "e2").Body.(entry.Custom).Name, size)
	require.NoError(t, s.Close())

	s = openedWith(t, path, history.Options{Salvage: true, File: storage.FileOptions{MaxLine: maxLine}})
	require.Equal(t, "e1: e3()", shape(viewOf(t, s)))
	require.Len(t, s.Skipped(), 1)
	require.NoError(t, s.Close())

	// A line that is too long is not written either. A torn end may have any length.
	path = tempFile(t)
	s = sessiontest.Open(t, path, limit(1000))
	require.ErrorAs(t, s.Append(t.Context(), chat.UserMessage(strings.Repeat("x", 1000))), &tooLong)
	require.Zero(t, count(t, s))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("x")))
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(path, []byte(content(t, path)+strings.Repeat("y", 5000)), 0o600))
	s = sessiontest.Open(t, path, limit(1000))
	require.Equal(t, int64(5000), s.Recovered().Bytes)
	require.NoError(t, s.Close())
	require.Len(t, content(t, path+".torn"), len(tornHead)+5000)
}

// The index of a file of line feeds would be larger than the file.
func TestAFileOfEmptyLinesIsCorrupt(t *testing.T) {
	path := file(t, header, hello+strings.Repeat("\n", 3<<20)+welcome, "")
	before := heap()
	_, err := history.Read(path, history.Options{Salvage: true})
	requireCorrupt(t, err, path, 3+1<<20)
	require.Less(t, heap()-before, int64(1<<20))
}

func TestSalvageReadsTheLinesAroundAnUnreadableOne(t *testing.T) {
	on := func(id, parent string) string {
		return strings.NewReplacer(`"e2"`, `"`+id+`"`, `"e1"`, `"`+parent+`"`).Replace(welcome)
	}
	for _, tt := range []struct {
		rule  string
		lines []string
		bad   []int // lines, from 1
		want  string
	}{
		{"every line is readable", []string{header, hello, on("e2", "e1"), ""}, nil, "e1: e2()"},
		{"a line is garbage", []string{header, hello, "garbage", on("e3", "e2"), ""}, []int{3}, "e1: e3()"},
		{"the next entry follows the one before the unreadable one", []string{header, hello, on("e2", "e1")[:50], on("e3", "e2"), on("e4", "e3"), ""}, []int{3}, "e1: e3() e4()"},
		{"the first entry is empty", []string{header, "", on("e2", "e1"), ""}, []int{2}, ": e2()"},
		{"two entries have one id", []string{header, hello, on("e2", "e1"), hello, on("e4", "e2"), ""}, []int{4}, "e1: e2() e4()"},
		{"the header is damaged", []string{header[1:], hello, on("e2", "e1"), ""}, []int{1}, "e1: e2()"},
		{"the header is split in two", []string{header[:9], header[9:], hello, on("e2", "e1"), ""}, []int{1, 2}, "e1: e2()"},
		{"the header and the first entry are on one line", []string{header + hello, on("e2", "e1"), ""}, []int{1}, ": e2()"},
		{"two lines are unreadable, and the end is torn", []string{header, "x", hello, "y", on("e2", "e1"), "z"}, []int{2, 4}, "e1: e2()"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := file(t, tt.lines...)
			before := content(t, path)
			s, err := history.Read(path, history.Options{Salvage: true})
			require.NoError(t, err)
			defer s.Close()
			var bad []int
			for _, c := range s.Skipped() {
				bad = append(bad, c.Line)
				require.Equal(t, path, c.Path)
				require.Error(t, c.Err)
			}
			require.Equal(t, tt.bad, bad)
			require.Equal(t, tt.want, shape(viewOf(t, s)))
			require.Equal(t, before, content(t, path))
			for _, e := range all(t, s) {
				equal(t, e, sessiontest.Entry(t, s, e.ID))
			}

			w := openedWith(t, path, history.Options{Salvage: true})
			require.NoError(t, w.Append(t.Context(), chat.UserMessage("on")))
			require.Equal(t, tt.want+" | "+w.Leaf()+":", shape(viewOf(t, w)))
			require.NoError(t, w.Close())
			require.True(t, strings.HasPrefix(content(t, path), strings.TrimSuffix(before, "z")), "the unreadable lines stay in the file")
		})
	}
}

func TestANewSessionHasTheHeaderOfItsOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	want := entry.Header{ID: "S", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), From: "another", Data: []byte(`{"folder":"/src"}`)}
	s := openedWith(t, path, history.Options{Header: want})
	equal(t, want, s.Header())
	require.NoError(t, s.Close())
	s = openedWith(t, path, history.Options{Header: entry.Header{ID: "T"}})
	equal(t, want, s.Header())
	require.NoError(t, s.Close())
	equal(t, want, sessionIn(t, &storage.Memory{}, history.Options{Header: want}).Header())
	require.NotEmpty(t, talk(t, user).Header().ID)
	_, err := history.Open(path, history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Sync: 7}})
	require.ErrorContains(t, err, "Sync is 7")
}

func TestACorruptLineOfAStoreThatIsNotAFileIsNamed(t *testing.T) {
	store := &storage.Memory{}
	_, err := store.Append(t.Context(), 0, storage.Line{ID: "S", Kind: storage.KindHeader, Data: []byte(header)}, storage.Line{ID: "e1", Kind: string(entry.TypeCustom), Data: []byte(sealed.Line(`{"id":"e1"}`))})
	require.NoError(t, err)
	_, err = history.New(t.Context(), store, history.Options{IDs: numbered.IDs()})
	require.EqualError(t, err, "storage: line 2: it has no type; set Options.Salvage to skip it")
	s := openedWith(t, onDisk, history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Disk: &historytest.Disk{}}})
	require.Equal(t, onDisk, s.Path())
	require.NoError(t, s.Close())
}
