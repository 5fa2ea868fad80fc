package historytest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/storage"
)

// Suite describes the store to test.
type Suite struct {
	// New returns a function that opens a store, which is empty at first. Each further call of the function opens a store
	// with the same lines, or an empty one if the store is volatile.
	New func(t *testing.T) func() (storage.Store, error)
	// Volatile stores lose their lines when they are closed.
	Volatile bool
	// Shared stores can be open twice, and both may append. The others refuse the second with [storage.ErrLocked].
	Shared bool
}

type opener = func() (storage.Store, error)

// Run runs all tests as subtests, each named for the rule that it checks.
func Run(t *testing.T, s Suite) {
	for _, rule := range []struct {
		name    string
		test    func(*testing.T, opener)
		skipped string
	}{
		{"a new store is empty", isEmpty, ""},
		{"lines come back in order and byte for byte", readBack, ""},
		{"the positions of a line are those that Append returned", positions, ""},
		{"lines are read from any position, more than once and not to the end", anyPosition, ""},
		{"a position at which no line begins is an error", wrongPositions, ""},
		{"a path is read back by parent from any entry", paths, ""},
		{"lines are picked by their positions", picks, ""},
		{"an entry that is not before the position is a NoEntryError", notBefore, ""},
		{"of two lines with one id the last before the position counts", duplicateIDs, ""},
		{"an append at a position that is taken is a conflict, and writes nothing", conflicts, ""},
		{"an invalid line is refused with the whole append", refuses, ""},
		{"the caller may change the data of a line after the append", ownsData, ""},
		{"a cancelled context ends a call, which writes nothing", cancelled, ""},
		{"a read returns every line or ends with an error", endsEarly, ""},
		{"a store can be read and appended to during a read", usedMeanwhile, ""},
		{"a closed store returns ErrClosed", closed, ""},
		{"several goroutines may append and read at once", manyAtOnce, ""},
		{"a store that is opened again has the same lines", reopened, s.once()},
		{"a second writer is refused until the first has closed", secondWriter, s.oneWriter()},
		{"each of two open stores sees what the other appends", twoWriters, s.twoWriters()},
		{"replaced data is gone, and every other line stays at its position", replaces, ""},
		{"removed lines are gone", removes, ""},
		{"one of several holders has a lease, until it ends the lease", leases, ""},
		{"a lease that is not renewed expires, and another holder may take it", leaseExpires, ""},
		{"leases of different work, and of any name, are independent", leasesOfWork, ""},
		{"a lease needs an open store and a context that has not ended", leaseRefused, ""},
		{"an open store sees the leases that another takes", leasesShared, s.twoWriters()},
		{"a session is the same as in memory", session, ""},
		{"a session that is opened again is the same, byte for byte", sessionReopened, s.once()},
		{"what one session says is a conflict for another until it refreshes", sayConflict, ""},
		{"labels, usage and plans are added after what was appended meanwhile", addsAfterOthers, ""},
		{"a compaction is added after what was appended meanwhile, or dropped", compactionRefreshes, ""},
		{"two sessions on one store lose nothing under load", twoSessions, ""},
		{"two sessions lose nothing under load, each with its own open store", twoSessionsApart, s.twoWriters()},
	} {
		t.Run(rule.name, func(t *testing.T) {
			if rule.skipped != "" {
				t.Skip(rule.skipped)
			}
			rule.test(t, s.New(t))
		})
	}
}

// once returns why the tests that open a store again are skipped, "" if they are not.
func (s Suite) once() string {
	if s.Volatile {
		return "the store forgets its lines"
	}
	return ""
}

// oneWriter returns why the test of a second writer that is refused is skipped.
func (s Suite) oneWriter() string {
	if s.Volatile || s.Shared {
		return "a second writer is not refused, or the store cannot be opened twice"
	}
	return ""
}

// twoWriters returns why the tests that open a store twice are skipped.
func (s Suite) twoWriters() string {
	if s.Volatile || !s.Shared {
		return "the store has one writer"
	}
	return ""
}

func open(t *testing.T, opener opener) storage.Store {
	t.Helper()
	store, err := opener()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// closed also checks that closing twice does nothing.
func closed(t *testing.T, opener opener) {
	store := open(t, opener)
	end := add(t, store, lines(4)...)
	require.NoError(t, store.Close())
	require.NoError(t, store.Close())
	ctx := context.Background()
	_, err := store.End(ctx)
	require.ErrorIs(t, err, storage.ErrClosed)
	_, err = store.Append(ctx, end, line(9, 3, ""))
	require.ErrorIs(t, err, storage.ErrClosed)
	for _, seq := range both(ctx, store, 0, end, "e3") {
		values := 0
		for _, err := range seq {
			require.ErrorIs(t, err, storage.ErrClosed)
			values++
		}
		require.Equal(t, 1, values)
	}
}

func cancelled(t *testing.T, opener opener) {
	store := open(t, opener)
	all := lines(4)
	end := add(t, store, all...)
	why := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	_, err := store.Append(ctx, end, line(9, 3, ""))
	require.True(t, errors.Is(err, why) || errors.Is(err, context.Canceled), "%v", err)
	_, err = store.End(ctx)
	require.True(t, errors.Is(err, why) || errors.Is(err, context.Canceled), "%v", err)
	for _, seq := range both(ctx, store, 0, end, "e3") {
		values := 0
		for _, err := range seq {
			require.True(t, errors.Is(err, why) || errors.Is(err, context.Canceled), "%v", err)
			values++
		}
		require.Equal(t, 1, values)
	}
	requireLines(t, store, all)
}

func reopened(t *testing.T, opener opener) {
	all := lines(20)
	store, err := opener()
	require.NoError(t, err)
	add(t, store, all[:10]...)
	require.NoError(t, store.Close())
	store = open(t, opener)
	requireLines(t, store, all[:10])
	add(t, store, all[10:]...)
	require.NoError(t, store.Close())
	requireLines(t, open(t, opener), all)
}

func secondWriter(t *testing.T, opener opener) {
	first, err := opener()
	require.NoError(t, err)
	all := lines(3)
	add(t, first, all...)
	second, err := opener()
	require.ErrorIs(t, err, storage.ErrLocked)
	require.Nil(t, second)
	all = append(all, line(3, 2, "from the first"))
	add(t, first, all[3])
	require.NoError(t, first.Close())
	requireLines(t, open(t, opener), all)
}

func twoWriters(t *testing.T, opener opener) {
	all := lines(6)
	first, second := open(t, opener), open(t, opener)
	end := add(t, first, all[:3]...)
	requireLines(t, second, all[:3])
	add(t, second, all[3:]...)
	requireLines(t, first, all)
	_, err := first.Append(t.Context(), end, line(9, 2, ""))
	conflict, ok := errors.AsType[*storage.ConflictError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, end, conflict.At)
	requireLines(t, second, all)
	require.NoError(t, first.Close())
	all = append(all, line(6, 5, "from the other"))
	add(t, second, all[6])
	requireLines(t, second, all)
}
