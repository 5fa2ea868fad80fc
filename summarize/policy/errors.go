package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/worded"
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

// SummaryError says why an answer cannot be used as a summary.
type SummaryError struct {
	// Reason in words.
	Reason string
	// Doubtful reports that the answer is used if no other prompt or model gives a better one.
	Doubtful bool
}

func (e *SummaryError) Error() string { return "summarize: the answer cannot be used: " + e.Reason }

// CandidateError reports that a model that was asked for a summary failed.
type CandidateError struct {
	// Model is the model's name, "" for the agent's own model without a name.
	Model string
	// Mode in which it was asked.
	Mode Mode
	// Err is the failure.
	Err error
}

func (e *CandidateError) Error() string {
	return fmt.Sprintf("summarize: %s, %s mode: %s", cmp.Or(e.Model, "the agent's model"), e.Mode, worded.Unprefixed("summarize", e.Err))
}

// Unwrap returns Err.
func (e *CandidateError) Unwrap() error { return e.Err }
