package summarize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
)

// order is what a compaction is asked to do.
type order struct {
	prompt       elements.Node
	at           sight
	on           Occasion
	limit        int // the tokens at which the policy compacts, 0 where it does not say
	instructions string
	background   bool
	willRetry    bool
}

// event that tells of the order.
func (o order) event(kind EventKind, j *job) Event {
	e := Event{
		Kind: kind, Reason: o.on, Background: o.background, WillRetry: o.willRetry, Window: o.at.size.window,
		TokensBefore: o.at.needed(), MessagesBefore: o.at.messages(),
	}
	if j != nil {
		e.Covered, e.Kept, e.Duration = len(j.covered), len(j.kept), time.Since(j.begun)
		e.Calls, e.Usage = j.meter.read()
	}
	return e
}

// needed is how many tokens the messages take.
func (s sight) needed() int {
	if s.over != nil {
		return s.over.Needed
	}
	if s.result != nil {
		return s.result.Tokens
	}
	return 0
}

// system are the prompt's system messages.
func (s sight) system() []chat.Message {
	return slices.DeleteFunc(slices.Clone(s.rendered()), func(m chat.Message) bool { return m.Role != chat.RoleSystem })
}

// messages is how many the prompt has.
func (s sight) messages() int { return len(s.rendered()) }

// rendered are the prompt's messages; of one that does not fit, what must stay of it.
func (s sight) rendered() []chat.Message {
	switch {
	case s.over != nil:
		return s.over.Messages
	case s.result != nil:
		return s.result.Messages
	}
	return nil
}

// compactNow makes a compaction and gives the prompt that fits. The turn is the caller's.
func (c *Compactor) compactNow(ctx context.Context, o order) (*render.Result, error) {
	if o.on != OnDemand {
		if err := c.remembered(o); err != nil {
			return nil, &FailedError{Budget: o.at.over, Reasons: []error{fmt.Errorf("not tried again, nothing was said since: %w", err)}}
		}
	}
	ctx, release := c.abortable(ctx)
	defer release()
	j, err := c.prepare(ctx, o)
	if err != nil {
		return nil, c.gaveUp(ctx, o, nil, []error{err})
	}
	var result *render.Result
	_, reasons := c.make(ctx, o, j, func(m history.Compaction) (err error) {
		result, err = c.commit(ctx, o, j, m)
		return err
	})
	if len(reasons) > 0 {
		return nil, c.gaveUp(ctx, o, j, reasons)
	}
	return result, nil
}

// gaveUp tells of a compaction that failed, and remembers it.
func (c *Compactor) gaveUp(ctx context.Context, o order, j *job, reasons []error) error {
	if ctx.Err() != nil {
		if j != nil {
			e := o.event(EventCancelled, j)
			e.Err = context.Cause(ctx)
			c.tell(ctx, e)
		}
		return context.Cause(ctx)
	}
	why := errors.Join(reasons...)
	c.remember(o, why)
	if gone(why) {
		e := o.event(EventDropped, j)
		e.Err = why
		c.tell(ctx, e)
	} else if fixed, ok := errors.AsType[*FixedPartsError](why); ok {
		if c.news(fixed) {
			e := o.event(EventFailed, j)
			e.Err = why
			c.tell(ctx, e)
		}
	} else if j != nil {
		e := o.event(EventFailed, j)
		e.Err = why
		c.tell(ctx, e)
	}
	return &FailedError{Budget: o.at.over, Reasons: reasons}
}

// prepare chooses the cut and hears the hooks.
func (c *Compactor) prepare(ctx context.Context, o order) (*job, error) {
	j, err := c.plan(ctx, o)
	if err != nil {
		return nil, err
	}
	j.begun = time.Now()
	j.decision = c.beforeCompact(ctx, o.on, j.part(j.covered, j.prefix))
	if j.decision.Cancel {
		return nil, ErrVetoed
	}
	j.material.Context = append(j.material.Context, j.decision.Context...)
	return &j, nil
}

// make asks for a summary, by one prompt after the other, until one is taken. What is taken is what passes the checks and
// what the caller does with it.
func (c *Compactor) make(ctx context.Context, o order, j *job, take func(history.Compaction) error) (history.Compaction, []error) {
	e := o.event(EventStarted, j)
	e.Duration = 0
	if c.OnEvent != nil || c.Logger != nil {
		e.Breakdown = breakdown(c.Tokenizer, o.at.rendered(), c.Tools)
	}
	c.tell(ctx, e)
	if s := j.decision.Summary; s != nil {
		compaction, err := c.finish(ctx, o, j, Prompt{Mode: ModeSupplied}, s.Text)
		if err == nil {
			compaction.Summary = *s
			compaction.Extension = true
			err = take(compaction)
		}
		if err != nil {
			return compaction, []error{fmt.Errorf("the summary of a hook: %w", err)}
		}
		return compaction, nil
	}
	prompts := slices.DeleteFunc(slices.Clone(j.policy.prompts()), func(p Prompt) bool { return p.Background && !o.background })
	if len(j.decision.Prompts) > 0 {
		prompts = j.decision.Prompts
	}
	var reasons []error
	refused := func(p Prompt, err error) {
		e := o.event(EventRefused, j)
		e.Mode, e.Err = p.Mode, err
		c.tell(ctx, e)
		reasons = append(reasons, fmt.Errorf("%s mode: %w", p.Mode, err))
	}
	try := func(p Prompt) (history.Compaction, bool) {
		summary, err := c.summarise(ctx, j, p)
		if err == nil {
			var compaction history.Compaction
			if compaction, err = c.finish(ctx, o, j, p, summary); err == nil {
				if err = take(compaction); err == nil {
					return compaction, true
				}
			}
		}
		refused(p, err)
		return history.Compaction{}, false
	}
	for _, p := range prompts {
		if compaction, ok := try(p); ok {
			return compaction, nil
		}
		if last := reasons[len(reasons)-1]; ctx.Err() != nil || gone(last) || errors.Is(last, errUnwritten) {
			return history.Compaction{}, reasons
		}
	}
	return history.Compaction{}, reasons
}

