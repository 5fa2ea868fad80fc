package summarize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/promptree-go/promptree/internal/callback"
)

// CallbackError reports that a caller's function panicked, ended its goroutine ([runtime.Goexit]), returned an invalid
// value, or has not returned although its context has ended.
type CallbackError struct {
	// Name of the function, for example "hook BeforeCompact" or "Target.Tokenizer".
	Name string
	// Err says what it did. Its chain holds the error that it panicked with, or the cause of the context's end.
	Err error
}

func (e *CallbackError) Error() string { return fmt.Sprintf("summarize: %s: %v", e.Name, e.Err) }

// Unwrap returns Err.
func (e *CallbackError) Unwrap() error { return e.Err }

// Stack returns the stack of a panic, nil if there was none.
func (e *CallbackError) Stack() []byte {
	if p, ok := errors.AsType[*callback.PanicError](e.Err); ok {
		return p.Stack
	}
	return nil
}

// TimeoutError reports that a model or a caller's function took too long. It matches [context.DeadlineExceeded].
type TimeoutError struct {
	// Name of the function or work that did not return in time.
	Name string
	// After is its time limit.
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("summarize: %s did not return within %v", e.Name, e.After)
}

// Is reports whether the target is [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// call runs a caller's function for at most limit; 0 means no limit. The error is a [*CallbackError], a
// [*TimeoutError], the cause of the context's end, or the function's own. A function that returns within a second after
// its context or its time ended may still return its result; after that second it is left behind.
func call[T any](ctx context.Context, name string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	if ctx.Err() != nil {
		return *new(T), context.Cause(ctx)
	}
	defer callback.ActivityOf(ctx).Enter(name)()
	late := &TimeoutError{Name: name, After: limit}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
	}
	got, err := callback.Call(ctx, func(ctx context.Context) (T, error) {
		got, err := f(ctx)
		if err != nil {
			_ = err.Error() // a caller's function too
		}
		return got, err
	})
	if p, ok := err.(*callback.PanicError); ok {
		if n, ok := p.Value.(countError); ok {
			err = &CallbackError{name, n}
			return got, err
		}
	}
	_, left := err.(*callback.LeftError)
	switch {
	case err == nil:
		return got, nil
	case callback.Misbehaved(err) && !left:
		return got, &CallbackError{name, err}
	case context.Cause(ctx) == error(late):
		return got, late // whatever error the function returned for it
	case left:
		return got, &CallbackError{name, err}
	case ctx.Err() != nil:
		return got, context.Cause(ctx)
	}
	return got, err
}

// value is [call] of a function that returns no error.
func value[T any](ctx context.Context, name string, f func() T) (T, error) {
	return call(ctx, name, 0, func(context.Context) (T, error) { return f(), nil })
}

// endCause returns the cause of a context's end, or err if it also names a function that has not returned.
func endCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if named, ok := errors.AsType[*CallbackError](err); ok && errors.Is(named, cause) {
		return named
	}
	return cause
}

// Names of functions that are called in several places.
const (
	namePrompt      = "the prompt's elements or Target.Tokenizer"
	nameTokenizer   = "Target.Tokenizer"
	nameReplacement = "Place.Replacement"
	nameStream      = "Request.Stream"
	nameMerge       = "Prompt.Merge"
)

// countError reports an invalid count of a tokenizer.
type countError int

func (e countError) Error() string {
	return fmt.Sprintf("it counted %d tokens: a count is from 0 to %d", int(e), math.MaxInt32)
}

// counted returns a count of tokens. If the count is invalid it panics with a [countError], which [call] turns into the
// tokenizer's error.
func counted(n int) int {
	if n < 0 || n > math.MaxInt32 {
		panic(countError(n))
	}
	return n
}

// waitError returns the error of a wait that ctx ended. What names the work that was waited for, and running its activity.
func waitError(ctx context.Context, running *callback.Activity, what string) error {
	if runs := running.Running(); runs != "" {
		what += ", which runs " + runs
	}
	return within("waiting for "+what, context.Cause(ctx))
}
