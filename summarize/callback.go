package summarize

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// PanicError reports that a caller's function panicked.
type PanicError struct {
	// Name of the function, such as "hook BeforeCompact".
	Name string
	// Value that it panicked with.
	Value any
	// Stack of the panic.
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("summarize: %s panicked: %v", e.Name, e.Value)
}

// ExitError reports that a caller's function ended its goroutine ([runtime.Goexit]) instead of returning.
type ExitError struct{ Name string }

func (e *ExitError) Error() string {
	return fmt.Sprintf("summarize: %s ended its goroutine instead of returning", e.Name)
}

// TimeoutError reports that a model or a caller's function took too long. It is a [context.DeadlineExceeded].
type TimeoutError struct {
	// Name of what did not return.
	Name string
	// After is the time that it had.
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("summarize: %s did not return within %v", e.Name, e.After)
}

// Is reports whether the target is [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// call runs a caller's function in a goroutine of its own, for at most limit (0 is without one). A panic and a goroutine
// that is ended come back as errors. A function that does not return when its context ends is left behind, and the error is
// the context's cause, or a [*TimeoutError].
func call[T any](ctx context.Context, name string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	late := &TimeoutError{Name: name, After: limit}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		out := outcome{err: &ExitError{Name: name}}
		defer func() {
			if p := recover(); p != nil {
				out = outcome{err: &PanicError{Name: name, Value: p, Stack: debug.Stack()}}
			}
			done <- out
		}()
		out.value, out.err = f(ctx)
	}()
	select {
	case out := <-done:
		if out.err != nil && context.Cause(ctx) == error(late) {
			out.err = late // whatever the function makes of it
		}
		return out.value, out.err
	case <-ctx.Done():
		select {
		case out := <-done: // both were ready
			if out.err == nil {
				return out.value, nil
			}
		default:
		}
		return none, context.Cause(ctx)
	}
}
