package historytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

const headerData = `{"type":"session","version":4,"id":"S","time":"2026-01-02T03:04:05Z"}`

func header() storage.Line {
	return storage.Line{ID: "S", Kind: storage.KindHeader, Data: []byte(headerData)}
}

// line returns entry n with some text, a child of entry parent, or a root if parent is 0.
func line(n, parent int, text string) storage.Line {
	l := storage.Line{ID: fmt.Sprintf("e%d", n), Kind: string(entry.TypeCustom)}
	parentField := ""
	if parent > 0 {
		l.Parent = fmt.Sprintf("e%d", parent)
		parentField = `"parent":"` + l.Parent + `",`
	}
	l.Data = fmt.Appendf(nil, `{"type":"custom","id":"%s",%s"time":"2026-01-02T03:04:05Z","custom":{"name":"%s"}}`, l.ID, parentField, text)
	return l
}

// lines returns a header and entries of different sizes, one of them large and one not UTF-8, each a child of the one
// before.
func lines(count int) []storage.Line {
	list := []storage.Line{header()}
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
		list = append(list, line(n, n-1, text))
	}
	return list
}

// add appends lines at the end, and returns the position after them.
func add(t testing.TB, store storage.Store, lines ...storage.Line) storage.Position {
	t.Helper()
	at, err := store.End(context.Background())
	require.NoError(t, err)
	ends, err := store.Append(context.Background(), at, lines...)
	require.NoError(t, err)
	require.Len(t, ends, len(lines))
	if len(ends) == 0 {
		return at
	}
	return ends[len(ends)-1]
}

// read returns copies of the lines of seq.
func read(t testing.TB, seq iter.Seq2[storage.Stored, error]) []storage.Stored {
	t.Helper()
	var list []storage.Stored
	for s, err := range seq {
		require.NoError(t, err)
		s.Data = slices.Clone(s.Data)
		list = append(list, s)
	}
	return list
}

// both returns a Read from a position, and a Back from an entry before another position.
func both(ctx context.Context, store storage.Store, from, before storage.Position, id string) []iter.Seq2[storage.Stored, error] {
	return []iter.Seq2[storage.Stored, error]{store.Read(ctx, from), store.Back(ctx, before, id)}
}

func requireLine(t testing.TB, want storage.Line, got storage.Stored) {
	t.Helper()
	if string(want.Data) != string(got.Data) {
		t.Fatalf("the line is %.80q, want %.80q", got.Data, want.Data)
	}
	require.Equal(t, want.ID, got.ID)
	require.Equal(t, want.Parent, got.Parent)
	require.Equal(t, want.Kind, got.Kind)
}

func requireLines(t testing.TB, store storage.Store, want []storage.Line) {
	t.Helper()
	got := read(t, store.Read(context.Background(), 0))
	require.Len(t, got, len(want))
	at := storage.Position(0)
	for i := range want {
		requireLine(t, want[i], got[i])
		require.Equal(t, at, got[i].At, "a line begins at the end of the line before")
		require.Greater(t, got[i].End, at)
		at = got[i].End
	}
	end, err := store.End(context.Background())
	require.NoError(t, err)
	require.Equal(t, at, end)
}

func isEmpty(t *testing.T, opener opener) {
	store := open(t, opener)
	requireLines(t, store, nil)
	require.Empty(t, read(t, store.Back(t.Context(), 0, "")))
	add(t, store) // an append of no lines
	requireLines(t, store, nil)
	add(t, store, header())
	end, err := store.End(t.Context())
	require.NoError(t, err)
	require.Empty(t, read(t, store.Back(t.Context(), end, "")), "the header is not an entry")
}

func readBack(t *testing.T, opener opener) {
	store := open(t, opener)
	all := lines(50)
	add(t, store, all[0])
	add(t, store, all[1:4]...)
	requireLines(t, store, all[:4])
	for _, l := range all[4:] {
		add(t, store, l)
	}
	requireLines(t, store, all)
}

func positions(t *testing.T, opener opener) {
	store := open(t, opener)
	all := lines(12)
	var ends []storage.Position
	for _, part := range [][]storage.Line{all[:1], all[1:7], all[7:]} {
		at, err := store.End(t.Context())
		require.NoError(t, err)
		more, err := store.Append(t.Context(), at, part...)
		require.NoError(t, err)
		ends = append(ends, more...)
	}
	got := read(t, store.Read(t.Context(), 0))
	require.Len(t, got, len(ends))
	for i, s := range got {
		require.Equal(t, ends[i], s.End)
	}
}

