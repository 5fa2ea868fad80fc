package summarize

import (
	"context"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
)

// State of the work in the background.
type State string

// The states. After a failure the next occasion tries again, unless nothing was said since.
const (
	StateIdle       State = "idle"
	StateInProgress State = "in progress"
	StateCompleted  State = "completed"
	StateFailed     State = "failed"
)

// task is a summary that is made in the background. It is written by a later render and never by itself: what the agent
// sends does not change under it.
type task struct {
	order      order
	job        *job
	done       chan struct{} // closed once the rest is set
	compaction history.Compaction
}

// start makes a summary in the background. What it covers is chosen now: whatever is said from here on stays.
func (c *Compactor) start(ctx context.Context, prompt elements.Node, at sight, e Explanation) {
	select {
	case c.turn <- struct{}{}:
	default:
		return // another call compacts
	}
	defer c.giveTurn()
	if s := c.State(); s == StateInProgress || s == StateCompleted {
		return
	}
	o := order{prompt: prompt, at: at, on: e.Occasion, limit: c.limitOf(e), background: true}
	j, err := c.prepare(ctx, o)
	if err != nil {
		if ctx.Err() == nil {
			_ = c.gaveUp(ctx, o, nil, []error{err}) // silent: the prompt fits, and events tell
		}
		return
	}
	j.material.Sent = at.result.Messages

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	t := &task{order: o, job: j, done: make(chan struct{})}
	c.task, c.state = t, StateInProgress
	c.owned.Go(func() { c.work(context.WithoutCancel(ctx), t) })
}

// work makes the summary of a task.
func (c *Compactor) work(ctx context.Context, t *task) {
	defer close(t.done)
	ctx, release := c.abortable(ctx) // which Close ends too
	defer release()
	compaction, reasons := c.guarded(ctx, t)
	state := StateCompleted
	if len(reasons) > 0 || ctx.Err() != nil {
		if len(reasons) == 0 {
			reasons = []error{context.Cause(ctx)}
		}
		_ = c.gaveUp(ctx, t.order, t.job, reasons)
		state = StateFailed
		if ctx.Err() != nil {
			state = StateIdle // a result that was cancelled is nothing
		}
	}
	if state == StateCompleted {
		e := t.order.event(EventReady, t.job)
		e.Mode = Mode(compaction.Mode)
		c.tell(ctx, e) // before a render can put it in place
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.compaction = compaction
	if c.task == t {
		c.state = state
		if state != StateCompleted {
			c.task = nil
		}
	}
}

// guarded turns a panic of a policy's own functions into an error.
func (c *Compactor) guarded(ctx context.Context, t *task) (m history.Compaction, reasons []error) {
	defer func() {
		if p := recover(); p != nil {
			reasons = []error{fmt.Errorf("the compaction panicked: %v", p)}
		}
	}()
	return c.make(ctx, t.order, t.job, func(history.Compaction) error { return nil })
}

// Wait waits until nothing is being made in the background. A summary that was made is put in place by the next render. The
// error is the context's cause.
func (c *Compactor) Wait(ctx context.Context) error {
	_, err := c.await(ctx)
	return err
}

// await waits for a summary that is being made in the background, and tells whether there was one.
func (c *Compactor) await(ctx context.Context) (bool, error) {
	c.mu.Lock()
	t := c.task
	c.mu.Unlock()
	if t == nil {
		return false, nil
	}
	select {
	case <-t.done:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// apply puts a finished summary in place, and tells whether it did. The turn is the caller's.
func (c *Compactor) apply(ctx context.Context, prompt elements.Node) bool {
	c.mu.Lock()
	t := c.task
	if t == nil || c.state != StateCompleted {
		c.mu.Unlock()
		return false
	}
	c.mu.Unlock()
	at, err := c.look(ctx, prompt, OnRender)
	if err != nil {
		return false // the summary is kept, and the render tells
	}
	finish := func(kind EventKind, state State, err error) bool {
		c.mu.Lock()
		c.task, c.state = nil, state
		c.mu.Unlock()
		if kind != "" {
			e := t.order.event(kind, t.job)
			e.Mode, e.Err = Mode(t.compaction.Mode), err
			c.tell(ctx, e)
		}
		return kind == ""
	}
	if !at.exceeded() && at.moment.Ratio() < c.Policy.Background.Apply {
		return finish(EventDiscarded, StateIdle, nil)
	}
	m := t.compaction
	o := t.order
	o.prompt, o.at = prompt, at
	m.TokensBefore = at.needed()
	var result *render.Result
	view, err := c.Session.ViewWith(m)
	if err == nil {
		result, err = c.render(history.WithView(ctx, c.Session, view), prompt, at.size.budget)
	}
	if err != nil && ctx.Err() != nil {
		return false
	}
	if gone(err) {
		return finish(EventDropped, StateIdle, err)
	}
	if err == nil {
		m.TokensAfter = result.Tokens
	} // where so much was said meanwhile that it still does not fit, it helps all the same
	if err := c.write(ctx, o, t.job, m, result); err != nil {
		if gone(err) {
			return finish(EventDropped, StateIdle, err)
		}
		c.remember(o, err)
		return finish(EventFailed, StateFailed, err)
	}
	return finish("", StateIdle, nil)
}
