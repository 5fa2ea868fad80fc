package history

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/promptree-go/promptree/history/storage"
)

// ReadOnly reports whether the session was opened for reading only.
func (s *Session) ReadOnly() bool {
	store, ok := s.stored().(storage.ReadOnlyer)
	return ok && ability(s.stored(), store.ReadOnly)
}

// Shared reports whether other processes may append to the session's store at the same time, as reported by a
// [storage.Sharer]. A file has one writer, and a store in memory belongs to this process.
func (s *Session) Shared() bool {
	store, ok := s.stored().(storage.Sharer)
	return ok && ability(s.stored(), store.Shared)
}

// Claims in a store that is a [storage.Leaser] are leases of leaseTime. They are renewed every renewEvery, and each
// call of the store has renewTime.
const (
	leaseTime  = 9 * time.Second
	renewEvery = 3 * time.Second
	renewTime  = 2 * time.Second
)

// claim is a claim on work.
type claim struct {
	stop  context.CancelFunc // nil if the store keeps no leases
	ended chan struct{}      // closed once the lease has ended
}

// ClaimState is the state of a claim on work on a session.
type ClaimState int

const (
	// ClaimNone: nobody holds a claim.
	ClaimNone ClaimState = iota
	// ClaimHeld: somebody holds a claim, here or in another process.
	ClaimHeld
	// ClaimExpired: another process held a claim, and died or lost its connection before it released it.
	ClaimExpired
	// ClaimUnknown: nobody holds a claim here. Other processes may, but the store keeps no leases, or failed.
	ClaimUnknown
)

// Claim claims work on the session, such as an [entry.Plan] by the id of its entry, and reports whether it succeeded:
// it returns false if the work is claimed already. [Session.Release] ends a claim.
//
// Claims are held in memory and coordinate goroutines of this process. If the store is a [storage.Leaser], they also
// coordinate processes: Claim takes a lease of 9 seconds, and a goroutine renews it every 3 seconds until the claim is
// released, the limit has passed or the session is closed. When a process dies, its claims are [ClaimExpired] at most 9
// seconds later. If the renewals fail for that long and another process takes the lease, the claim is lost: others are
// at work, and what they write must be looked for before a result is written.
//
// The error is that of the store. The work is not claimed then.
func (s *Session) Claim(ctx context.Context, id string, limit time.Duration) (bool, error) {
	c := &claim{}
	s.mu.Lock()
	store := s.store
	leaser, leases := unwrapped(store).(storage.Leaser)
	switch {
	case s.claims[id] != nil:
		s.mu.Unlock()
		return false, nil
	case leases && s.closed:
		s.mu.Unlock()
		return false, storage.ErrClosed
	}
	if s.claims == nil {
		s.claims = map[string]*claim{}
	}
	s.claims[id] = c
	if !leases {
		s.mu.Unlock()
		return true, nil
	}
	var life context.Context
	life, c.stop = context.WithTimeout(context.Background(), limit)
	c.ended = make(chan struct{})
	if s.holder == "" {
		s.holder = rand.Text()
	}
	l := &lease{store, leaser, id, s.holder}
	s.mu.Unlock()

	taking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })() // Close does not wait for the caller's context
	held, err := l.take(taking)
	if err != nil || !held {
		s.forget(id, c)
		return false, err
	}
	go func() {
		l.keep(life)
		s.forget(id, c)
	}()
	return true, nil
}

// forget removes a claim whose lease has ended.
func (s *Session) forget(id string, c *claim) {
	s.mu.Lock()
	delete(s.claims, id)
	s.mu.Unlock()
	c.stop()
	close(c.ended)
}

// Release ends a claim. It does nothing if there is none. A lease ends in the store too; if the store fails or takes
// longer than 2 seconds, the lease expires.
func (s *Session) Release(id string) {
	s.mu.Lock()
	c := s.claims[id]
	if c == nil || c.stop == nil {
		delete(s.claims, id)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	c.stop()
	<-c.ended
}

// endLeases ends all claims with a lease, and waits for their goroutines.
func (s *Session) endLeases() {
	s.mu.RLock()
	var leases []*claim
	for _, c := range s.claims {
		if c.stop != nil {
			leases = append(leases, c)
		}
	}
	s.mu.RUnlock()
	for _, c := range leases {
		c.stop()
	}
	for _, c := range leases {
		<-c.ended
	}
}

// Claimed returns the state of a claim. If the store fails, that is [ClaimUnknown], with the store's error.
func (s *Session) Claimed(ctx context.Context, id string) (ClaimState, error) {
	s.mu.RLock()
	store, c := s.store, s.claims[id]
	s.mu.RUnlock()
	if c != nil {
		return ClaimHeld, nil
	}
	leaser, ok := unwrapped(store).(storage.Leaser)
	if !ok && s.Shared() {
		return ClaimUnknown, nil
	} else if !ok {
		return ClaimNone, nil
	}
	state, err := leased(ctx, store, leaser, id)
	switch {
	case err != nil:
		return ClaimUnknown, err
	case state == storage.LeaseHeld:
		return ClaimHeld, nil
	case state == storage.LeaseExpired:
		return ClaimExpired, nil
	}
	return ClaimNone, nil
}

// lease is a lease on work.
type lease struct {
	store        storage.Store
	leaser       storage.Leaser
	work, holder string
}

// take takes or renews the lease, and reports whether the session holds it.
func (l *lease) take(ctx context.Context) (bool, error) {
	return do(ctx, l.store, "Lease", func(ctx context.Context) (bool, error) { return l.leaser.Lease(ctx, l.work, l.holder, leaseTime) })
}

// keep renews the lease until the context ends, and then ends it. It returns early if another holder has the lease.
func (l *lease) keep(ctx context.Context) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			renewing, cancel := context.WithTimeout(ctx, renewTime)
			held, err := l.take(renewing)
			cancel()
			if err == nil && !held {
				return
			}
		}
	}
	ending, cancel := context.WithTimeout(context.Background(), renewTime)
	defer cancel()
	_, _ = do(ending, l.store, "EndLease", func(ctx context.Context) (struct{}, error) { // if it fails, the lease expires
		return struct{}{}, l.leaser.EndLease(ctx, l.work, l.holder)
	})
}