func anyPosition(t *testing.T, opener opener) {
	store := open(t, opener)
	all := lines(12)
	add(t, store, all...)
	whole := read(t, store.Read(t.Context(), 0))
	require.Len(t, whole, len(all))
	for i, s := range whole {
		seq := store.Read(t.Context(), s.At)
		for range 2 {
			got := read(t, seq)
			require.Len(t, got, len(all)-i)
			for k, l := range got {
				requireLine(t, all[i+k], l)
			}
		}
		for range seq {
			break
		}
	}
	require.Empty(t, read(t, store.Read(t.Context(), whole[11].End)))
}

func wrongPositions(t *testing.T, opener opener) {
	store := open(t, opener)
	end := add(t, store, lines(3)...)
	for _, at := range []storage.Position{-1, end + 1, end + 1000} {
		count := 0
		for s, err := range store.Read(t.Context(), at) {
			require.Nil(t, s.Data)
			require.Error(t, err)
			count++
		}
		require.Equal(t, 1, count, "one error at %d", at)
	}
}

// tree appends a header and entries on several branches, and returns the parent of each.
func tree(t testing.TB, store storage.Store) (parents []int, end storage.Position) {
	t.Helper()
	parents = []int{0, 0, 1, 2, 2, 4, 3, 6, 0, 8, 7}
	all := []storage.Line{header()}
	for n := 1; n < len(parents); n++ {
		all = append(all, line(n, parents[n], strings.Repeat("y", n*n*100)))
	}
	return parents, add(t, store, all...)
}

func paths(t *testing.T, opener opener) {
	store := open(t, opener)
	parents, end := tree(t, store)
	for n := 1; n < len(parents); n++ {
		for _, id := range []string{fmt.Sprintf("e%d", n), ""} {
			if id == "" && n != len(parents)-1 {
				continue
			}
			want := n
			for _, s := range read(t, store.Back(t.Context(), end, id)) {
				requireLine(t, line(want, parents[want], strings.Repeat("y", want*want*100)), s)
				for again := range store.Read(t.Context(), s.At) {
					require.Equal(t, s.ID, again.ID, "At is the line's position")
					break
				}
				want = parents[want]
			}
			require.Zero(t, want, "the path goes to the root")
		}
	}
	for range store.Back(t.Context(), end, "e7") {
		break
	}
}

func notBefore(t *testing.T, opener opener) {
	store := open(t, opener)
	parents, end := tree(t, store)
	whole := read(t, store.Read(t.Context(), 0))
	require.Len(t, whole, len(parents))
	requireNoEntry := func(before storage.Position, id string) {
		t.Helper()
		var last error
		for _, last = range store.Back(t.Context(), before, id) {
		}
		missing, ok := errors.AsType[*storage.NoEntryError](last)
		require.True(t, ok, "%v", last)
		require.Equal(t, id, missing.ID)
	}
	requireNoEntry(end, "e99")
	requireNoEntry(whole[5].At, "e5")
	requireNoEntry(whole[5].At, "e7")
	requireNoEntry(whole[1].At, "e1")
	for _, id := range []string{"", "e5"} {
		got := read(t, store.Back(t.Context(), whole[5].End, id))
		require.NotEmpty(t, got)
		require.Equal(t, "e5", got[0].ID, "the last before the position")
	}
}

// A store may refuse a second line with the same id.
func duplicateIDs(t *testing.T, opener opener) {
	store := open(t, opener)
	all := lines(4)
	end := add(t, store, all...)
	again := []storage.Line{line(2, 3, "again"), line(4, 2, "after it")}
	if _, err := store.Append(t.Context(), end, again...); err != nil {
		requireLines(t, store, all)
		return
	}
	all = append(all, again...)
	requireLines(t, store, all)
	whole := read(t, store.Read(t.Context(), 0))
	back := func(before storage.Position, id string, want ...int) {
		t.Helper()
		got := read(t, store.Back(t.Context(), before, id))
		require.Len(t, got, len(want))
		for i, n := range want {
			requireLine(t, all[n], got[i])
		}
	}
	back(whole[5].End, "e2", 4, 3, 2, 1)
	back(whole[5].End, "", 5, 4, 3, 2, 1)
	back(whole[4].At, "e2", 2, 1)
}

