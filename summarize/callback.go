package summarize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/internal/callback"
)

// CallbackError reports that a caller's function panicked, ended its goroutine ([runtime.Goexit]), returned what it may not, or
// has not returned although its context has ended.
type CallbackError struct {
	// Name of the function, such as "hook BeforeCompact" or "Target.Tokenizer".
	Name string
	// Err says what it did. An error that it panicked with, and the cause of the context's end, are in its chain.
	Err error
}

func (e *CallbackError) Error() string { return fmt.Sprintf("summarize: %s: %v", e.Name, e.Err) }

// Unwrap returns what it did.
func (e *CallbackError) Unwrap() error { return e.Err }

// Stack returns that of a panic, nil if there was none.
func (e *CallbackError) Stack() []byte {
	if p, ok := errors.AsType[*callback.PanicError](e.Err); ok {
		return p.Stack
	}
	return nil
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

// call runs a caller's function for at most limit (0 is without one). The error is a [*CallbackError], a [*TimeoutError], the
// cause of the context's end, or what the function returned. A function that returns within a second after its context or its
// time ended may still bring its result; one that does not is left behind.
func call[T any](ctx context.Context, name string, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	if ctx.Err() != nil {
		return *new(T), context.Cause(ctx)
	}
	defer stageOf(ctx).enter(name)()
	late := &TimeoutError{Name: name, After: limit}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, late)
		defer cancel()
	}
	got, err := callback.Call(ctx, func(ctx context.Context) (T, error) {
		got, err := f(ctx)
		if err != nil {
			_ = err.Error() // which is a caller's function too
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
		return got, late // whatever the function makes of it
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

// ended returns the cause of a context's end, or err if that says besides which function has not returned.
func ended(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if named, ok := errors.AsType[*CallbackError](err); ok && errors.Is(named, cause) {
		return named
	}
	return cause
}

// Names of functions that are called at more than one place.
const (
	namePrompt      = "the prompt's elements or Target.Tokenizer"
	nameTokenizer   = "Target.Tokenizer"
	nameReplacement = "Place.Replacement"
	nameStream      = "Request.Stream"
	nameMerge       = "Prompt.Merge"
)

// countError reports that a tokenizer counted what is no number of tokens.
type countError int

func (e countError) Error() string {
	return fmt.Sprintf("it counted %d tokens: a count is from 0 to %d", int(e), math.MaxInt32)
}

// counted returns a count of tokens. If it is none it panics with a [countError], which [call] makes the tokenizer's.
func counted(n int) int {
	if n < 0 || n > math.MaxInt32 {
		panic(countError(n))
	}
	return n
}

// stage knows which functions of a caller's a call of the compactor runs now, for those who wait for it.
type stage struct {
	mu   sync.Mutex
	runs []string
}

type stageKey struct{}

// stageOf returns the stage of a context, nil if it has none.
func stageOf(ctx context.Context) *stage {
	s, _ := ctx.Value(stageKey{}).(*stage)
	return s
}

// staged returns a context with a stage of its own.
func staged(ctx context.Context) (context.Context, *stage) {
	s := &stage{}
	return context.WithValue(ctx, stageKey{}, s), s
}

// enter records that a function runs, until leave is called.
func (s *stage) enter(name string) (leave func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, name)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.Index(s.runs, name); i >= 0 {
			s.runs = slices.Delete(s.runs, i, i+1)
		}
	}
}

// waited returns the error of a wait for what another call, or the background, does, that a context ended.
func (s *stage) waited(ctx context.Context, what string) error {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.runs) > 0 {
			what += ", which runs " + strings.Join(s.runs, " and ")
		}
	}
	return fmt.Errorf("summarize: waiting for %s: %w", what, context.Cause(ctx))
}
