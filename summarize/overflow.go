package summarize

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
)

// Overflow says what is done about requests that the provider refused as too large, and about prompts that no compaction
// makes fit.
type Overflow struct {
	// Attempts is how often a refused request is made again. Defaults to 3.
	Attempts int
	// Buffer is the share of the budget that is left free at the first of them, and once more at each further one, up to
	// MaxBuffer: the provider counts more than we do. Both are from 0 to below 1. Default to 0.05 and 0.3.
	Buffer, MaxBuffer float64
	// Truncate leaves the oldest messages out of a request, as the last guard, where no compaction makes it fit
	// ([history.Truncator]). The summary of what was compacted before goes last. The session keeps all. Defaults to an error.
	Truncate bool
}

func (o Overflow) buffer(attempt int) float64 {
	if o.Buffer == 0 {
		o.Buffer = 0.05
	}
	if o.MaxBuffer == 0 {
		o.MaxBuffer = 0.3
	}
	return min(o.Buffer*float64(attempt), o.MaxBuffer)
}

func (o Overflow) attempts() int {
	if o.Attempts == 0 {
		return 3
	}
	return o.Attempts
}

// RecoveryError tells that a request which the provider refused as too large could not be made to fit.
type RecoveryError struct {
	// Refused is what the provider said.
	Refused error
	// Attempts that were made.
	Attempts int
	// Err says why there is no further one.
	Err error
}

func (e *RecoveryError) Error() string {
	return fmt.Sprintf("context overflow recovery failed after %d attempts: %v (the provider said: %v)", e.Attempts, e.Err, e.Refused)
}

// Unwrap gives both errors.
func (e *RecoveryError) Unwrap() []error { return []error{e.Err, e.Refused} }

// Recover answers an error of the agent's model. Where it says that the request was too large ([ContextLimit]), and the
// policy compacts then, it gives a prompt to try again with: the session is compacted, whatever is used, and the budget is
// lowered: to the limit that the provider named, and by a buffer that grows with each attempt. Failed is the id of an
// assistant message that the application appended for the failure, which leaves the view; "" where there is none.
//
// An error of another kind comes back as it is. Where nothing helps the error is a [*RecoveryError].
func (c *Compactor) Recover(ctx context.Context, prompt elements.Node, refused error, failed string) (*render.Result, error) {
	if err := c.begin(prompt); err != nil {
		return nil, err
	}
	over, ok := ContextLimit(refused)
	if !ok || c.Policy.Off || len(c.trigger().For(OnContextLimit)) == 0 {
		return nil, refused
	}
	if _, err := c.await(ctx); err != nil {
		return nil, err
	}
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer c.giveTurn()
	if failed != "" {
		if err := c.withdraw(failed); err != nil {
			return nil, err
		}
	}
	place := c.place()
	c.mu.Lock()
	if c.refusedAt != place {
		c.attempts = 0
	}
	c.attempts++
	c.refusedAt = place
	attempts := c.attempts
	if over.Limit > 0 {
		c.learnt = over.Limit
	}
	c.mu.Unlock()
	if attempts > c.Policy.Overflow.attempts() {
		return nil, &RecoveryError{Refused: refused, Attempts: attempts - 1, Err: errors.New("it is still too large")}
	}
	result, err := c.recovered(ctx, prompt)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &RecoveryError{Refused: refused, Attempts: attempts, Err: err}
	}
	place = c.place()
	c.mu.Lock()
	c.refusedAt = place
	c.mu.Unlock()
	return result, nil
}

func (c *Compactor) recovered(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	c.apply(ctx, prompt)
	at, err := c.look(ctx, prompt, OnContextLimit)
	if err != nil {
		return nil, err
	}
	if e := c.trigger().For(OnContextLimit).Explain(at.moment); e.Held < 0 {
		return at.result, at.failure()
	}
	result, err := c.compactNow(ctx, order{prompt: prompt, at: at, on: OnContextLimit, willRetry: true})
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	at, lookErr := c.lookAgain(ctx, prompt, at, OnContextLimit, err)
	if lookErr != nil {
		return nil, lookErr
	}
	if !at.exceeded() {
		return at.result, nil // within the lowered budget
	}
	if result, ok := c.truncated(ctx, at); ok {
		return result, nil
	}
	return nil, err
}

// withdraw takes a failed answer out of the view: the session goes on from what it answered.
func (c *Compactor) withdraw(id string) error {
	e, err := c.Session.Entry(id)
	if err != nil {
		return err
	}
	if e.Message().Role != chat.RoleAssistant || c.Session.Leaf() != id {
		return fmt.Errorf("%w: %s", errNoAssistant, id)
	}
	return c.Session.Branch(e.Parent)
}

// forgetRefusals lets a new request have the whole budget again.
func (c *Compactor) forgetRefusals() {
	c.mu.Lock()
	none := c.attempts == 0
	c.mu.Unlock()
	if none {
		return
	}
	place := c.place()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusedAt != place {
		c.attempts = 0
	}
}

// truncated leaves out what does not fit, where the policy does so.
func (c *Compactor) truncated(ctx context.Context, at sight) (*render.Result, bool) {
	if !c.Policy.Overflow.Truncate || at.over == nil || len(at.over.Messages) == 0 {
		return nil, false
	}
	tools := c.Tokenizer.CountTools(c.Tools)
	view, err := history.ViewIn(ctx, c.Session)
	if err != nil {
		return nil, false // and the error of the compaction tells
	}
	guard := history.Truncator{
		Tokenizer: c.Tokenizer, Limit: at.size.budget + tools,
		Last: func(m chat.Message) bool { // what stands for the history that was compacted before
			return slices.ContainsFunc(view.Compacted, func(stand chat.Message) bool { return reflect.DeepEqual(stand, m) })
		},
	}
	messages, report := guard.Truncate(at.over.Messages, c.Tools)
	if report.Over > 0 {
		return nil, false
	}
	result := &render.Result{Messages: messages, Budget: at.size.budget, Metadata: at.over.Metadata}
	for _, m := range messages {
		result.Tokens += c.Tokenizer.CountMessage(m)
	}
	if result.Tokens > at.size.budget {
		return nil, false
	}
	c.tell(ctx, Event{
		Kind: EventTruncated, Reason: at.moment.Occasion, MessagesBefore: len(at.over.Messages), MessagesAfter: len(messages),
		TokensBefore: at.over.Needed, TokensAfter: result.Tokens, Window: at.size.window,
		Breakdown: breakdown(c.Tokenizer, messages, c.Tools),
	})
	return result, true
}
