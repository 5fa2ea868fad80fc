package summarize

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// Compactor renders prompts that show a session, and compacts the session where a prompt does not fit. Set the fields
// before the first use; after that it is safe for concurrent use.
type Compactor struct {
	// Session that the prompt's history elements show.
	Session *history.Session
	// Model that is asked for summaries.
	Model chat.Model
	// Tokenizer that prompts are measured with.
	Tokenizer sizing.Tokenizer
	// Budget is the most tokens that a prompt's messages may take.
	Budget int
	// ModelBudget is the most tokens that a request for a summary may take. Defaults to Budget.
	ModelBudget int
	// Tools that the agent has. In full mode they are declared to the model, which may not call them: the history is
	// full of their calls.
	Tools []chat.Tool
	// Policy of compaction.
	Policy Policy
	// Limits of a round as it is shown to the summarising model; those of the prompt's history elements, if they have
	// any.
	Limits history.Limits
	// OnEvent is told of each compaction. It is called while the compactor works and must not call it.
	OnEvent func(Event)

	once   sync.Once
	turn   chan struct{} // full while a compaction is made: one at a time
	failed *failure
}

// takeTurn waits for the compaction that another call makes, if one does.
func (c *Compactor) takeTurn(ctx context.Context) error {
	c.once.Do(func() { c.turn = make(chan struct{}, 1) })
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failure remembers what could not be compacted, so that it is not tried again before something has changed.
type failure struct {
	entries int // of the session
	err     error
}

// EventKind says what an [Event] tells of.
type EventKind string

// The kinds of events, in the order in which they come.
const (
	EventStarted EventKind = "started" // a cut was chosen; the model is asked next
	EventRefused EventKind = "refused" // one mode failed; Err says why
	EventDone    EventKind = "done"    // the compaction is in the session
)

// Event tells of a step of a compaction.
type Event struct {
	Kind EventKind
	// Mode of the summary; "" at the start.
	Mode Mode
	// Covered is the number of rounds and user messages that are summarised, Kept that of those kept word for word.
	Covered, Kept int
	// TokensBefore is what the prompt needed, TokensAfter what it takes with the summary.
	TokensBefore, TokensAfter int
	// Err says why a mode failed.
	Err error
}

// ErrNothingToCompact tells that there is no history besides what must be kept. No model was asked.
var ErrNothingToCompact = errors.New("there is no history to summarise besides what must be kept")

// ErrNoRoom tells that what must be kept leaves no room for a summary. No model was asked.
var ErrNoRoom = errors.New("what must be kept leaves no room for a summary")

// FailedError tells that a prompt did not fit and the session could not be compacted. The session is as it was.
type FailedError struct {
	// Budget is the error of the render that did not fit.
	Budget *render.BudgetExceededError
	// Reasons why compaction failed, one for each mode that was tried.
	Reasons []error
}

func (e *FailedError) Error() string {
	reasons := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		reasons[i] = r.Error()
	}
	return fmt.Sprintf("%v; compaction failed: %s", e.Budget, strings.Join(reasons, "; then "))
}

// Unwrap gives the budget error and the reasons.
func (e *FailedError) Unwrap() []error {
	return append([]error{e.Budget}, e.Reasons...)
}

// Render renders a prompt. Where it does not fit although everything that may be pruned has been, the session is
// compacted and the prompt rendered again:
//
//  1. The cut is chosen: the newest rounds stay word for word, at least the one that overflowed; what is older, back
//     to the previous summary and no further, is summarised. The previous summary is shown to the model and so
//     carried on.
//  2. Whether that helps is seen before a model is asked: the prompt is rendered as it would be with a summary of the
//     size allowed. If it does not fit, less is kept; if that is not enough either, the error says so.
//  3. The model is asked, in pieces where the history is larger than its window. Its answer must not be empty, must fit,
//     and must be smaller than what it replaces. Else the next mode is tried.
//  4. The prompt is rendered with the summary. Only when it fits is the compaction written to the session.
//
// Where all of that fails the error is a [*FailedError], in which errors.AsType finds the
// [*render.BudgetExceededError]; the session is unchanged, and the same is not tried again until something was
// appended, unless the model said that it may work later. A cancelled context gives its cause.
func (c *Compactor) Render(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	result, err := c.render(ctx, prompt, c.Budget)
	if _, over := errors.AsType[*render.BudgetExceededError](err); !over {
		return result, err
	}
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.turn }()
	// Another call may have compacted in the meantime.
	result, err = c.render(ctx, prompt, c.Budget)
	over, ok := errors.AsType[*render.BudgetExceededError](err)
	if !ok {
		return result, err
	}
	entries := c.Session.Len()
	if c.failed != nil && c.failed.entries == entries {
		return nil, &FailedError{Budget: over, Reasons: []error{fmt.Errorf("not tried again, nothing was said since: %w", c.failed.err)}}
	}
	result, reasons := c.compact(ctx, prompt, over)
	if len(reasons) == 0 {
		c.failed = nil
		return result, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if why := errors.Join(reasons...); !passing(why) {
		c.failed = &failure{entries: entries, err: why}
	}
	return nil, &FailedError{Budget: over, Reasons: reasons}
}