// finish checks a summary and makes a compaction of it.
func (c *Compactor) finish(ctx context.Context, o order, j *job, p Prompt, summary string) (history.Compaction, error) {
	m := j.part(j.covered, j.prefix)
	summary, _ = untagged(summary)
	m.Summary = summary
	if err := j.policy.passes(m); err != nil {
		return history.Compaction{}, err
	}
	stand, err := c.stand(ctx, j.policy, m, j.replaced(c.Tokenizer))
	if err != nil {
		return history.Compaction{}, err
	}
	data := j.decision.Data
	if len(data) > 0 && !json.Valid(data) {
		c.tell(ctx, Event{Kind: EventHookFailed, Err: errors.New("hook BeforeCompact: Decision.Data is no JSON, and is left out")})
		data = nil
	}
	compaction := history.Compaction{
		Messages: stand, FirstKept: j.firstKept, Thinking: j.thinking, TokensBefore: o.at.needed(), Mode: string(p.Mode),
		Summary: history.Summary{Text: summary, Files: m.Files, Data: data},
	}
	compaction.Title = c.title(ctx, j, p, m)
	return compaction, nil
}

// passes tells of the first check that a summary does not pass.
func (p Policy) passes(m Material) error {
	for _, check := range p.Checks {
		if err := check(m); err != nil {
			return err
		}
	}
	return nil
}

// title is a line for people: what the prompt asks for, or how the summary begins.
func (c *Compactor) title(ctx context.Context, j *job, p Prompt, m Material) string {
	if p.Title != nil {
		if text, err := c.ask(ctx, j, Prompt{Mode: p.Mode}, p.Title(m)); err == nil {
			return oneLine(text, 200)
		}
	}
	for line := range strings.Lines(m.Summary) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#*-0123456789. ")); line != "" {
			return oneLine(line, 80)
		}
	}
	return ""
}

// commit writes a compaction once the prompt fits with it.
func (c *Compactor) commit(ctx context.Context, o order, j *job, m history.Compaction) (*render.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	view, err := c.Session.ViewWith(m)
	if err != nil {
		return nil, err
	}
	result, err := c.render(history.WithView(ctx, c.Session, view), o.prompt, o.at.size.budget)
	if err != nil {
		return nil, fmt.Errorf("with the summary the prompt still does not render: %w", err)
	}
	m.TokensAfter = result.Tokens
	if err := c.write(ctx, o, j, m, result); err != nil {
		return nil, err
	}
	return result, nil
}

// write puts a compaction in place. Result is the prompt with it, nil where that does not fit.
func (c *Compactor) write(ctx context.Context, o order, j *job, m history.Compaction, result *render.Result) error {
	added, err := c.Session.Add(history.Entry{Body: m})
	if err != nil {
		return fmt.Errorf("%w: %w", errUnwritten, err)
	}
	e := o.event(EventDone, j)
	e.Mode, e.Summary, e.Title, e.TokensAfter = Mode(m.Mode), m.Text, m.Title, m.TokensAfter
	if result != nil {
		e.MessagesAfter = len(result.Messages)
		e.Breakdown = breakdown(c.Tokenizer, result.Messages, c.Tools)
	}
	if c.Checkpoints != nil && c.Policy.Record.Checkpoints {
		point, err := c.Checkpoints.Add(c.Session, added[0].ID, m.Title, m.Text)
		if err != nil { // the session has it all the same
			c.tell(ctx, Event{Kind: EventHookFailed, Reason: o.on, Err: fmt.Errorf("writing the checkpoint: %w", err)})
		}
		e.Checkpoint = point
	}
	c.settle(o, m)
	c.tell(ctx, e)
	if c.Hooks.AfterCompact != nil {
		c.hook(ctx, "AfterCompact", func() error { return c.Hooks.AfterCompact(ctx, m) })
	}
	return nil
}

// abortable is a context that [Compactor.Abort] ends, and Close.
func (c *Compactor) abortable(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := new(cancel)
	c.mu.Lock()
	c.aborts[key] = true
	closed := c.closed
	c.mu.Unlock()
	if closed {
		cancel(ErrClosed)
	}
	return ctx, func() {
		c.mu.Lock()
		delete(c.aborts, key)
		c.mu.Unlock()
		cancel(context.Canceled)
	}
}

// Abort ends whatever compaction is being made, of whatever kind. The session stays as it is, and who waits for it gets
// [ErrAborted].
func (c *Compactor) Abort() {
	c.init()
	c.mu.Lock()
	defer c.mu.Unlock()
	for cancel := range c.aborts {
		(*cancel)(ErrAborted)
	}
}
