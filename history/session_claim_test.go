package history_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
)

// countingStore is a store in memory that counts the lines that are read, and may be shared.
type countingStore struct {
	storage.Memory
	read   int
	shared bool
}

func (c *countingStore) Read(ctx context.Context, from storage.Position) iter.Seq2[storage.Stored, error] {
	return c.counted(c.Memory.Read(ctx, from))
}

func (c *countingStore) Back(ctx context.Context, before storage.Position, id string) iter.Seq2[storage.Stored, error] {
	return c.counted(c.Memory.Back(ctx, before, id))
}

func (c *countingStore) counted(lines iter.Seq2[storage.Stored, error]) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		for line, err := range lines {
			c.read++
			if !yield(line, err) {
				return
			}
		}
	}
}

func (c *countingStore) Shared() bool { return c.shared }

func TestBackReturnsThePathInReverse(t *testing.T) {
	store := &countingStore{}
	s := sessionIn(t, store, history.Options{IDs: numbered.IDs()})
	require.Empty(t, list(t, s.Back(t.Context(), "")))
	for i := range 1000 {
		require.NoError(t, s.Append(t.Context(), user))
		if i == 700 {
			require.NoError(t, s.Branch(t.Context(), "e5"))
		}
	}
	s, err := history.New(t.Context(), store, history.Options{IDs: numbered.IDs()}) // with an empty cache
	require.NoError(t, err)
	for _, id := range []string{"", "e1", "e9", "e700", "e900"} {
		want := list(t, s.PathTo(t.Context(), id))
		slices.Reverse(want)
		equal(t, want, list(t, s.Back(t.Context(), id)))
	}
	for _, id := range []string{"", "e400"} {
		store.read = 0
		for e, err := range s.Back(t.Context(), id) {
			require.NoError(t, err)
			require.Equal(t, id == "", e.ID == s.Leaf())
			break
		}
		require.LessOrEqual(t, store.read, 8, "an early break reads few lines")
	}
	for _, err := range s.Back(t.Context(), "e9999") {
		require.ErrorAs(t, err, new(*storage.NoEntryError))
	}
}

func TestASessionReportsWhetherItIsReadOnlyOrShared(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	require.NoError(t, s.Append(t.Context(), user))
	reader := readOnly(t, path)
	require.True(t, reader.ReadOnly())
	require.ErrorIs(t, reader.Append(t.Context(), user), storage.ErrReadOnly)
	shared := sessionIn(t, &countingStore{shared: true}, history.Options{})
	for _, s := range []*history.Session{s, {}, talk(t, user), shared} {
		require.False(t, s.ReadOnly())
	}
	for _, s := range []*history.Session{s, reader, {}, talk(t, user)} {
		require.False(t, s.Shared())
	}
	require.True(t, shared.Shared())
}

func TestOnlyOneOfSeveralClaimsSucceeds(t *testing.T) {
	var s history.Session
	state := func(id string) storage.LeaseState {
		t.Helper()
		state, err := s.Claimed(t.Context(), id)
		require.NoError(t, err)
		return state
	}
	claim := func(id string) bool {
		claimed, err := s.Claim(t.Context(), id, time.Minute)
		return claimed && err == nil
	}
	s.Release("e1")
	for range 3 {
		require.Equal(t, storage.LeaseNone, state("e1"))
		var got atomic.Int32
		var claiming sync.WaitGroup
		for range 8 {
			claiming.Go(func() {
				if claim("e1") {
					got.Add(1)
				}
			})
		}
		claiming.Wait()
		require.EqualValues(t, 1, got.Load())
		require.Equal(t, storage.LeaseHeld, state("e1"))
		require.Equal(t, storage.LeaseNone, state("e2"))
		require.True(t, claim("e2"), "another id can be claimed")
		s.Release("e1")
		s.Release("e2")
	}
}
