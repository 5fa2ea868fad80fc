package log

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
)

// guardedStore wraps a store that is not promptree's own and may misbehave.
type guardedStore struct{ storage.Store }

// guarded wraps a store so that its methods always return. Those of our own stores do, so they are not wrapped.
func guarded(s storage.Store) storage.Store {
	switch s.(type) {
	case *storage.File, *storage.Memory:
		return s
	}
	return guardedStore{s}
}

// failed returns the error for a method. The method's own errors are not wrapped.
func (g guardedStore) failed(method string, err error) error {
	if callback.Misbehaved(err) {
		return g.wrong(method, err)
	}
	return err
}

func (g guardedStore) wrong(method string, err error) error {
	return &storage.StoreError{Store: fmt.Sprintf("%T", g.Store), Method: method, Err: err}
}

// unsalvaged returns the underlying store, with the lines that cannot be read.
func unsalvaged(s storage.Store) storage.Store {
	if salvaged, ok := s.(interface{ unsalvaged() storage.Store }); ok {
		return salvaged.unsalvaged()
	}
	return s
}

// unwrapped returns the caller's own store, with its abilities.
func unwrapped(s storage.Store) storage.Store {
	if g, ok := unsalvaged(s).(guardedStore); ok {
		return g.Store
	}
	return unsalvaged(s)
}

// do calls a method.
func do[T any](ctx context.Context, s storage.Store, method string, f func(context.Context) (T, error)) (T, error) {
	g, ok := unsalvaged(s).(guardedStore)
	if !ok {
		return f(ctx)
	}
	value, err := callback.Call(ctx, f)
	return value, g.failed(method, err)
}

// call is [do] for a method that returns nothing but an error.
func call(ctx context.Context, s storage.Store, method string, f func(context.Context) error) error {
	_, err := do(ctx, s, method, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

func (g guardedStore) End(ctx context.Context) (storage.Position, error) {
	end, err := do(ctx, g, "End", g.Store.End)
	if err == nil && end < 0 {
		err = g.wrong("End", fmt.Errorf("it returned %d", end))
	}
	return end, err
}

func (g guardedStore) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	ends, err := do(ctx, g, "Append", func(ctx context.Context) ([]storage.Position, error) { return g.Store.Append(ctx, at, lines...) })
	if err != nil {
		return nil, err
	}
	last := at
	for _, end := range ends {
		if end <= last {
			return nil, g.wrong("Append", fmt.Errorf("at %d it returned the positions %d, which do not grow", at, ends))
		}
		last = end
	}
	if len(ends) != len(lines) {
		return nil, g.wrong("Append", fmt.Errorf("it returned %d positions for %d lines", len(ends), len(lines)))
	}
	return ends, nil
}

// ability calls a method without a context that reports an ability. If the method fails, or takes 5 seconds, the store
// counts as one without that ability.
func ability[T any](s storage.Store, f func() T) T {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	value, _ := do(ctx, guarded(s), "", func(context.Context) (T, error) { return f(), nil })
	return value
}

// isShared reports whether other processes may append to a store at the same time.
func isShared(s storage.Store) bool {
	sharer, ok := unwrapped(s).(storage.Sharer)
	return ok && ability(s, sharer.Shared)
}

// closeTime is the maximum time for closing a store.
const closeTime = 5 * time.Second

func (g guardedStore) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return call(ctx, g, "Close", func(context.Context) error { return g.Store.Close() })
}

func (g guardedStore) Read(ctx context.Context, from storage.Position) iter.Seq2[storage.Stored, error] {
	at := from
	return g.lines(ctx, "Read", func(ctx context.Context) iter.Seq2[storage.Stored, error] { return g.Store.Read(ctx, from) }, func(s storage.Stored) error {
		if s.At < at || s.End <= s.At {
			return fmt.Errorf("after %d it returned a line from %d to %d", at, s.At, s.End)
		}
		at = s.End
		return nil
	})
}

func (g guardedStore) Back(ctx context.Context, before storage.Position, id string) iter.Seq2[storage.Stored, error] {
	next, wanted, root := before, id, false
	return g.lines(ctx, "Back", func(ctx context.Context) iter.Seq2[storage.Stored, error] { return g.Store.Back(ctx, before, id) }, func(s storage.Stored) error {
		switch {
		case root:
			return fmt.Errorf("after the root it returned the entry %q", s.ID)
		case s.At >= next || s.End <= s.At:
			return fmt.Errorf("before %d it returned a line from %d to %d", next, s.At, s.End)
		case wanted != "" && s.ID != wanted:
			return fmt.Errorf("in place of the entry %q it returned %q", wanted, s.ID)
		}
		next, wanted, root = s.At, s.Parent, s.Parent == ""
		return nil
	})
}

// pick returns the lines at positions, which are sorted.
func (g guardedStore) pick(ctx context.Context, p storage.Picker, at []storage.Position) iter.Seq2[storage.Stored, error] {
	return g.lines(ctx, "Pick", func(ctx context.Context) iter.Seq2[storage.Stored, error] { return p.Pick(ctx, at...) }, func(s storage.Stored) error {
		i, ok := slices.BinarySearch(at, s.At)
		if !ok || s.End <= s.At {
			return fmt.Errorf("it returned a line from %d to %d, at none of the positions that are left", s.At, s.End)
		}
		at = at[i+1:]
		return nil
	})
}

// lines returns the lines that a method yields, each checked; they can be read once. The method is paused while a line is used, because its data
// is valid only until the next line is requested. A method that does not return is abandoned.
func (g guardedStore) lines(ctx context.Context, method string, read func(context.Context) iter.Seq2[storage.Stored, error], check func(storage.Stored) error) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		reading, cancel := context.WithCancel(ctx)
		var panicked error
		next, stop := iter.Pull2(func(yield func(storage.Stored, error) bool) {
			defer func() {
				if p := recover(); p != nil {
					panicked = callback.Panicked(p) // here, for its stack
				}
			}()
			read(reading)(yield)
		})
		var running sync.Mutex // held while the method runs
		abandoned := false
		end := func(context.Context) error {
			running.Lock()
			defer running.Unlock()
			stop()
			return nil
		}
		defer func() {
			if cancel(); abandoned {
				go end(reading)
			} else {
				_ = callback.Do(reading, end)
			}
		}()
		type stored struct {
			line storage.Stored
			err  error
			more bool
		}
		for {
			s, err := callback.Call(ctx, func(context.Context) (s stored, err error) {
				running.Lock()
				defer running.Unlock()
				s.line, s.err, s.more = next()
				return s, panicked
			})
			_, abandoned = err.(*callback.LeftError)
			if err == nil && s.more && s.err == nil {
				if err = check(s.line); err != nil {
					err = g.wrong(method, err)
				}
			}
			if err != nil {
				yield(storage.Stored{}, g.failed(method, err))
				return
			}
			if !s.more || !yield(s.line, s.err) {
				return
			}
		}
	}
}

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
