package history_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

const onDisk = "/sessions/session.jsonl"

func openOn(disk *historytest.Disk, sync storage.Sync) (*history.Session, error) {
	return history.Open(onDisk, history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Disk: disk, Sync: sync}})
}

func openedOn(t testing.TB, disk *historytest.Disk, sync storage.Sync) *history.Session {
	t.Helper()
	s, err := openOn(disk, sync)
	require.NoError(t, err)
	return s
}

// surviveCuts appends and compacts, cuts the power repeatedly, and returns an error if an acknowledged entry was lost
// or the session does not open.
func surviveCuts(t *testing.T, seed uint64, disk *historytest.Disk, sync storage.Sync) (lost error) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	var acknowledged []string
	for range 6 {
		s, err := openOn(disk, sync)
		if err != nil {
			return fmt.Errorf("the session does not open: %w", err)
		}
		entries := readable(s)
		if len(entries) < len(acknowledged) {
			return fmt.Errorf("%d entries were read, %d were acknowledged", len(entries), len(acknowledged))
		}
		for i, id := range acknowledged {
			if entries[i].ID != id {
				return fmt.Errorf("entry %d is %s, not %s", i, entries[i].ID, id)
			}
		}
		requireChained(t, s)
		v := sessiontest.View(t, s)
		if len(entries) > 0 {
			require.NoError(t, chat.Validate(append(v.Messages(), chat.UserMessage("on"))))
		}
		acknowledged = acknowledged[:0]
		for _, e := range entries {
			acknowledged = append(acknowledged, e.ID)
		}
		for range r.IntN(20) {
			said := []entry.Entry{
				{Body: entry.Message{Message: chat.UserMessage(fmt.Sprintf("%0*d", r.IntN(500), count(t, s)))}},
				{Body: entry.Message{Message: chat.AssistantMessage("ok")}},
			}
			if r.IntN(5) == 0 && count(t, s) > 0 {
				said = []entry.Entry{{Body: summary("so far", "")}}
			}
			for _, e := range sessiontest.Add(t, s, said...) {
				acknowledged = append(acknowledged, e.ID)
			}
		}
		if r.IntN(3) == 0 { // the power fails during an append, which is not acknowledged
			disk.Fail(errors.New("power"))
			require.Error(t, s.Append(t.Context(), chat.UserMessage("never said")))
			disk.Fail(nil)
		}
		disk.PowerCut(func(appended int) int { return r.IntN(appended + 1) })
	}
	return nil
}

func TestAcknowledgedEntriesSurviveAPowerCut(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(40)) {
		require.NoError(t, surviveCuts(t, seed, &historytest.Disk{}, storage.SyncAlways), "seed %d", seed)
	}
}

// Without syncs a power cut must lose entries; otherwise the test above would not notice a missing sync.
func TestAPowerCutWithoutSyncsLosesEntries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		noSync bool
		sync   storage.Sync
	}{
		"a disk that does not sync": {true, storage.SyncAlways},
		"a log that does not sync":  {false, storage.SyncNever},
	} {
		t.Run(name, func(t *testing.T) {
			lost := 0
			for seed := range uint64(cases(40)) {
				disk := historytest.Disk{NoSync: c.noSync}
				if err := surviveCuts(t, seed, &disk, c.sync); err != nil {
					lost++
				}
			}
			require.Greater(t, lost, cases(20))
		})
	}
}

func TestATornEndThatWasSetAsideSurvivesAPowerCut(t *testing.T) {
	t.Parallel()
	disk := &historytest.Disk{}
	s := openedOn(t, disk, storage.SyncNever)
	require.NoError(t, disk.SyncDir("/sessions"))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one"), chat.UserMessage("two")))
	disk.PowerCut(func(appended int) int { return appended - 5 })
	s = openedOn(t, disk, storage.SyncAlways)
	require.Equal(t, 1, count(t, s))
	torn := s.Recovered()
	require.NotNil(t, torn)
	require.Equal(t, onDisk+".torn", torn.SavedTo)
	disk.PowerCut(nil)
	require.EqualValues(t, torn.Bytes, len(disk.ReadFile(torn.SavedTo))-len(tornHead))
	s = openedOn(t, disk, storage.SyncAlways)
	require.Nil(t, s.Recovered())
	require.Equal(t, 1, count(t, s))
}

func TestSyncIntervalSyncsManyAppendsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := &historytest.Disk{}
		s := openedOn(t, disk, storage.SyncInterval)
		for range 100 {
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
		}
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		require.Zero(t, disk.Syncs())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, disk.Syncs())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, disk.Syncs(), "nothing was written since")
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("two")))
		require.NoError(t, s.Close())
		require.Equal(t, 2, disk.Syncs(), "the last append")
		disk.PowerCut(nil)
		s = openedOn(t, disk, storage.SyncInterval)
		require.Equal(t, 101, count(t, s))
		require.NoError(t, s.Close())
	})
}

// Acknowledged entries may be lost if a sync fails, so later calls return its error.
func TestSyncIntervalReportsAFailedSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk, full := &historytest.Disk{}, errors.New("full")
		s := openedOn(t, disk, storage.SyncInterval)
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
		disk.Fail(full)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		disk.Fail(nil)
		require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("two")), full)
		require.ErrorIs(t, s.Close(), full)
	})
}

// After a write that failed the session is unchanged, and the next append succeeds.
func TestAFailedAppendIsUndone(t *testing.T) {
	t.Parallel()
	disk, full := &historytest.Disk{}, errors.New("full")
	s := openedOn(t, disk, storage.SyncAlways)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
	before := disk.ReadFile(onDisk)
	disk.Fail(full)
	require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("two")), full)
	require.ErrorIs(t, s.Branch(t.Context(), "e1"), full)
	disk.Fail(nil)
	require.Equal(t, "e1", s.Leaf())
	require.Equal(t, string(before), string(disk.ReadFile(onDisk)))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("three")))
	require.Equal(t, []string{"e1", s.Leaf()}, ids(t, s.Entries(t.Context())))
	require.NoError(t, s.Close())
}
