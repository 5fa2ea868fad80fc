package log

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Lock is a mutex whose waiters give up when their context ends. The zero value is unlocked.
type Lock struct {
	once sync.Once
	held chan struct{}
}

// errBusy is returned for a lock that was not released in time.
var errBusy = errors.New("history: another call has not returned from the session's store")

// Take acquires the lock. The error wraps the context's cause.
func (l *Lock) Take(ctx context.Context) error {
	l.once.Do(func() { l.held = make(chan struct{}, 1) })
	select {
	case l.held <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errBusy, context.Cause(ctx))
	}
}

// Release releases the lock.
func (l *Lock) Release() { <-l.held }
