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
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
)

const onDisk = "/sessions/session.jsonl"

func openOn(disk *historytest.Disk, sync storage.Sync) (*history.Session, error) {
	return history.Open(onDisk, history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Disk: disk, Sync: sync}})
}

// surviveCuts appends and compacts, cuts the power again and again, and gives what was lost of what was acknowledged. A
// session that does not open is lost too.
func surviveCuts(t *testing.T, seed uint64, disk *historytest.Disk, sync storage.Sync) (lost error) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	var acknowledged []string
	for range 6 {
		s, err := openOn(disk, sync)
		if err != nil {
			return fmt.Errorf("it does not open: %w", err)
		}
		entries := readable(s)
		if len(entries) < len(acknowledged) {
			return fmt.Errorf("%d entries are there, %d were acknowledged", len(entries), len(acknowledged))
		}
		for i, id := range acknowledged {
			if entries[i].ID != id {
				return fmt.Errorf("entry %d is %s and not %s", i, entries[i].ID, id)
			}
		}
		requireChained(t, s)
		v, err := s.View(t.Context())
		require.NoError(t, err)
		if len(entries) > 0 {
			require.NoError(t, chat.Validate(append(v.Messages(), chat.UserMessage("on"))))
		}
		acknowledged = acknowledged[:0]
		for _, e := range entries {
			acknowledged = append(acknowledged, e.ID)
		}
		for range r.IntN(20) {
			said := []history.Entry{
				{Body: history.Message{Message: chat.UserMessage(fmt.Sprintf("%0*d", r.IntN(500), count(t, s)))}},
				{Body: history.Message{Message: chat.AssistantMessage("ok")}},
			}
			if r.IntN(5) == 0 && count(t, s) > 0 {
				said = []history.Entry{{Body: summary("so far", "")}}
			}
			added, err := s.Add(t.Context(), said...)
			require.NoError(t, err)
			for _, e := range added {
				acknowledged = append(acknowledged, e.ID)
			}
		}
		if r.IntN(3) == 0 { // the power goes in the middle of an append that is not acknowledged
			disk.Fail(errors.New("power"))
			require.Error(t, s.Append(t.Context(), chat.UserMessage("never said")))
			disk.Fail(nil)
		}
		disk.PowerCut(func(appended int) int { return r.IntN(appended + 1) })
	}
	return nil
}

func TestPowerCutLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		require.NoError(t, surviveCuts(t, seed, &historytest.Disk{}, storage.SyncAlways), "seed %d", seed)
	}
}

// The same on a disk whose syncs do nothing must lose something, and so must a log that does not sync: else the test
// above would not see it.
func TestPowerCutWithoutSyncsIsSeen(t *testing.T) {
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
			for seed := range uint64(40) {
				disk := historytest.Disk{NoSync: c.noSync}
				if err := surviveCuts(t, seed, &disk, c.sync); err != nil {
					lost++
				}
			}
			t.Logf("%d of 40 lost something", lost)
			require.Greater(t, lost, 20)
		})
	}
}

// The name of a new file is durable before anything in it is acknowledged.
func TestNewSessionOutlivesAPowerCut(t *testing.T) {
	t.Parallel()
	disk := &historytest.Disk{}
	s, err := openOn(disk, storage.SyncAlways)
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
	disk.PowerCut(nil)
	s, err = openOn(disk, storage.SyncAlways)
	require.NoError(t, err)
	require.Equal(t, 1, count(t, s))
	require.Nil(t, s.Recovered())
}

// A torn end is set aside once and for all, even where the power goes again at once.
func TestTornEndIsSetAsideDurably(t *testing.T) {
	t.Parallel()
	disk := &historytest.Disk{}
	s, err := openOn(disk, storage.SyncNever)
	require.NoError(t, err)
	require.NoError(t, disk.SyncDir("/sessions"))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one"), chat.UserMessage("two")))
	disk.PowerCut(func(appended int) int { return appended - 5 })
	s, err = openOn(disk, storage.SyncAlways)
	require.NoError(t, err)
	require.Equal(t, 1, count(t, s))
	torn := s.Recovered()
	require.NotNil(t, torn)
	require.Equal(t, onDisk+".torn", torn.SavedTo)
	disk.PowerCut(nil)
	require.Equal(t, torn.Bytes, int64(len(disk.ReadFile(torn.SavedTo))))
	s, err = openOn(disk, storage.SyncAlways)
	require.NoError(t, err)
	require.Nil(t, s.Recovered())
	require.Equal(t, 1, count(t, s))
}

func TestIntervalSyncsOnceForMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := &historytest.Disk{}
		s, err := openOn(disk, storage.SyncInterval)
		require.NoError(t, err)
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
		require.Equal(t, 2, disk.Syncs(), "what was written last")
		disk.PowerCut(nil)
		s, err = openOn(disk, storage.SyncInterval)
		require.NoError(t, err)
		require.Equal(t, 101, count(t, s))
		require.NoError(t, s.Close())
	})
}

// What was acknowledged may be lost where it could not be forced: whoever goes on is told.
func TestIntervalTellsOfAFailedSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk, full := &historytest.Disk{}, errors.New("full")
		s, err := openOn(disk, storage.SyncInterval)
		require.NoError(t, err)
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
		disk.Fail(full)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		disk.Fail(nil)
		require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("two")), full)
		require.ErrorIs(t, s.Close(), full)
	})
}

// A write that fails leaves the session as it was, and the next goes on.
func TestFailedAppendIsTakenBack(t *testing.T) {
	t.Parallel()
	disk, full := &historytest.Disk{}, errors.New("full")
	s, err := openOn(disk, storage.SyncAlways)
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
	before := disk.ReadFile(onDisk)
	disk.Fail(full)
	require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("two")), full)
	require.ErrorIs(t, s.Branch(t.Context(), "e1"), full)
	disk.Fail(nil)
	require.Equal(t, "e1", s.Leaf())
	require.Equal(t, string(before), string(disk.ReadFile(onDisk)))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("three")))
	require.Equal(t, []string{"e1", "e2"}, []string{all(t, s)[0].ID, s.Leaf()})
	require.NoError(t, s.Close())
}
