package summarize

import (
	"errors"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/internal/failure"
)

// ErrNoUserMessage reports that pruning left no message of the user.
var ErrNoUserMessage = errors.New("summarize: no message of the user is left in the prompt: raise Target.Budget, or set Required on what the user says")

// ErrBusy reports that another compaction is being made.
var ErrBusy = errors.New("summarize: a compaction is being made already: wait for it, or call Compactor.Abort")

// ErrNotAsked reports that the policy does not compact on this occasion.
var ErrNotAsked = errors.New("summarize: the policy does not compact on this occasion: add a Condition to Policy.Trigger")

// Errors of the steps of a compaction.
var (
	// ErrNothingToCompact reports that there is no history to summarise besides the history that must be kept. No model was
	// asked.
	ErrNothingToCompact = failure.ErrNothingToCompact
	// ErrNoRoom reports that the history that must be kept leaves no room for a summary. No model was asked.
	ErrNoRoom = failure.ErrNoRoom
	// ErrPlanEnded reports that a plan is not pending any more: it has run, it took too long, or the session switched
	// to another branch.
	ErrPlanEnded = failure.ErrPlanEnded
	// ErrCompactorClosed reports that the compactor was closed.
	ErrCompactorClosed = failure.ErrClosed
	// ErrAborted is the cause of a context that [Compactor.Abort] ended.
	ErrAborted = failure.ErrAborted
	// ErrVetoed reports that a hook called a compaction off.
	ErrVetoed = failure.ErrVetoed
)

// ErrorType returns a short word for the kind of an error, for use as error.type of the OpenTelemetry conventions: for
// example "timeout", "context_limit", or "refused" if a model refuses a request for anything but its tokens. It returns
// "_OTHER" for an error that this package does not know, and "" for nil.
func ErrorType(err error) string { return failure.Type(err) }

// FailedError reports that a prompt did not fit, or a compaction was asked for, and the session could not be compacted.
// What the session shows is unchanged.
type FailedError struct {
	// Budget is the error of the render that did not fit, nil if a compaction was asked for although the prompt fits.
	Budget *render.BudgetExceededError
	// Reasons why compaction failed, one for each attempt.
	Reasons []error
}

func (e *FailedError) Error() string {
	if e.Budget == nil {
		return "summarize: compaction failed: " + failure.Join(e.Reasons)
	}
	return fmt.Sprintf("%v; compaction failed: %s", e.Budget, failure.Join(e.Reasons))
}

// Unwrap returns the budget error and the reasons.
func (e *FailedError) Unwrap() []error {
	if e.Budget == nil {
		return e.Reasons
	}
	return append([]error{e.Budget}, e.Reasons...)
}

// PendingError reports that a prompt does not fit, and that the summary that would make it fit is still being made. The
// compactor goes on with it: call [Compactor.Wait] and render again. agent.Agent does.
type PendingError struct {
	// Budget is the error of the render that did not fit, nil if the prompt fits.
	Budget *render.BudgetExceededError
	// Plan is the id of the plan's entry.
	Plan string
	// After is how long the render was to wait for summaries.
	After time.Duration
	// Running names the caller's functions that the summary waits for, such as a model or a hook; "" for none.
	Running string
}

func (e *PendingError) Error() string {
	running, why := "", ""
	if e.Running != "" {
		running = ", and waits for " + e.Running
	}
	if e.Budget != nil {
		why = ": " + e.Budget.Error()
	}
	return fmt.Sprintf("summarize: the summary was not ready within %v and is still being made%s: call Compactor.Wait and render again%s", e.After, running, why)
}

// Unwrap returns the budget error.
func (e *PendingError) Unwrap() error {
	if e.Budget == nil {
		return nil
	}
	return e.Budget
}
