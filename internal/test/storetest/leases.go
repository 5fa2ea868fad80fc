// Package storetest has stores for tests.
package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/promptree-go/promptree/history/storage"
)

// Leases is a store in memory that several sessions share, and that keeps leases. The zero value is empty. Close does
// nothing.
type Leases struct {
	storage.Memory
	mu     sync.Mutex
	leases map[string]lease // by their work
}

// lease is a lease of a holder until a time.
type lease struct {
	holder string
	until  time.Time
}

var _ storage.Leaser = (*Leases)(nil)

// Shared returns true.
func (*Leases) Shared() bool { return true }

// Close does nothing, because other sessions may use the store.
func (*Leases) Close() error { return nil }

// Lease takes or renews a lease.
func (l *Leases) Lease(_ context.Context, work, holder string, d time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if had, ok := l.leases[work]; ok && had.holder != holder && had.until.After(now) {
		return false, nil
	}
	if l.leases == nil {
		l.leases = map[string]lease{}
	}
	l.leases[work] = lease{holder, now.Add(d)}
	return true, nil
}

// Leased returns the state of a lease.
func (l *Leases) Leased(_ context.Context, work string) (storage.LeaseState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	had, ok := l.leases[work]
	switch {
	case !ok:
		return storage.LeaseNone, nil
	case had.until.After(time.Now()):
		return storage.LeaseHeld, nil
	}
	return storage.LeaseExpired, nil
}

// EndLease ends a lease.
func (l *Leases) EndLease(_ context.Context, work, holder string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leases[work].holder == holder {
		delete(l.leases, work)
	}
	return nil
}
