package history_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/storetest"
)

// leasing is a store in memory that keeps leases. Its calls are recorded and can be made to fail.
type leasing struct {
	storetest.Leases
	began time.Time

	mu    sync.Mutex
	calls []string                  // a method, and the seconds since the store began
	do    map[string]func() error   // called at the start of a method, by its name
	state func() storage.LeaseState // the result of Leased, if set
}

func (l *leasing) call(method string) error {
	l.mu.Lock()
	l.calls = append(l.calls, method+" "+time.Since(l.began).String())
	do := l.do[method]
	l.mu.Unlock()
	if do != nil {
		return do()
	}
	return nil
}

// set makes a method call do first; nil ends that.
func (l *leasing) set(method string, do func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.do[method] = do
}

// called returns the calls since the last call of called.
func (l *leasing) called() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

func (l *leasing) Lease(ctx context.Context, work, holder string, d time.Duration) (bool, error) {
	if err := l.call("Lease"); err != nil {
		return false, err
	}
	return l.Leases.Lease(ctx, work, holder, d)
}

func (l *leasing) Leased(ctx context.Context, work string) (storage.LeaseState, error) {
	if err := l.call("Leased"); err != nil {
		return 0, err
	}
	if l.state != nil {
		return l.state(), nil
	}
	return l.Leases.Leased(ctx, work)
}

func (l *leasing) EndLease(ctx context.Context, work, holder string) error {
	if err := l.call("EndLease"); err != nil {
		return err
	}
	return l.Leases.EndLease(ctx, work, holder)
}

// leasingSession returns a session whose store keeps leases.
func leasingSession(t *testing.T) (*history.Session, *leasing) {
	t.Helper()
	store := &leasing{began: time.Now(), do: map[string]func() error{}}
	return sessionIn(t, store, history.Options{}), store
}

func claimed(t *testing.T, s *history.Session) bool {
	t.Helper()
	ok, err := s.Claim(t.Context(), "e1", time.Minute)
	require.NoError(t, err)
	return ok
}

func requireClaim(t *testing.T, s *history.Session, want storage.LeaseState) {
	t.Helper()
	state, err := s.Claimed(t.Context(), "e1")
	require.NoError(t, err)
	require.Equal(t, want, state)
}

func TestALeaseIsRenewedEveryThreeSecondsUntilItsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := leasingSession(t)
		other := sessionIn(t, store, history.Options{})
		require.True(t, claimed(t, s))
		require.False(t, claimed(t, s))
		require.Equal(t, []string{"Lease 0s"}, store.called(), "the second claim of the session asks no store")
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"Lease 3s", "Lease 6s", "Lease 9s"}, store.called())
		require.False(t, claimed(t, other))
		requireClaim(t, other, storage.LeaseHeld)
		requireClaim(t, s, storage.LeaseHeld)
		store.called()
		s.Release("e1")
		require.Equal(t, []string{"EndLease 10s"}, store.called())
		requireClaim(t, other, storage.LeaseNone)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"Leased 10s"}, store.called(), "nothing is renewed")
		require.True(t, claimed(t, other))
		s.Release("e1")
		requireClaim(t, s, storage.LeaseHeld)
		other.Release("e1")
		require.True(t, claimed(t, s), "a released claim can be taken again")
		s.Release("e1")
	})
}

func TestACloseEndsTheLeases(t *testing.T) {
	for name, end := range map[string]func(*history.Session) error{
		"Close": (*history.Session).Close, "Remove": func(s *history.Session) error { return s.Remove(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
				s, store := leasingSession(t)
				require.True(t, claimed(t, s))
				require.NoError(t, end(s))
				require.Equal(t, []string{"Lease 0s", "EndLease 0s"}, store.called())
				_, err := s.Claim(t.Context(), "e2", time.Minute)
				require.ErrorIs(t, err, storage.ErrClosed)
				s.Release("e1")
			})
		})
	}
}

func TestACloseEndsAClaimThatIsBeingMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := leasingSession(t)
		until := make(chan struct{})
		store.set("Lease", func() error { <-until; return nil })
		done := make(chan error)
		go func() {
			_, err := s.Claim(context.Background(), "e1", time.Minute)
			done <- err
		}()
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, <-closed)
		require.Equal(t, time.Second, time.Since(store.began))
		close(until)
	})
}

func TestALeaseEndsWithTheLimitOfItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := leasingSession(t)
		require.True(t, claimed(t, s))
		time.Sleep(time.Minute - time.Second)
		requireClaim(t, sessionIn(t, store, history.Options{}), storage.LeaseHeld)
		time.Sleep(time.Second)
		synctest.Wait()
		requireClaim(t, s, storage.LeaseNone)
		require.Contains(t, store.called(), "EndLease 1m0s")
	})
}

