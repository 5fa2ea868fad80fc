package historytest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/storage"
)

// leaser returns an open store with some lines as a [storage.Leaser], and skips the test if it is none.
func leaser(t *testing.T, opener opener) storage.Leaser {
	t.Helper()
	store := open(t, opener)
	l, ok := store.(storage.Leaser)
	if !ok {
		t.Skip("the store is not a Leaser")
	}
	if end, err := store.End(t.Context()); err != nil || end == 0 {
		require.NoError(t, err)
		add(t, store, lines(3)...)
	}
	return l
}

// requireLease takes a lease of a minute, and requires that the holder has it, or not.
func requireLease(t *testing.T, l storage.Leaser, work, holder string, want bool) {
	t.Helper()
	held, err := l.Lease(t.Context(), work, holder, time.Minute)
	require.NoError(t, err)
	require.Equal(t, want, held)
}

func requireLeased(t *testing.T, l storage.Leaser, work string, want storage.LeaseState) {
	t.Helper()
	state, err := l.Leased(t.Context(), work)
	require.NoError(t, err)
	require.Equal(t, want, state)
}

func leases(t *testing.T, opener opener) {
	l := leaser(t, opener)
	requireLeased(t, l, "e1", storage.LeaseNone)
	require.NoError(t, l.EndLease(t.Context(), "e1", "nobody"))
	for range 3 {
		var got atomic.Int32
		var taking sync.WaitGroup
		var holder string
		for i := range 8 {
			taking.Go(func() {
				name := fmt.Sprint("holder ", i)
				held, err := l.Lease(context.Background(), "e1", name, time.Minute)
				if err != nil {
					t.Error(err)
				}
				if held && got.Add(1) == 1 {
					holder = name
				}
			})
		}
		taking.Wait()
		require.EqualValues(t, 1, got.Load())
		requireLeased(t, l, "e1", storage.LeaseHeld)
		requireLease(t, l, "e1", holder, true)
		requireLease(t, l, "e1", "another", false)
		require.NoError(t, l.EndLease(t.Context(), "e1", "another"))
		requireLeased(t, l, "e1", storage.LeaseHeld)
		require.NoError(t, l.EndLease(t.Context(), "e1", holder))
		requireLeased(t, l, "e1", storage.LeaseNone)
	}
}

func leaseExpires(t *testing.T, opener opener) {
	l := leaser(t, opener)
	expire := func(holder string) {
		held, err := l.Lease(t.Context(), "e1", holder, 10*time.Millisecond)
		require.NoError(t, err)
		require.True(t, held)
		require.Eventually(t, func() bool {
			state, err := l.Leased(t.Context(), "e1")
			require.NoError(t, err)
			return state == storage.LeaseExpired
		}, 10*time.Second, 5*time.Millisecond)
	}
	expire("a")
	requireLease(t, l, "e1", "a", true) // the same holder may still renew it
	expire("a")                         // a renewal may make it shorter
	requireLease(t, l, "e1", "b", true)
	requireLease(t, l, "e1", "a", false)
	require.NoError(t, l.EndLease(t.Context(), "e1", "a"))
	requireLeased(t, l, "e1", storage.LeaseHeld)
	expire("b")
	require.NoError(t, l.EndLease(t.Context(), "e1", "b"))
	requireLeased(t, l, "e1", storage.LeaseNone)
}

func leasesOfWork(t *testing.T, opener opener) {
	l := leaser(t, opener)
	names := []string{"e1", "E1", "", "\x00", "not UTF-8: \xff", "中文"}
	for i, work := range names {
		requireLease(t, l, work, names[len(names)-1-i], true)
	}
	requireLease(t, l, "e2", "中文", true)
	for i, work := range names {
		requireLease(t, l, work, "another", false)
		requireLease(t, l, work, names[len(names)-1-i], true)
	}
	require.NoError(t, l.EndLease(t.Context(), "e1", "中文"))
	requireLeased(t, l, "e1", storage.LeaseNone)
	requireLeased(t, l, "E1", storage.LeaseHeld)
	requireLeased(t, l, "e2", storage.LeaseHeld)
}

func leaseRefused(t *testing.T, opener opener) {
	l := leaser(t, opener)
	call := func(ctx context.Context) []error {
		_, leaseErr := l.Lease(ctx, "e1", "a", time.Minute)
		_, leasedErr := l.Leased(ctx, "e1")
		return []error{leaseErr, leasedErr, l.EndLease(ctx, "e1", "a")}
	}
	why := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, err := range call(ctx) {
		require.True(t, errors.Is(err, why) || errors.Is(err, context.Canceled), "%v", err)
	}
	requireLeased(t, l, "e1", storage.LeaseNone)
	require.NoError(t, l.(storage.Store).Close())
	for _, err := range call(t.Context()) {
		require.ErrorIs(t, err, storage.ErrClosed)
	}
}

func leasesShared(t *testing.T, opener opener) {
	first, second := leaser(t, opener), leaser(t, opener)
	requireLease(t, first, "e1", "a", true)
	requireLeased(t, second, "e1", storage.LeaseHeld)
	requireLease(t, second, "e1", "b", false)
	require.NoError(t, first.(storage.Store).Close())
	requireLeased(t, second, "e1", storage.LeaseHeld)
	require.NoError(t, second.EndLease(t.Context(), "e1", "a"))
	requireLease(t, second, "e1", "b", true)
}
