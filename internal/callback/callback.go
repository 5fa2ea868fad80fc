// Package callback runs functions of callers, which may panic, end their goroutine, or never return.
package callback

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Grace is the time that a function has to return once its context has ended, before it is abandoned.
const Grace = time.Second

// PanicError is returned for a function that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Panicked returns the error for a panic, with the stack of the goroutine that recovers it.
func Panicked(value any) *PanicError { return &PanicError{Value: value, Stack: debug.Stack()} }

func (e *PanicError) Error() string { return fmt.Sprintf("it panicked: %v", e.Value) }

// Unwrap returns the value of the panic if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrExited is returned for a function that ended its goroutine ([runtime.Goexit]) instead of returning.
var ErrExited = errors.New("it ended its goroutine instead of returning")

// LeftError is returned for a function that was abandoned: it has not returned although its context has ended.
type LeftError struct {
	// Cause of the context's end.
	Cause error
}

func (e *LeftError) Error() string { return fmt.Sprintf("it has not returned: %v", e.Cause) }

// Unwrap returns the cause.
func (e *LeftError) Unwrap() error { return e.Cause }

// Misbehaved reports whether an error of [Call] means that the function panicked, ended its goroutine or was abandoned.
// Any other error was returned by the function.
func Misbehaved(err error) bool {
	switch err.(type) { // not errors.As: a returned error may wrap one about another function
	case *PanicError, *LeftError:
		return true
	}
	return err == ErrExited
}

// Call runs a function in a new goroutine and returns its results. The error is a [*PanicError] if it panics,
// [ErrExited] if it ends its goroutine, and a [*LeftError] if it has not returned a second after its context ended;
// then its results are dropped.
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
	grace := time.NewTimer(Grace)
	defer grace.Stop()
	select {
	case out := <-done:
		return out.value, out.err
	case <-grace.C:
		return *new(T), &LeftError{Cause: context.Cause(ctx)}
	}
}

// Do is [Call] for a function that returns only an error.
func Do(ctx context.Context, f func(context.Context) error) error {
	_, err := Call(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// WriteTime is the time that a store has for writes that continue after the caller has stopped waiting.
const WriteTime = 10 * time.Second

// Outlive returns a context that ends [WriteTime] after the given one, with its cause, for writes that must not be
// interrupted.
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
