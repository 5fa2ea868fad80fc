package policy

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/internal/worded"
)

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
