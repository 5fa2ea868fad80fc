package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// TooLarge holds the sizes that an error names for a request that is larger than the model's context window.
type TooLarge struct {
	// Limit is the context window and Tokens the size of the request's input, both in tokens by the provider's count.
	// If the provider names only the sum of input and answer, Tokens is that sum. Each is 0 if the provider did not
	// name it.
	Limit, Tokens int
}

// ContextLimit reports whether err says that a request is larger than the model's context window, and returns the sizes
// that it names.
//
// A [*chat.ContextLimitError] anywhere in the chain counts; without one, a [*chat.TransientError] does not. If the
// error has an HTTP status, 413 counts unless its text speaks of the body alone, as a proxy's does, in either case; 401,
// 402, 403, 404, 408, 409 and 429 do not; 500 and above count only with the texts of servers that are known to answer
// so. Any other error counts if its text is one with which a known provider, gateway or local server refuses requests
// that are too large. Limits in bytes or of images, rate limits, quotas and output limits do not count, unless the text
// names a limit in tokens too.
func ContextLimit(err error) (TooLarge, bool) {
	said := refusal.Of(err)
	return TooLarge{said.Limit, said.Tokens}, said.Kind == refusal.Tokens
}

// RecoveryError reports that a request that the provider refused could not be made acceptable.
type RecoveryError struct {
	// Refused is the provider's error.
	Refused error
	// Attempts is how many attempts were made, and Tried what they changed.
	Attempts int
	Tried    []string
	// Entry is the id of the message that a filter refuses, "" in other cases. Later requests to the model have a line in
	// its place.
	Entry string
	// Err says why there is no other attempt.
	Err error
}

func (e *RecoveryError) Error() string {
	tried := ""
	if len(e.Tried) > 0 {
		tried = " (" + strings.Join(e.Tried, "; ") + ")"
	}
	return fmt.Sprintf("summarize: context overflow recovery failed after %d attempts%s: %v (the provider said: %v)", e.Attempts, tried, failure.Unprefixed(e.Err), e.Refused)
}

// Unwrap returns both errors.
func (e *RecoveryError) Unwrap() []error { return []error{e.Err, e.Refused} }

var (
	errStillTooLarge = errors.New("it is still too large")
	errStillRefused  = errors.New("it is still refused")
	errFiltered      = errors.New("the provider's filter refuses what was said last. Later requests have a line in its place: say it in other words, or go back to before it")
	errFilteredOlder = errors.New("the provider's filter refuses something that was said earlier: go back to before it, compact the session, or ask another model")
)

// Recoverable reports whether [Compactor.Recover] may answer an error of a model with another prompt: the error says that
// the request is too large ([ContextLimit]), that its body is, that more output was asked for than the model gives, that
// something is refused that the request holds, or nothing at all (HTTP status 400 without words, a closed connection).
func Recoverable(err error) bool { return refusal.Of(err).Kind != refusal.None }

// How often a refused request is changed without a compaction: if it has too many tokens, and otherwise.
const mostResorts, mostTries = 6, 3