// A read whose context is cancelled halfway may still complete.
func endsEarly(t *testing.T, opener opener) {
	store := open(t, opener)
	all := []storage.Line{header()}
	for n := 1; n < 400; n++ {
		all = append(all, line(n, n-1, strings.Repeat("z", 200)))
	}
	end := add(t, store, all...)
	for i, want := range []int{len(all), len(all) - 1} {
		ctx, cancel := context.WithCancel(context.Background())
		count, failed := 0, false
		for _, err := range both(ctx, store, 0, end, "e399")[i] {
			require.False(t, failed, "an error is the last value")
			cancel()
			if failed = err != nil; !failed {
				count++
			}
		}
		cancel()
		require.True(t, failed || count == want, "%d of %d lines and no error", count, want)
	}
}

// A read may include lines that are appended during it.
func usedMeanwhile(t *testing.T, opener opener) {
	store := open(t, opener)
	all := lines(12)
	add(t, store, all...)
	for _, seq := range both(t.Context(), store, 0, add(t, store), "e11") {
		count := 0
		for s, err := range seq {
			require.NoError(t, err)
			if count++; count > 3 {
				continue
			}
			for range 2 {
				for again, err := range store.Read(t.Context(), s.At) {
					require.NoError(t, err)
					require.Equal(t, s.ID, again.ID)
					break
				}
			}
			all = append(all, line(len(all), len(all)-1, "meanwhile"))
			end := add(t, store, all[len(all)-1])
			for last, err := range store.Back(t.Context(), end, "") {
				require.NoError(t, err)
				requireLine(t, all[len(all)-1], last)
				break
			}
		}
		require.GreaterOrEqual(t, count, 11)
	}
	requireLines(t, store, all)
}

func conflicts(t *testing.T, opener opener) {
	store := open(t, opener)
	all := lines(4)
	end := add(t, store, all...)
	whole := read(t, store.Read(t.Context(), 0))
	require.Len(t, whole, len(all))
	for _, at := range []storage.Position{0, whole[1].At, whole[3].At} {
		_, err := store.Append(t.Context(), at, line(8, 3, ""), line(9, 8, ""))
		conflict, ok := errors.AsType[*storage.ConflictError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, at, conflict.At)
		require.Equal(t, end, conflict.End)
		requireLines(t, store, all)
	}
}

func refuses(t *testing.T, opener opener) {
	store := open(t, opener)
	all := lines(3)
	end := add(t, store, all...)
	for _, bad := range []string{"", "\n", "{\n}", "{}\n"} {
		_, err := store.Append(t.Context(), end, line(8, 2, ""), storage.Line{ID: "x", Kind: "custom", Data: []byte(bad)}, line(9, 8, ""))
		require.Error(t, err, "%q", bad)
		requireLines(t, store, all)
	}
	for _, bad := range []storage.Line{{Kind: "custom", Data: []byte("{}")}, {ID: "x", Data: []byte("{}")}} {
		_, err := store.Append(t.Context(), end, bad)
		require.Error(t, err)
	}
	add(t, store, line(8, 2, ""))
	requireLines(t, store, append(all, line(8, 2, "")))
}

func ownsData(t *testing.T, opener opener) {
	store := open(t, opener)
	all, mine := lines(4), lines(4)
	add(t, store, mine...)
	for _, l := range mine {
		clear(l.Data)
	}
	requireLines(t, store, all)
}