func TestTheClaimOfADeadProcessExpiresWithinNineSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := leasingSession(t)
		other := sessionIn(t, store, history.Options{})
		require.True(t, claimed(t, s))
		time.Sleep(4 * time.Second)
		store.set("Lease", func() error { return errors.New("the process is dead") })
		store.set("EndLease", func() error { return errors.New("the process is dead") })
		time.Sleep(8*time.Second - time.Millisecond)
		requireClaim(t, other, storage.LeaseHeld)
		time.Sleep(time.Millisecond)
		requireClaim(t, other, storage.LeaseExpired)
		s.Release("e1")
		requireClaim(t, other, storage.LeaseExpired)
		store.set("Lease", nil)
		require.True(t, claimed(t, other))
		other.Release("e1")
	})
}

func TestARenewalThatFailsIsTriedAgain(t *testing.T) {
	for does, do := range map[string]func() error{
		"returns an error":    func() error { return errors.New("the connection is lost") },
		"panics":              func() error { panic("oh no") },
		"ends its goroutine":  func() error { runtime.Goexit(); return nil },
		"returns much later":  func() error { time.Sleep(time.Minute); return errors.New("late") },
		"returns a bit later": func() error { time.Sleep(2500 * time.Millisecond); return errors.New("late") },
	} {
		t.Run("a store that "+does, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := leasingSession(t)
				require.True(t, claimed(t, s))
				store.set("Lease", do)
				time.Sleep(7 * time.Second)
				store.set("Lease", nil)
				time.Sleep(3*time.Second + time.Millisecond)
				require.Equal(t, []string{"Lease 0s", "Lease 3s", "Lease 6s", "Lease 9s"}, store.called())
				requireClaim(t, sessionIn(t, store, history.Options{}), storage.LeaseHeld)
				require.NoError(t, s.Close())
				time.Sleep(time.Hour) // the store returns
			})
		})
	}
}

func TestAClaimEndsIfAnotherTakesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := leasingSession(t)
		require.True(t, claimed(t, s))
		store.set("Lease", func() error { return errors.New("the connection is lost") })
		time.Sleep(9*time.Second + time.Millisecond)
		store.set("Lease", nil)
		other := sessionIn(t, store, history.Options{})
		require.True(t, claimed(t, other))
		store.called()
		time.Sleep(10 * time.Second)
		s.Release("e1")
		calls := store.called()
		require.Len(t, slices.DeleteFunc(calls, func(c string) bool { return c[:5] != "Lease" }), 4, "one by the session that lost it, three by the other")
		requireClaim(t, s, storage.LeaseHeld)
		require.Equal(t, []string{"Leased 19.001s"}, store.called(), "by the other")
		other.Release("e1")
		requireClaim(t, s, storage.LeaseNone)
	})
}

func TestAStoreThatFailsLetsNoClaimBeMade(t *testing.T) {
	down := errors.New("the database is down")
	synctest.Test(t, func(t *testing.T) {
		s, store := leasingSession(t)
		for method, reach := range map[string]func(context.Context) error{
			"Lease": func(ctx context.Context) error {
				claimed, err := s.Claim(ctx, "e1", time.Minute)
				require.False(t, claimed)
				return err
			},
			"Leased": func(ctx context.Context) error {
				state, err := s.Claimed(ctx, "e1")
				require.Equal(t, storage.LeaseUnknown, state)
				return err
			},
		} {
			store.set(method, func() error { return down })
			require.Equal(t, down, reach(t.Context()))
			store.set(method, func() error { panic("oh no") })
			require.Equal(t, method, errorAs[*storage.StoreError](t, reach(t.Context())).Method)
			store.set(method, func() error { time.Sleep(time.Hour); return down })
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.IsType(t, &storage.StoreError{}, reach(ctx))
			cancel()
			store.set(method, nil)
		}
		store.state = func() storage.LeaseState { return 7 }
		_, err := s.Claimed(t.Context(), "e1")
		require.EqualError(t, err, "history: Leased of *history_test.leasing: it returned 7")
		store.state = nil
		time.Sleep(time.Hour)
		require.True(t, claimed(t, s))
		require.NoError(t, s.Close())
	})
}

func TestReleaseAndCloseReturnEvenIfTheStoreDoesNot(t *testing.T) {
	for _, method := range []string{"Lease", "EndLease"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, end := range []func(*history.Session){
					func(s *history.Session) { s.Release("e1") }, func(s *history.Session) { require.NoError(t, s.Close()) },
				} {
					s, store := leasingSession(t)
					require.True(t, claimed(t, s))
					store.set(method, func() error { time.Sleep(time.Hour); return nil })
					time.Sleep(3*time.Second + time.Millisecond)
					began := time.Now()
					end(s)
					require.LessOrEqual(t, time.Since(began), 4*time.Second)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestWithoutLeasesAClaimIsUnknownIfOthersMayHoldIt(t *testing.T) {
	shared := sessionIn(t, &countingStore{shared: true}, history.Options{})
	requireClaim(t, shared, storage.LeaseUnknown)
	require.True(t, claimed(t, shared))
	requireClaim(t, shared, storage.LeaseHeld)
	require.NoError(t, shared.Close())
	shared.Release("e1")
	for _, s := range []*history.Session{{}, talk(t, user), opened(t, tempFile(t))} {
		requireClaim(t, s, storage.LeaseNone)
	}
}
