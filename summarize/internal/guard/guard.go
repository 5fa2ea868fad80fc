// Package guard calls functions of callers: the elements of a prompt, tokenizers, models, hooks, listeners, and those of a
// policy. A panic, a goroutine that ends, an invalid count or no return at all becomes an error with the function's name.
package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Call runs a caller's function for at most limit; 0 means no limit. The error is a [*chat.CallbackError], a
// [*policy.TimeoutError], the cause of the context's end, or the function's own. A function that returns within a second after
// its context or its time ended may still return its result; after that second it is left behind.
func Call[T any](ctx context.Context, name string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	if ctx.Err() != nil {
		return *new(T), context.Cause(ctx)
	}
	defer callback.ActivityOf(ctx).Enter(name)()
	late := &policy.TimeoutError{Name: name, After: limit}
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
	_, left := err.(*callback.LeftError)
	switch {
	case err == nil:
		return got, nil
	case callback.Misbehaved(err) && !left:
		if n, ok := errors.AsType[countError](err); ok {
			err = n
		}
		return got, Failed(name, err)
	case context.Cause(ctx) == error(late):
		return got, late // whatever error the function returned for it
	case left:
		return got, Failed(name, err)
	case ctx.Err() != nil:
		return got, context.Cause(ctx)
	}
	return got, err
}

// Failed returns the error of a caller's function.
func Failed(name string, err error) *chat.CallbackError {
	return &chat.CallbackError{Package: "summarize", Name: name, Err: err}
}

// Value is [Call] of a function that returns no error.
func Value[T any](ctx context.Context, name string, f func() T) (T, error) {
	return Call(ctx, name, 0, func(context.Context) (T, error) { return f(), nil })
}

// Do is [Call] of a function that returns only an error.
func Do(ctx context.Context, name string, limit time.Duration, f func(context.Context) error) error {
	_, err := Call(ctx, name, limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// EndCause returns the cause of a context's end, or err if it also names a function that has not returned.
func EndCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if named, ok := errors.AsType[*chat.CallbackError](err); ok && errors.Is(named, cause) {
		return named
	}
	return cause
}

// Names of functions that are called in several places.
const (
	NamePrompt      = "the prompt's elements or Target.Tokenizer"
	NameTokenizer   = "Target.Tokenizer"
	NameReplacement = "Replace.With"
	NameStream      = "Request.Stream"
	NameMerge       = "Prompt.Merge"
)

// countError reports an invalid count of a tokenizer.
type countError int

func (e countError) Error() string {
	return fmt.Sprintf("it counted %d tokens: a count is from 0 to %d", int(e), math.MaxInt32)
}

// Counted returns a count of tokens. If the count is invalid it panics with a [countError], which [Call] turns into the
// tokenizer's error.
func Counted(n int) int {
	if n < 0 || n > math.MaxInt32 {
		panic(countError(n))
	}
	return n
}

// WaitError returns the error of a wait that ctx ended. What names the work that was waited for, and running its activity.
func WaitError(ctx context.Context, running *callback.Activity, what string) error {
	if runs := running.Running(); runs != "" {
		what += ", which runs " + runs
	}
	return failure.Within("waiting for "+what, context.Cause(ctx))
}