// The lines of each writer are in order, those of one Append are adjacent, and lines that were read do not change.
func manyAtOnce(t *testing.T, opener opener) {
	const writers, each = 3, 30
	store := open(t, opener)
	add(t, store, header())
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				pair := []storage.Line{line(1000*(w+1)+2*i, 0, fmt.Sprint(i)), line(1000*(w+1)+2*i+1, 0, fmt.Sprint(i, " again"))}
				for attempt := 0; ; attempt++ {
					at, err := store.End(t.Context())
					if err == nil {
						_, err = store.Append(t.Context(), at, pair...)
					}
					if isConflict(err) && attempt < maxConflicts {
						continue
					}
					if err != nil {
						t.Error(err)
					}
					break
				}
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			var seen []string
			for {
				select {
				case <-done:
					return
				default:
				}
				n := 0 // odd: the header, and two for each Append
				for s, err := range store.Read(t.Context(), 0) {
					if err != nil {
						t.Error(err)
						return
					}
					if n < len(seen) && seen[n] != string(s.Data) {
						t.Errorf("line %d changed from %q to %q", n, seen[n], s.Data)
					}
					if n >= len(seen) {
						seen = append(seen, string(s.Data))
					}
					n++
				}
				if n < len(seen) || n%2 == 0 {
					t.Errorf("%d lines after %d: the lines of one Append are read together or not at all", n, len(seen))
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	got := read(t, store.Read(context.Background(), 0))
	require.Len(t, got, 1+2*writers*each)
	next := make([]int, writers)
	for i := 1; i < len(got); i += 2 {
		var n int
		_, err := fmt.Sscanf(got[i].ID, "e%d", &n)
		require.NoError(t, err)
		w := n/1000 - 1
		k := next[w]
		requireLine(t, line(1000*(w+1)+2*k, 0, fmt.Sprint(k)), got[i])
		requireLine(t, line(1000*(w+1)+2*k+1, 0, fmt.Sprint(k, " again")), got[i+1])
		next[w]++
	}
}

func picks(t *testing.T, opener opener) {
	store := open(t, opener)
	p, ok := store.(storage.Picker)
	if !ok {
		t.Skip("the store is not a Picker")
	}
	pick := func(at ...storage.Position) []storage.Stored { return read(t, p.Pick(t.Context(), at...)) }
	require.Empty(t, pick(0, 1), "an empty store")
	end := add(t, store, lines(2000)...)
	all := read(t, store.Read(t.Context(), 0))
	var want []storage.Stored
	var at []storage.Position
	for i := 1; i < len(all); i += 1 + i%3 {
		want, at = append(want, all[i]), append(at, all[i].At)
	}
	require.Equal(t, want, pick(at...))
	require.Equal(t, all[3:4], pick(all[3].At, end, end+5), "no line begins at the end")
	require.Empty(t, pick(end+5))
	require.Empty(t, pick())
	for _, err := range p.Pick(t.Context(), at...) {
		require.NoError(t, err)
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range p.Pick(ctx, at...) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func eraser(t *testing.T, store storage.Store) storage.Eraser {
	t.Helper()
	e, ok := store.(storage.Eraser)
	if !ok {
		t.Skip("the store is not an Eraser")
	}
	return e
}

func replaces(t *testing.T, opener opener) {
	store := open(t, opener)
	e := eraser(t, store)
	all := lines(9)
	add(t, store, all...)
	before := read(t, store.Read(t.Context(), 0))
	require.Len(t, before, len(all))
	var changed []storage.Stored
	for _, i := range []int{3, 7} {
		all[i] = line(i, i-1, "")
		s := before[i]
		s.Data = all[i].Data
		changed = append(changed, s)
	}
	require.NoError(t, e.Replace(t.Context()))
	require.NoError(t, e.Replace(t.Context(), changed...))
	after := read(t, store.Read(t.Context(), 0))
	require.Len(t, after, len(all))
	for i, s := range after {
		s.Data = bytes.TrimRight(s.Data, " ") // a store may pad shorter data
		requireLine(t, all[i], s)
		require.Equal(t, before[i].At, s.At)
		require.Equal(t, before[i].End, s.End)
	}
	require.Error(t, e.Replace(t.Context(), storage.Stored{Line: all[3], At: before[8].End + 5, End: before[8].End + 500}), "no line is at that position")
	add(t, store, line(9, 8, "on"))
}

func removes(t *testing.T, opener opener) {
	store, err := opener()
	require.NoError(t, err)
	e := eraser(t, store)
	end := add(t, store, lines(5)...)
	require.NoError(t, e.Remove(t.Context()))
	_, err = store.Append(context.Background(), end, line(9, 4, ""))
	require.ErrorIs(t, err, storage.ErrClosed)
	store, err = opener()
	require.NoError(t, err)
	requireLines(t, store, nil)
	require.NoError(t, store.Close())
}