// Recover answers a request that the agent's model refused as too large with a smaller prompt to send instead, under any
// policy. It records the refusal in the session; [entry.Remembered] says what is learnt from it, and for how long.
//
//   - If the refusal names no limit that can be believed, and is the first for a while, it may be a mistake: the same
//     prompt is returned, made to fit half of the budget if it is larger.
//   - Otherwise, if the policy has a condition for [policy.OnContextLimit], the session is compacted once, within the
//     nominal budget unless the limit was confirmed before. A summary that is ready or being made is used first.
//   - Otherwise, or if that does not help, history is left out of the prompt, as the policy's last resort does or else the
//     oldest first: down to the limit that was named, or half of the size with each refusal. A result of the newest round
//     that does not fit is cut. Nothing is compacted.
//
// A refusal for something else is answered by what can be changed:
//
//   - More output asked for than the model gives, or than a prompt of less than half of the window leaves room for:
//     [Compactor.MaxOutput] says how much from now on.
//   - Too many bytes: a prompt of half of the bytes, without its oldest pictures first. The limit is remembered as one in
//     tokens is. A closed connection counts if no request as large was accepted ([Compactor.Oversized]).
//   - A picture, a document, thinking that cannot be read, or no words: a prompt without all that may be the cause, and
//     which no model answered yet; then without all of it, at half of the size. Of what was left out one thing comes
//     back with each accepted request, and what is refused then is the cause: lines stay in its place in requests to
//     this model, and an event says so ([event.Withheld]).
//   - A filter: the newest message gets a line in its place from the next step on, and the error names it.
//   - Words that may mean the size, or none, and nothing that may be the cause: up to three prompts, each of half of
//     the size, if the request is larger than any that the model accepted. It is remembered once one is accepted.
//
// [Recoverable] lists these errors. Any other error is returned as it is.
//
// If the application appended an assistant's message for the failure, failed is its entry's id, and the message leaves
// the view; otherwise failed is "". If nothing helps, the error is a [*RecoveryError].
func (c *Compactor) Recover(ctx context.Context, prompt elements.Node, refused error, failed string) (result *render.Result, err error) {
	large := refusal.Of(refused)
	w, ctx, err := c.begin(ctx, prompt)
	if err != nil {
		return nil, err
	}
	defer func() { err = c.Session.Redacted(ctx, err) }()
	if large.Kind == refusal.None {
		return nil, refused
	}
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	defer w.release()
	if failed != "" {
		if err := c.journal().Withdraw(ctx, failed); err != nil {
			return nil, err
		}
	}
	before, err := w.measure(ctx, policy.OnContextLimit)
	if err != nil {
		return nil, err
	}
	counted, bytes := before.PromptTokens()+before.Size.Tools, before.Bytes
	if sent := c.lastSent(); sent.tokens > 0 && sent.newest == before.View.Newest() { // else another compactor rendered it
		counted, bytes = sent.tokens, sent.bytes
	}
	if large.Tokens > 0 && large.Tokens < large.Limit/2 { // the prompt has room, and the answer has not
		l, err := c.read(ctx)
		if err != nil {
			return nil, err
		}
		half := large.Limit / 2 // which leaves room until the prompt has grown to the other half
		if learnt := plan.Learnt(l.Remembered, w.target).Output; learnt.Attempts == 0 || learnt.Tokens > half {
			large = refusal.Refusal{Kind: refusal.Output, Limit: half}
		}
	}
	if large.Kind != refusal.Tokens {
		return w.changed(ctx, before, counted, bytes, large, refused)
	}
	r := entry.Refusal{Model: w.target.Name, Server: plan.Server(w.target), Limit: large.Limit, Tokens: large.Tokens, Counted: counted}
	if _, err := c.journal().Write(ctx, r); err != nil {
		return nil, &RecoveryError{Refused: refused, Err: err}
	}
	l, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	w.willRetry = true
	limit := plan.Learnt(l.Remembered, w.target).Agent
	compacts := !w.policy.Off && len(w.policy.Trigger.For(policy.OnContextLimit)) > 0
	if limit.Attempts > mostResorts+1 {
		return nil, &RecoveryError{Refused: refused, Attempts: limit.Attempts - 1, Err: errStillTooLarge}
	}
	if compacts && limit.Attempts == 2 {
		result, err = w.walk(ctx, policy.OnContextLimit)
	} else {
		result, err = w.resized(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return nil, guard.EndCause(ctx, err)
	}
	if err == nil && limit.Attempts > 1 && result.Tokens+before.Size.Tools >= counted { // it would be refused again
		err = cmp.Or(w.failure, errStillTooLarge)
	}
	if err != nil {
		return nil, &RecoveryError{Refused: refused, Attempts: limit.Attempts - 1, Err: err}
	}
	return result, nil
}

// resized returns the prompt within the budget as it is now, without a compaction.
func (w *walker) resized(ctx context.Context) (*render.Result, error) {
	s, err := w.measure(ctx, policy.OnContextLimit)
	if err != nil {
		return nil, err
	}
	return w.finish(ctx, s, s.Failure())
}

// resort returns the result of the last resort. Why is the error to return if it does not help.
func (w *walker) resort(ctx context.Context, s *plan.Rendered, why error) (*render.Result, error) {
	result := s.Resort.Result
	if err := s.Resort.Err; result == nil {
		if ctx.Err() != nil {
			return nil, guard.EndCause(ctx, err)
		}
		if wrong, ok := errors.AsType[*chat.CallbackError](err); ok {
			return nil, errors.Join(why, wrong)
		}
		return nil, why
	}
	w.c.emit(ctx, event.Event{
		Kind: s.Resort.Event, Reason: s.Occasion,
		Size: event.Size{MessagesBefore: len(s.Over.Messages), MessagesAfter: len(result.Messages), TokensBefore: s.Over.Needed, TokensAfter: result.Tokens, Base: s.Base, Bytes: s.Bytes, MaxBytes: s.MaxBytes, Breakdown: plan.Breakdown(ctx, w.target, result)},
		Err:  why,
	})
	return result, nil
}
