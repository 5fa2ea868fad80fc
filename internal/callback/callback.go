// Package callback runs functions of others, which may panic, end their goroutine, or never return.
package callback

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Grace is how long a function has to return once its context has ended, before it is left behind.
const Grace = time.Second

// PanicError is the error of a function that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Panicked returns the error of a panic, with the stack of whoever recovers it.
func Panicked(value any) *PanicError { return &PanicError{Value: value, Stack: debug.Stack()} }

func (e *PanicError) Error() string { return fmt.Sprintf("it panicked: %v", e.Value) }

// Unwrap returns what it panicked with, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrExited is the error of a function that ended its goroutine ([runtime.Goexit]) instead of returning.
var ErrExited = errors.New("it ended its goroutine instead of returning")

// LeftError is the error of a function that was left behind: it has not returned although its context has ended.
type LeftError struct {
	// Cause of the context's end.
	Cause error
}

func (e *LeftError) Error() string { return fmt.Sprintf("it has not returned: %v", e.Cause) }

// Unwrap returns the cause.
func (e *LeftError) Unwrap() error { return e.Cause }

// Misbehaved reports whether an error of [Call] says that the function panicked, ended its goroutine or was left behind. Any
// other is what the function returned.
func Misbehaved(err error) bool {
	switch err.(type) { // not errors.As: what it returned may tell of another function
	case *PanicError, *LeftError:
		return true
	}
	return err == ErrExited
}

// Call runs a function in a goroutine of its own and returns what it returns. The error is a [*PanicError] if it panics,
// [ErrExited] if it ends its goroutine, and a [*LeftError] if it has not returned a second after its context ended: then
// nobody waits for it any more, and what it returns is lost.
func Call[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		out := outcome{err: ErrExited}
		defer func() {
			if p := recover(); p != nil {
				out = outcome{err: Panicked(p)}
			}
			done <- out
		}()
		out.value, out.err = f(ctx)
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
	}
	patience := time.NewTimer(Grace)
	defer patience.Stop()
	select {
	case out := <-done:
		return out.value, out.err
	case <-patience.C:
		return *new(T), &LeftError{Cause: context.Cause(ctx)}
	}
}

// Do is [Call] of a function that returns nothing but an error.
func Do(ctx context.Context, f func(context.Context) error) error {
	_, err := Call(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// WriteTime is how long a store may take for what is written in any case, once nobody waits for it any more.
const WriteTime = 10 * time.Second

// Outlive returns a context that ends [WriteTime] after the given one, with its cause. It is for what is written in any case.
func Outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(WriteTime, func() { end(context.Cause(ctx)) })
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		end(nil)
	}
}
