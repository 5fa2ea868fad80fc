package summarize

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
)

// ErrNothingToCompact tells that there is no history besides what must be kept. No model was asked.
var ErrNothingToCompact = errors.New("there is no history to summarise besides what must be kept")

// ErrNoRoom tells that what must be kept leaves no room for a summary. No model was asked.
var ErrNoRoom = errors.New("what must be kept leaves no room for a summary")

// ErrBusy tells that a compaction is being made, and a second one was asked for.
var ErrBusy = errors.New("summarize: a compaction is being made already")

// ErrNoPrompt tells that a compaction was asked for before any prompt was rendered: what the agent's prompt is made of is
// not known.
var ErrNoPrompt = errors.New("summarize: no prompt was rendered yet, so it is not known what a compaction must fit into: call Compactor.Render first")

// ErrNotAsked tells that the policy does not compact on this occasion.
var ErrNotAsked = errors.New("summarize: the policy does not compact now")

// ErrClosed tells that the compactor was closed.
var ErrClosed = errors.New("summarize: the compactor is closed")

// ErrAborted is the cause of a context that [Compactor.Abort] ended.
var ErrAborted = errors.New("summarize: the compaction was aborted")

// ErrVetoed tells that a hook called a compaction off.
var ErrVetoed = errors.New("summarize: a hook called it off")

// FixedPartsError tells that what is no history (system prompt, tools, what else is required) takes as much as the policy
// allows in all: no compaction can help. It is told once, and not tried again before the prompt changed.
type FixedPartsError struct {
	// Fixed is what these parts take, At is where the policy compacts, both in tokens.
	Fixed, At int
}

func (e *FixedPartsError) Error() string {
	return fmt.Sprintf("what is no history takes %d tokens, and the policy compacts at %d: shorten the system prompt or the tools, or raise the threshold", e.Fixed, e.At)
}

// FailedError tells that a prompt did not fit and the session could not be compacted. The session is as it was.
type FailedError struct {
	// Budget is the error of the render that did not fit; nil where it did and a compaction was asked for.
	Budget *render.BudgetExceededError
	// Reasons why compaction failed, one for each mode that was tried.
	Reasons []error
}

func (e *FailedError) Error() string {
	reasons := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		reasons[i] = r.Error()
	}
	if e.Budget == nil {
		return "compaction failed: " + strings.Join(reasons, "; then ")
	}
	return fmt.Sprintf("%v; compaction failed: %s", e.Budget, strings.Join(reasons, "; then "))
}

// Unwrap gives the budget error and the reasons.
func (e *FailedError) Unwrap() []error {
	if e.Budget == nil {
		return e.Reasons
	}
	return append([]error{e.Budget}, e.Reasons...)
}

// errUnwritten tells that a session does not take a compaction, whatever the summary: its disk is full, or it is open for
// reading only.
var errUnwritten = errors.New("the compaction could not be written")

// gone tells of a compaction whose place is not there any more, because of an undo or a switch of branch.
func gone(err error) bool {
	_, ok := errors.AsType[*history.BoundaryError](err)
	return ok
}

// passing tells of a failure that may be gone the next time: a rate limit, a time-out, an undo.
func passing(err error) bool {
	_, transient := errors.AsType[*chat.TransientError](err)
	return transient || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || gone(err)
}

// errorType names an error as the OpenTelemetry conventions ask, by its kind.
func errorType(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, ErrNoRoom):
		return "no_room"
	case errors.Is(err, ErrNothingToCompact):
		return "nothing_to_compact"
	}
	if _, ok := errors.AsType[*SummaryError](err); ok {
		return "summary_refused"
	}
	if _, ok := errors.AsType[*FixedPartsError](err); ok {
		return "fixed_parts"
	}
	if gone(err) {
		return "boundary_gone"
	}
	if _, ok := errors.AsType[*chat.ContextLimitError](err); ok {
		return "context_limit"
	}
	if _, ok := errors.AsType[*chat.TransientError](err); ok {
		return "transient"
	}
	return "_OTHER"
}
