// Package failure holds the errors that several steps of a compaction return, and what is asked of errors.
package failure

import (
	"context"
	"errors"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Errors of a compaction; package summarize says what they mean.
var (
	ErrNothingToCompact = errors.New("summarize: there is no history to summarise besides the history that must be kept")
	ErrNoRoom           = errors.New("summarize: the history that must be kept leaves no room for a summary")
	ErrPlanEnded        = errors.New("summarize: the plan has ended already")
	ErrClosed           = errors.New("summarize: the compactor is closed")
	ErrAborted          = errors.New("summarize: the compaction was aborted")
	ErrVetoed           = errors.New("summarize: a hook called the compaction off")
	ErrNobodyToAsk      = errors.New("summarize: no model can be asked for a summary: the policy's prompts continue a request that is not at hand: add one that does not fork")
	ErrPart             = errors.New("summarize: a part of the summary is put in place before the rest is made")
	ErrUnwritten        = errors.New("summarize: the session cannot be written")
)

// Join returns the texts of reasons without the package's prefix.
func Join(reasons []error) string {
	texts := make([]string, len(reasons))
	for i, r := range reasons {
		texts[i] = Unprefixed(r)
	}
	return strings.Join(texts, "; then ")
}

// TooLarge reports whether a prompt does not fit, or pruning left no message of it.
func TooLarge(err error) bool {
	_, over := errors.AsType[*render.BudgetExceededError](err)
	_, empty := errors.AsType[*render.EmptyPromptError](err)
	return over || empty
}

// Within returns an error that says where err happened. The package's prefix is in it once.
func Within(where string, err error) error {
	return worded.In("summarize", where, err)
}

// Unprefixed returns the text of an error without the package's prefix.
func Unprefixed(err error) string { return worded.Unprefixed("summarize", err) }

// BoundaryGone reports whether the entries that a compaction replaces are not on the path any more, because of an undo
// or a switch of branch.
func BoundaryGone(err error) bool {
	_, ok := errors.AsType[*entry.BoundaryError](err)
	return ok
}

// Type returns a short word for the kind of an error, for use as error.type of the OpenTelemetry conventions: for
// example "timeout", "context_limit", or "refused" if a model refuses a request for anything but its tokens. It returns
// "_OTHER" for an error that this package does not know, and "" for nil.
func Type(err error) string {
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
	case BoundaryGone(err):
		return "boundary_gone"
	case errors.Is(err, ErrPlanEnded):
		return "plan_ended"
	case errors.Is(err, ErrPart):
		return "part"
	}
	if _, ok := errors.AsType[*policy.SummaryError](err); ok {
		return "summary_refused"
	}
	said := err
	if asked, ok := errors.AsType[*policy.CandidateError](err); ok {
		said = asked.Err // words around a model's say nothing of the request
	}
	switch refusal.Of(said).Kind {
	case refusal.Tokens:
		return "context_limit"
	case refusal.Body, refusal.Opaque, refusal.Output, refusal.Content, refusal.Filter:
		return "refused"
	}
	if _, ok := errors.AsType[*chat.TransientError](err); ok {
		return "transient"
	}
	if _, ok := errors.AsType[*chat.CallbackError](err); ok {
		return "callback"
	}
	return "_OTHER"
}
