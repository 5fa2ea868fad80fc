package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/refusal"
	"github.com/promptree-go/promptree/render"
)

// Overflow says what to do about requests that the provider refused as too large, and about prompts that no compaction
// makes fit.
type Overflow struct {
	// Attempts is how often a refused request is made again. Defaults to 3.
	Attempts int
	// Buffer is the part of the budget that stays free at the first attempt, because the provider counts more tokens
	// than we do. It grows to 3 and 7 times as much at the next attempts, up to MaxBuffer. Both are from 0 to below 1,
	// and default to 0.05 and 0.7. The limit and the size that the provider named lower the budget too.
	Buffer, MaxBuffer float64
	// LastResort says what to do about a prompt that no compaction makes fit, whatever the triggers are. Defaults to
	// [ResortError].
	LastResort LastResort
}

// LastResort says what to do about a prompt that nothing makes fit.
type LastResort string

// The last resorts.
const (
	// ResortError returns the error.
	ResortError LastResort = ""
	// ResortTruncate leaves the oldest messages out of the request ([history.Truncator]), the summary of an earlier
	// compaction last. The session keeps everything.
	ResortTruncate LastResort = "truncate"
	// ResortDrop renders once more. This time history may be dropped, the oldest rounds first, and pieces without a
	// priority may be pruned as their own properties say. The session keeps everything.
	ResortDrop LastResort = "drop"
)

func (o Overflow) withDefaults() Overflow {
	if o.Attempts == 0 {
		o.Attempts = 3
	}
	if o.Buffer == 0 {
		o.Buffer = 0.05
	}
	if o.MaxBuffer == 0 {
		o.MaxBuffer = 0.7
	}
	return o
}

func (o Overflow) buffer(attempt int) float64 {
	o = o.withDefaults()
	return min(o.Buffer*(math.Pow(2, float64(min(attempt, 30)))-1), max(o.Buffer, o.MaxBuffer))
}

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
// error has a method StatusCode, HTTP status 413 counts; 401, 402, 403, 404, 408, 409 and 429 do not; 500 and above
// count only with the texts of servers that are known to answer so. Any other error counts if its text is one with
// which a known provider, gateway or local server refuses requests that are too large. Rate limits, quotas and output
// limits do not count.
func ContextLimit(err error) (TooLarge, bool) {
	sizes, ok := refusal.TooLarge(err)
	return TooLarge(sizes), ok
}

// RecoveryError reports that a request that the provider refused as too large could not be made to fit.
type RecoveryError struct {
	// Refused is the provider's error.
	Refused error
	// Attempts is how many attempts were made.
	Attempts int
	// Err says why there is no other attempt.
	Err error
}

func (e *RecoveryError) Error() string {
	return fmt.Sprintf("summarize: context overflow recovery failed after %d attempts: %v (the provider said: %v)", e.Attempts, unprefixed(e.Err), e.Refused)
}

// Unwrap returns both errors.
func (e *RecoveryError) Unwrap() []error { return []error{e.Err, e.Refused} }

var errStillTooLarge = errors.New("it is still too large")

// Recover handles an error of the agent's model. If the error says that the request was too large ([ContextLimit]) and
// the policy compacts then, Recover returns a smaller prompt to send instead. It records the limit and size that the
// provider named in the session, lowers the budget by them and by a buffer that grows with each attempt, and compacts
// the session. A summary that is ready or being made is used first. If the application appended an assistant's message
// for the failure, failed is its entry's id, and the message leaves the view; otherwise failed is "".
//
// Any other error is returned as it is. If nothing helps, the error is a [*RecoveryError].
func (c *Compactor) Recover(ctx context.Context, prompt elements.Node, refused error, failed string) (*render.Result, error) {
	large, ok := ContextLimit(refused)
	w, err := c.begin(ctx, prompt)
	if err != nil {
		return nil, err
	}
	if !ok || w.policy.Off || len(w.policy.Trigger.For(OnContextLimit)) == 0 {
		return nil, refused
	}
	if err := w.acquire(); err != nil {
		return nil, err
	}
	defer w.release()
	if failed != "" {
		if err := withdraw(ctx, c.Session, failed); err != nil {
			return nil, err
		}
	}
	before, err := w.measure(OnContextLimit)
	if err != nil {
		return nil, err
	}
	c.inner.mu.Lock()
	counted, at := c.inner.sentTokens, c.inner.sentNewest
	c.inner.mu.Unlock()
	if counted == 0 || at != before.newest() { // another compactor rendered the request
		counted = before.tokens() + before.size.tools
	}
	refusal := history.Refusal{Model: w.target.Name, Limit: large.Limit, Tokens: large.Tokens, Counted: counted}
	if _, err := c.Session.Add(ctx, history.Entry{Body: refusal}); err != nil {
		return nil, &RecoveryError{Refused: refused, Err: fmt.Errorf("%w: %w", ErrUnwritten, err)}
	}
	l, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	if l.Attempts > w.policy.Overflow.Attempts {
		return nil, &RecoveryError{Refused: refused, Attempts: l.Attempts - 1, Err: errStillTooLarge}
	}
	w.willRetry = true
	result, err := w.walk(OnContextLimit)
	if err != nil && ctx.Err() != nil {
		return nil, endCause(ctx, err)
	}
	if err == nil && result.Tokens+before.size.tools >= counted { // it would be refused again
		err = cmp.Or(w.failure, errStillTooLarge)
	}
	if err != nil {
		return nil, &RecoveryError{Refused: refused, Attempts: l.Attempts, Err: err}
	}
	return result, nil
}

