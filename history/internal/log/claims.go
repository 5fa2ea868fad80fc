package log

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/history/storage"
)

// Claims in a store that is a [storage.Leaser] are leases of leaseTime. They are renewed every renewEvery, and each
// call of the store has renewTime.
const (
	leaseTime  = 9 * time.Second
	renewEvery = 3 * time.Second
	renewTime  = 2 * time.Second
)

// claim is a claim on work.
type claim struct {
	stop  func()
	ended chan struct{} // closed once it has ended, with its lease
}

// claims holds the claims of this process on work on a session. The zero value holds none.
type claims struct {
	mu     sync.Mutex
	held   map[string]*claim
	holder string // of the leases; "" until one is taken
	ended  bool   // no lease is taken any more
}

// Claim claims work on the session, such as an [entry.Plan] by the id of its entry, with a lease if the store keeps leases,
// and reports whether it succeeded. See history.Session.Claim.
func (l *Log) Claim(ctx context.Context, id string, limit time.Duration) (bool, error) {
	c, store := &l.claims, l.rawStore()
	leaser, leases := unwrapped(store).(storage.Leaser)
	c.mu.Lock()
	switch {
	case c.held[id] != nil:
		c.mu.Unlock()
		return false, nil
	case leases && c.ended:
		c.mu.Unlock()
		return false, storage.ErrClosed
	}
	if c.held == nil {
		c.held = map[string]*claim{}
	}
	made := &claim{ended: make(chan struct{})}
	c.held[id] = made
	if !leases {
		made.stop = sync.OnceFunc(func() { c.forget(id, made) })
		c.mu.Unlock()
		return true, nil
	}
	life, stop := context.WithTimeout(context.Background(), limit)
	made.stop = stop
	c.holder = cmp.Or(c.holder, rand.Text())
	work := &lease{store, leaser, id, c.holder}
	c.mu.Unlock()

	taking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })() // Close does not wait for the caller's context
	held, err := work.take(taking)
	if err != nil || !held {
		stop()
		c.forget(id, made)
		return false, err
	}
	go func() {
		work.keep(life)
		stop()
		c.forget(id, made)
	}()
	return true, nil
}

// forget removes a claim that has ended.
func (c *claims) forget(id string, of *claim) {
	c.mu.Lock()
	delete(c.held, id)
	c.mu.Unlock()
	close(of.ended)
}

// Release ends a claim. See history.Session.Release.
func (l *Log) Release(id string) {
	c := &l.claims
	c.mu.Lock()
	of := c.held[id]
	c.mu.Unlock()
	if of != nil {
		of.stop()
		<-of.ended
	}
}

// end ends all claims, and those with a lease for good.
func (c *claims) end() {
	c.mu.Lock()
	c.ended = true
	held := slices.Collect(maps.Values(c.held))
	c.mu.Unlock()
	for _, of := range held {
		of.stop()
	}
	for _, of := range held {
		<-of.ended
	}
}

// Claimed returns the state of a claim, here or in another process. See history.Session.Claimed.
func (l *Log) Claimed(ctx context.Context, id string) (storage.LeaseState, error) {
	c, store := &l.claims, l.rawStore()
	c.mu.Lock()
	held := c.held[id] != nil
	c.mu.Unlock()
	leaser, leases := unwrapped(store).(storage.Leaser)
	switch {
	case held:
		return storage.LeaseHeld, nil
	case !leases && isShared(store):
		return storage.LeaseUnknown, nil
	case !leases:
		return storage.LeaseNone, nil
	}
	state, err := do(ctx, store, "Leased", func(ctx context.Context) (storage.LeaseState, error) { return leaser.Leased(ctx, id) })
	if g, ok := unsalvaged(store).(guardedStore); ok && err == nil && (state < storage.LeaseNone || state > storage.LeaseExpired) {
		err = g.wrong("Leased", fmt.Errorf("it returned %d", state))
	}
	if err != nil {
		return storage.LeaseUnknown, err
	}
	return state, nil
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
	_ = call(ending, l.store, "EndLease", func(ctx context.Context) error { return l.leaser.EndLease(ctx, l.work, l.holder) }) // if it fails, the lease expires
}