// passing tells of a failure that may be gone the next time: a rate limit, a time-out.
func passing(err error) bool {
	_, transient := errors.AsType[*chat.TransientError](err)
	return transient || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (c *Compactor) check() error {
	switch {
	case c.Session == nil:
		return errors.New("summarize: Compactor.Session is not set")
	case c.Model == nil:
		return errors.New("summarize: Compactor.Model is not set: an Offline needs no network")
	case c.ModelBudget < 0:
		return fmt.Errorf("summarize: Compactor.ModelBudget is %d", c.ModelBudget)
	}
	return c.Policy.check()
}

func (c *Compactor) render(ctx context.Context, prompt elements.Node, budget int) (*render.Result, error) {
	return render.Render(ctx, prompt, render.Options{Budget: budget, Window: c.Budget, Tokenizer: c.Tokenizer})
}

// compact makes room and gives the prompt that fits, or the reasons why it could not.
func (c *Compactor) compact(ctx context.Context, prompt elements.Node, over *render.BudgetExceededError) (*render.Result, []error) {
	policy := c.Policy.withDefaults()
	job, err := c.plan(ctx, prompt, policy)
	if err != nil {
		return nil, []error{err}
	}
	event := Event{
		Kind: EventStarted, TokensBefore: over.Needed,
		Covered: len(job.covered), Kept: len(job.kept),
	}
	c.tell(event)
	var reasons []error
	for _, p := range policy.prompts() {
		event.Mode = p.Mode
		result, err := c.try(ctx, prompt, job, p, over.Needed)
		if err == nil {
			event.Kind, event.TokensAfter = EventDone, result.Tokens
			c.tell(event)
			return result, nil
		}
		event.Kind, event.Err = EventRefused, err
		c.tell(event)
		reasons = append(reasons, fmt.Errorf("%s mode: %w", p.Mode, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, reasons
}

// try makes one compaction and writes it once the prompt fits with it.
func (c *Compactor) try(ctx context.Context, prompt elements.Node, j job, p Prompt, before int) (*render.Result, error) {
	summary, err := c.summarise(ctx, j, p)
	if err != nil {
		return nil, err
	}
	m := j.part(j.covered, j.prefix)
	m.Summary = summary
	for _, check := range j.policy.Checks {
		if err := check(m); err != nil {
			return nil, err
		}
	}
	stand, err := c.stand(ctx, j.policy, m)
	if err != nil {
		return nil, err
	}
	if err := j.checkSize(c.Tokenizer, stand); err != nil {
		return nil, err
	}
	compaction := history.Compaction{
		Messages: stand, FirstKept: j.firstKept, TokensBefore: before, Mode: string(p.Mode),
		Summary: history.Summary{Text: summary, Files: m.Files},
	}
	result, err := c.render(history.Preview(ctx, c.Session, compaction), prompt, c.Budget)
	if err != nil {
		return nil, fmt.Errorf("with the summary the prompt still does not render: %w", err)
	}
	compaction.TokensAfter = result.Tokens
	if err := c.Session.Compact(compaction); err != nil {
		return nil, err
	}
	return result, nil
}

func (c *Compactor) tell(e Event) {
	if c.OnEvent != nil {
		c.OnEvent(e)
	}
}