// withdraw takes a failed answer out of the view: the session continues from the entry before it. Only entries that no
// model sees may follow the answer.
func withdraw(ctx context.Context, s *history.Session, id string) error {
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return err
		}
		if e.ID == id && e.Message().Role == chat.RoleAssistant {
			return s.Branch(ctx, e.Parent)
		}
		if _, shown := e.Shown(); shown || e.ID == id || e.Type() == history.TypeCompaction {
			break
		}
	}
	return fmt.Errorf("summarize: entry %q is not the last message, or not the assistant's: name the one that was appended for the failure", id)
}

// resort applies the last resort to a prompt that nothing makes fit. Why is the error to return if it does not help.
func (w *walker) resort(s *measured, why error) (*render.Result, error) {
	if s.over == nil {
		return s.result, nil
	}
	switch w.policy.Overflow.LastResort {
	case ResortTruncate:
		return w.truncated(s, why)
	case ResortDrop:
		result, err := call(w.ctx, namePrompt, 0, func(ctx context.Context) (*render.Result, error) {
			return s.layout.FitWith(ctx, render.FitOptions{Budget: s.Budget, History: render.HistoryDroppable})
		})
		if err != nil {
			return nil, w.unresorted(why, err)
		}
		if chat.Validate(result.Messages) != nil {
			return nil, why // the messages that are left cannot be sent
		}
		w.c.emit(w.ctx, Event{
			Kind: EventLetGo, Reason: s.Occasion, MessagesBefore: len(s.over.Messages), MessagesAfter: len(result.Messages),
			TokensBefore: s.over.Needed, TokensAfter: result.Tokens, Base: s.Base, Err: why,
		})
		return result, nil
	}
	return nil, why
}

// unresorted returns the error if the last resort failed with err or does not suffice.
func (w *walker) unresorted(why, err error) error {
	if w.ctx.Err() != nil {
		return endCause(w.ctx, err)
	}
	if wrong, ok := errors.AsType[*CallbackError](err); ok {
		return errors.Join(why, wrong)
	}
	return why
}

// truncated returns the prompt without its oldest messages.
func (w *walker) truncated(s *measured, why error) (*render.Result, error) {
	if len(s.over.Messages) == 0 {
		return nil, why
	}
	guard := history.Truncator{
		Tokenizer: w.target.Tokenizer, Limit: s.Budget + s.size.tools,
		Last: func(m chat.Message) bool { // the messages of earlier compactions go last
			return slices.ContainsFunc(s.view.Compacted, func(stand chat.Message) bool { return reflect.DeepEqual(stand, m) })
		},
	}
	result, err := value(w.ctx, nameTokenizer, func() *render.Result {
		messages, report := guard.Truncate(s.over.Messages, s.tools(w.target))
		r := &render.Result{Messages: messages, Tools: s.over.Tools, Budget: s.Budget, Metadata: s.over.Metadata}
		r.Tokens = counted(w.target.Tokenizer.CountTools(r.Tools))
		for _, m := range messages {
			r.Tokens += counted(w.target.Tokenizer.CountMessage(m))
		}
		if report.Over > 0 || r.Tokens > s.Budget {
			return nil
		}
		return r
	})
	if err != nil || result == nil {
		return nil, w.unresorted(why, err)
	}
	w.c.emit(w.ctx, Event{
		Kind: EventTruncated, Reason: s.Occasion, MessagesBefore: len(s.over.Messages), MessagesAfter: len(result.Messages),
		TokensBefore: s.over.Needed, TokensAfter: result.Tokens, Base: s.Base, Err: why,
	})
	return result, nil
}
