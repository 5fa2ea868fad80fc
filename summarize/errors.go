package summarize

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render"
)

// ErrNothingToCompact reports that there is no history to summarise besides the history that must be kept. No model was
// asked.
var ErrNothingToCompact = errors.New("summarize: there is no history to summarise besides the history that must be kept")

// ErrNoRoom reports that the history that must be kept leaves no room for a summary. No model was asked.
var ErrNoRoom = errors.New("summarize: the history that must be kept leaves no room for a summary")

// ErrOtherSession reports that the elements of a prompt show another session than the compactor's, or do not read theirs
// with [history.ViewIn], so that a compaction would not change the prompt.
var ErrOtherSession = errors.New("summarize: the prompt does not show Compactor.Session: give its history elements that session")

// ErrNotShown reports that a prompt does not show the newest message of the session, which the model would not see.
var ErrNotShown = errors.New("summarize: the prompt does not show the session's last message: place history.TurnStart and history.TurnRounds of Compactor.Session in it")

// ErrNoUserMessage reports that pruning left no message of the user.
var ErrNoUserMessage = errors.New("summarize: no message of the user is left in the prompt: raise Target.Budget, or set Required on what the user says")

// ErrBusy reports that another compaction is being made.
var ErrBusy = errors.New("summarize: a compaction is being made already: wait for it, or call Compactor.Abort")

// ErrPlanEnded reports that a plan is not pending any more: it was carried out, it took too long, or the session
// switched to another branch.
var ErrPlanEnded = errors.New("summarize: the plan has ended already")

// ErrNoPrompt reports that a compaction was asked for before any prompt was rendered, so the size that it must reach is
// not known.
var ErrNoPrompt = errors.New("summarize: no prompt was rendered yet: call Compactor.Render first")

// ErrTools reports that both the prompt and [Target.Tools] hold tools.
var ErrTools = errors.New("summarize: the prompt holds tools, and Target.Tools are set: leave one of them out")

// ErrNotAsked reports that the policy does not compact on this occasion.
var ErrNotAsked = errors.New("summarize: the policy does not compact on this occasion: add a Condition to Policy.Trigger")

// ErrClosed reports that the compactor was closed.
var ErrClosed = errors.New("summarize: the compactor is closed")

// ErrAborted is the cause of a context that [Compactor.Abort] ended.
var ErrAborted = errors.New("summarize: the compaction was aborted")

// ErrVetoed reports that a hook called a compaction off.
var ErrVetoed = errors.New("summarize: a hook called the compaction off")

// ErrNobodyToAsk reports that no model can be asked for a summary, because the policy's prompts continue a request that this
// process has not sent, or that does not show what would be covered.
var ErrNobodyToAsk = errors.New("summarize: no model can be asked for a summary: the policy's prompts continue a request that is not at hand: add one that does not fork")

// ErrUnwritten reports that no compaction can be written to the session, because its disk is full or it is open for
// reading only.
var ErrUnwritten = errors.New("summarize: the session cannot be written")

// FailedError reports that a prompt did not fit, or a compaction was asked for, and the session could not be compacted.
// What the session shows is unchanged.
type FailedError struct {
	// Budget is the error of the render that did not fit, nil if a compaction was asked for although the prompt fits.
	Budget *render.BudgetExceededError
	// Reasons why compaction failed, one for each attempt.
	Reasons []error
}

func (e *FailedError) Error() string {
	reasons := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		reasons[i] = unprefixed(r)
	}
	if e.Budget == nil {
		return "summarize: compaction failed: " + strings.Join(reasons, "; then ")
	}
	return fmt.Sprintf("%v; compaction failed: %s", e.Budget, strings.Join(reasons, "; then "))
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

// tooLarge reports whether a prompt does not fit, or pruning left no message of it.
func tooLarge(err error) bool {
	_, over := errors.AsType[*render.BudgetExceededError](err)
	_, empty := errors.AsType[*render.EmptyError](err)
	return over || empty
}

// SummaryError says why an answer cannot be used as a summary.
type SummaryError struct {
	// Reason in words.
	Reason string
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
	name := e.Model
	if name == "" {
		name = "the agent's model"
	}
	return fmt.Sprintf("summarize: %s, %s mode: %s", name, e.Mode, unprefixed(e.Err))
}

// Unwrap returns Err.
func (e *CandidateError) Unwrap() error { return e.Err }

// within returns an error that says where err happened. The package's prefix is in it once.
func within(where string, err error) error {
	return worded.In("summarize", where, err)
}

// unprefixed returns the text of an error without the package's prefix.
func unprefixed(err error) string { return worded.Unprefixed("summarize", err) }

// boundaryGone reports whether the entries that a compaction replaces are not on the path any more, because of an undo
// or a switch of branch.
func boundaryGone(err error) bool {
	_, ok := errors.AsType[*entry.BoundaryError](err)
	return ok
}

// ErrorType returns a short word for the kind of an error, for use as error.type of the OpenTelemetry conventions: for
// example "timeout" or "context_limit". It returns "_OTHER" for an error that this package does not know, and "" for
// nil.
func ErrorType(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrAborted), errors.Is(err, ErrClosed), errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, ErrVetoed):
		return "vetoed"
	case errors.Is(err, ErrNoRoom):
		return "no_room"
	case errors.Is(err, ErrNothingToCompact):
		return "nothing_to_compact"
	case errors.Is(err, ErrUnwritten):
		return "unwritten"
	case errors.Is(err, ErrNobodyToAsk):
		return "nobody_to_ask"
	case boundaryGone(err):
		return "boundary_gone"
	case errors.Is(err, ErrPlanEnded):
		return "plan_ended"
	}
	if _, ok := errors.AsType[*SummaryError](err); ok {
		return "summary_refused"
	}
	if _, ok := ContextLimit(err); ok {
		return "context_limit"
	}
	if _, ok := errors.AsType[*chat.TransientError](err); ok {
		return "transient"
	}
	if _, ok := errors.AsType[*CallbackError](err); ok {
		return "callback"
	}
	return "_OTHER"
}
