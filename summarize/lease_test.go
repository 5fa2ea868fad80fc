package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/storetest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/policy"
)

// mortal is a process's access to a store with leases, until the process dies.
type mortal struct {
	*storetest.Leases
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Leases.Append(ctx, at, lines...)
}

func (m *mortal) Lease(ctx context.Context, work, holder string, d time.Duration) (bool, error) {
	if m.dead.Load() {
		return false, errDead
	}
	return m.Leases.Lease(ctx, work, holder, d)
}

func (m *mortal) EndLease(ctx context.Context, work, holder string) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Leases.EndLease(ctx, work, holder)
}

// leasedFixture returns a fixture on a session of a store, as one of several processes has it. It summarises in the
// background.
func leasedFixture(t *testing.T, store storage.Store, model chat.Model) fixture {
	t.Helper()
	s := sessiontest.New(t, store, history.Options{})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	d := fixtureOf(t, s)
	d.Policy = copilotchat.Policy()
	d.Policy.Overflow.LastResort = policy.ResortError
	d.Target.Model = model
	return d
}

func pendingOf(t *testing.T, d fixture) policy.Pending {
	t.Helper()
	require.NoError(t, d.Session.Refresh(t.Context()))
	return d.PendingNow()
}

func TestAPlanWhoseProcessDiedIsTakenUpWithinTenSeconds(t *testing.T) {
	for _, lives := range []time.Duration{time.Millisecond, 2900 * time.Millisecond, 3100 * time.Millisecond, 70 * time.Second} {
		t.Run(fmt.Sprint("it dies after ", lives), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &mortal{Leases: &storetest.Leases{}}
				d := leasedFixture(t, store, unanswering())
				d.Say(append([]chat.Message{chat.UserMessage(task)}, rounds(1, 5, 660)...)...)
				d.Messages()
				require.Equal(t, policy.PendingRunning, pendingOf(t, d))
				time.Sleep(lives)
				other := leasedFixture(t, store.Leases, saying("Made by the other."))
				require.Equal(t, policy.PendingElsewhere, pendingOf(t, other))
				store.dead.Store(true)
				died := time.Now()
				other.Say(rounds(10, 11, 600)...) // now it no longer fits
				require.Contains(t, text(other.Messages()), "Made by the other.")
				t.Logf("taken up after %v", time.Since(died))
				require.LessOrEqual(t, time.Since(died), 10*time.Second)
				require.Greater(t, time.Since(died), 5*time.Second)
				require.Contains(t, kinds(*other.Heard), "waiting")
			})
		})
	}
}

func TestAPlanThatItsProcessNeverClaimedIsTakenUpWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &storetest.Leases{}
		d := leasedFixture(t, store, unanswering())
		d.Say(append([]chat.Message{chat.UserMessage(task)}, rounds(1, 5, 660)...)...)
		d.Messages()
		require.Equal(t, policy.PendingRunning, pendingOf(t, d))
		synctest.Wait() // until it has claimed the plan
		d.Session.Release(d.Session.Leaf())
		other := leasedFixture(t, store, saying("Made by the other."))
		time.Sleep(9*time.Second - time.Millisecond)
		require.Equal(t, policy.PendingElsewhere, pendingOf(t, other))
		time.Sleep(time.Millisecond)
		require.Equal(t, policy.PendingNone, pendingOf(t, other))
	})
}

func TestAPlanOfARunnerIsLeftToTheQueueUntilItsWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &mortal{Leases: &storetest.Leases{}}
		d := leasedFixture(t, store.Leases, unanswering())
		d.Say(append([]chat.Message{chat.UserMessage(task)}, rounds(1, 5, 660)...)...)
		plan := planned(d)
		time.Sleep(4 * time.Minute)
		require.Equal(t, policy.PendingElsewhere, pendingOf(t, d), "queued")
		worker := leasedFixture(t, store, unanswering())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- worker.RunPlan(ctx, plan, nil) }()
		synctest.Wait()
		second := leasedFixture(t, store.Leases, saying("Made twice."))
		require.ErrorIs(t, second.RunPlan(t.Context(), plan, nil), summarize.ErrBusy)
		require.Equal(t, policy.PendingElsewhere, pendingOf(t, d), "at work")
		store.dead.Store(true)
		time.Sleep(9 * time.Second)
		require.Equal(t, policy.PendingNone, pendingOf(t, d), "the worker is dead")
		require.NoError(t, second.RunPlan(t.Context(), plan, nil), "a second attempt may still make it")
		cancel()
		require.Error(t, <-done)
	})
}

func TestAPlanIsLeftAloneIfTheStoreCannotReadItsLease(t *testing.T) {
	store := &leaseless{Leases: &storetest.Leases{}}
	d := leasedFixture(t, store, saying("Done."))
	sessiontest.Add(t, d.Session, entry.Entry{Time: time.Now().Add(-time.Minute), Body: entry.Plan{Until: time.Now().Add(time.Minute)}})
	require.Equal(t, policy.PendingNone, pendingOf(t, d))
	store.down.Store(true)
	require.Equal(t, policy.PendingElsewhere, pendingOf(t, d))
}

// A claim that cannot be made is a compaction that failed.
func TestACompactionFailsIfTheStoreGivesNoLease(t *testing.T) {
	store := &leaseless{Leases: &storetest.Leases{}}
	d := leasedFixture(t, store, saying("Done."))
	d.Say(overflowing()...)
	store.down.Store(true)
	_, err := d.Render(t.Context(), prompt(d.Session))
	require.ErrorIs(t, err, errDown)
	end, ok := d.Latest(entry.TypePlanEnd)
	require.True(t, ok)
	require.Equal(t, entry.PlanFailed, end.Body.(entry.PlanEnd).Outcome)
	store.down.Store(false)
	require.Equal(t, policy.PendingNone, pendingOf(t, d))
}

// leaseless is a store whose leases fail while it is down.
type leaseless struct {
	*storetest.Leases
	down atomic.Bool
}

func (f *leaseless) Lease(ctx context.Context, work, holder string, d time.Duration) (bool, error) {
	if f.down.Load() {
		return false, errDown
	}
	return f.Leases.Lease(ctx, work, holder, d)
}

func (f *leaseless) Leased(ctx context.Context, work string) (storage.LeaseState, error) {
	if f.down.Load() {
		return storage.LeaseNone, errDown
	}
	return f.Leases.Leased(ctx, work)
}
