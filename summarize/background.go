package summarize

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/internal/place"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/internal/write"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Runner runs plans in the background. It is called with the id of a plan that was written to the session, and must return
// soon. The worker that takes the plan over calls [Compactor.RunPlan] with it, on a compactor for the same session, here or
// in another process. An error means that no worker will.
type Runner func(ctx context.Context, s *history.Session, plan string) error

// start starts a summary in the background, and explains the outcome. It covers what has been said until now; later
// messages stay.
func (w *walker) start(ctx context.Context, s *plan.Rendered, d policy.Decision) {
	c := w.c
	if !w.acquired && !w.tryAcquire() {
		d.Do, d.Why = policy.ActNothing, "another call compacts"
		w.explain(ctx, d, outcomeNothing, nil)
		return
	}
	l, err := c.read(ctx)
	if err != nil {
		w.explain(ctx, d, outcomeFailed, err)
		return
	}
	if pending := c.pending(ctx, l); pending != policy.PendingNone {
		d.Do, d.Why = policy.ActNothing, fmt.Sprintf("a summary is %s", pending)
		w.explain(ctx, d, outcomeNothing, nil)
		return
	}
	id, err := w.writePlan(ctx, s, d)
	if err != nil {
		w.explain(ctx, d, outcomeFailed, err)
		return
	}
	w.explain(ctx, d, outcomeStarted, nil)
	if c.Runner != nil {
		err := guard.Do(ctx, "Runner", w.policy.Background.Timeout, func(ctx context.Context) error { return c.Runner(ctx, c.Session, id) })
		if err != nil {
			outlived, done := callback.Outlive(ctx)
			c.placer().Conclude(outlived, id, write.Written{}, []error{err}, false)
			done()
			w.explain(ctx, d, outcomeFailed, err)
		}
		return
	}
	o := order{id: id, policy: w.policy, agent: w.target, target: w.target, background: true}
	if s.Result != nil && s.Shown.Whole() { // a fork covers only what its request shows
		o.sent = s.Result.Messages
	}
	w.launch(ctx, o)
}

// launch has a summary written in a goroutine of the compactor, which only Abort and Close end.
func (w *walker) launch(ctx context.Context, o order) *task {
	work := &w.c.inner.work
	ctx, done := work.abortable(context.WithoutCancel(ctx))
	o.late = new(atomic.Bool)
	t := &task{order: o, done: make(chan struct{})}
	ctx, t.cancel = context.WithCancelCause(ctx)
	if t.activity = w.activity; o.background { // this call will run something else
		ctx, t.activity = callback.WithActivity(ctx)
	}
	work.replace(nil, t)
	owned := work.spawn(func(context.Context) {
		defer done()
		defer close(t.done)
		ctx, end := w.c.inner.observers.start(ctx, Work{Kind: WorkCompaction, Plan: o.id})
		if t.end = func(*render.Result, error) {}; !o.background {
			t.within, t.end = func(of context.Context) context.Context { return valuesOf{of, ctx} }, end
		}
		if t.written, t.err = w.c.run(ctx, o); t.err == nil {
			t.err = w.c.keep(ctx, t)
		}
		if t.err != nil {
			work.replace(t, nil)
		}
		if t.err != nil || o.background {
			end(nil, t.err)
		}
	})
	if !owned {
		work.replace(t, nil)
		done()
		t.err = ErrCompactorClosed
		close(t.done)
	}
	return t
}

// keep keeps the summary of a task for a render.
func (c *Compactor) keep(ctx context.Context, t *task) error {
	if d := t.written; t.background {
		e := d.Attempt.Event(event.Ready)
		e.Mode, e.Model, e.Mended = d.Prompt.Mode, d.Model, d.Mended
		c.emit(ctx, e) // before a render can put it in place
	}
	if err := c.inner.work.finish(ctx, t); err != nil {
		return c.failed(ctx, t.order, t.written, err)
	}
	return nil
}

// pending returns the progress of a compaction that was started before.
func (c *Compactor) pending(ctx context.Context, l *journal.Ledger) policy.Pending {
	t, ready := c.inner.work.current()
	switch {
	case ready:
		return policy.PendingReady
	case t != nil:
		return policy.PendingRunning
	case l.Pending == nil:
		return policy.PendingNone
	case c.runsElsewhere(ctx, l.Pending):
		return policy.PendingElsewhere
	}
	return policy.PendingNone
}

// claimGrace is the time that a process has for claiming a plan that it has written.
const claimGrace = 9 * time.Second

// runsElsewhere reports whether another process or a Runner runs a plan, or may do so.
func (c *Compactor) runsElsewhere(ctx context.Context, p *journal.Plan) bool {
	state, _ := c.Session.Claimed(ctx, p.ID) // if the store fails, the state is unknown
	switch {
	case state == storage.LeaseHeld:
		return true
	case state == storage.LeaseExpired, !time.Now().Before(p.Until):
		return false
	case state != storage.LeaseNone || c.Runner != nil: // a plan of a Runner may be in a queue
		return true
	case !c.Session.Shared():
		return false
	}
	now, err := c.Session.Now(ctx)
	return err != nil || now.Sub(p.Time) < claimGrace
}

// Pending returns the progress of a compaction that was started before.
func (c *Compactor) Pending(ctx context.Context) (policy.Pending, error) {
	c.init()
	l, err := c.read(ctx)
	if err != nil {
		return policy.PendingNone, err
	}
	return c.pending(ctx, l), nil
}

// Wait waits for the summary that is being made in the background, if there is one. The next render of this compactor puts
// it in place, or Close: a program that ends after an answer calls Wait before Close, and what was paid for is kept. If the
// context ends first, the error wraps its cause.
func (c *Compactor) Wait(ctx context.Context) error {
	c.init()
	t, _ := c.inner.work.current()
	if t == nil {
		return nil
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return guard.WaitError(ctx, t.activity, "the summary that is made in the background")
	}
}

// RenderOrWait renders a prompt as Render does. If the prompt needs a summary that is still being made ([*PendingError]), it
// waits until that is ready, and renders again. If it fails, the error says why.
func (c *Compactor) RenderOrWait(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	for {
		result, err := c.Render(ctx, prompt)
		pending, ok := errors.AsType[*PendingError](err)
		if !ok {
			return result, err
		}
		t, _ := c.inner.work.current()
		if err := c.Wait(ctx); err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		if failed, ok := errors.AsType[*FailedError](t.err); ok {
			return nil, &FailedError{Budget: pending.Budget, Reasons: failed.Reasons}
		}
	}
}

// patience returns how long this render may still wait for summaries. If the prompt can be sent without, half of the time
// until the call's deadline is left for the request.
func (w *walker) patience(ctx context.Context, s *plan.Rendered) time.Duration {
	if w.until.IsZero() {
		w.patient = w.policy.Background.Timeout
		if deadline, ok := ctx.Deadline(); ok && s.Sendable {
			w.patient = min(w.patient, time.Until(deadline)/2)
		}
		w.until = time.Now().Add(w.patient)
	}
	return time.Until(w.until)
}

// wait waits for the pending compaction, at most as long as the policy allows.
func (w *walker) wait(ctx context.Context, s *plan.Rendered, d policy.Decision) error {
	w.waited = true
	w.c.emit(ctx, event.Event{
		Kind: event.Waiting, Reason: s.Occasion, Why: d.Why, Size: event.Size{TokensBefore: s.PromptTokens(), Base: s.Base},
	})
	if t, _ := w.c.inner.work.current(); t != nil {
		return w.await(ctx, s, t)
	}
	abortable, done := w.c.inner.work.abortable(ctx)
	defer done()
	limited, cancel := context.WithTimeout(abortable, w.patience(ctx, s))
	defer cancel()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second/2) {
		if err := w.c.Session.Refresh(ctx); err != nil {
			return err
		}
		l, err := w.c.read(ctx)
		if err != nil {
			return err
		}
		if w.c.pending(limited, l) != policy.PendingElsewhere || retry.Sleep(limited, pause) != nil {
			break
		}
	}
	return context.Cause(abortable) // nil unless the call was cancelled or aborted
}

// await waits for a summary as long as the prompt may. Only a call that owns the work ends it too. If the time is over, the
// error is a [*PendingError], and the compactor goes on.
func (w *walker) await(ctx context.Context, s *plan.Rendered, t *task) error {
	abortable, done := w.c.inner.work.abortable(ctx)
	defer done()
	limited, cancel := abortable, context.CancelFunc(func() {})
	whole := w.until.IsZero() // else part of the time went by for another summary
	if !w.owns {
		limited, cancel = context.WithTimeout(abortable, w.patience(ctx, s))
	}
	defer cancel()
	select {
	case <-t.done:
	case <-limited.Done():
		switch {
		case w.owns:
			t.cancel(context.Cause(abortable))
		case ctx.Err() != nil:
			return guard.WaitError(ctx, t.activity, "the summary")
		case abortable.Err() == nil:
			t.waited.Store(t.waited.Load() || whole)
			t.late.Store(true)
			return &PendingError{Budget: s.Over, Plan: t.id, After: w.patient, Running: t.activity.Running()}
		}
		<-t.done
	}
	if t.err != nil && abortable.Err() != nil {
		return guard.EndCause(abortable, t.err)
	}
	return t.err
}

// settle ends a task whose summary is ready: the summary is put in place, or thrown away if put is not set. It reports
// whether it was put in place. If the prompt must fit with the summary and does not, it is not.
func (w *walker) settle(ctx context.Context, s *plan.Rendered, put, mustFit bool) (bool, error) {
	c, in := w.c, &w.c.inner.work
	t, ready := in.current()
	if !ready || !in.replace(t, nil) {
		return false, nil
	}
	if !put || w.policy.Background.PerModel && t.written.Attempt.Plan.Model != w.target.Name {
		c.discard(ctx, t, nil)
		return false, nil
	}
	within := ctx
	if t.within != nil {
		within = t.within(ctx)
	}
	m, err := w.planner(ctx)
	if err == nil {
		at := &place.Prompt{Measurer: m, Prompt: w.prompt, Budget: s.Budget, Newest: s.Newest, Messages: len(s.PromptMessages()), MustFit: mustFit}
		err = c.place(within, t.written, at, in.spawn)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		in.replace(nil, t) // keep it for the next render
		return false, context.Cause(ctx)
	default:
		err = c.failed(within, t.order, t.written, err)
	}
	t.end(nil, err)
	return err == nil, err
}

// keepReady puts a summary in place that is ready when the compactor is closed, as a worker does: no prompt is rendered with
// it, and it gets no title.
func (c *Compactor) keepReady() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), callback.WriteTime, ErrCompactorClosed)
	defer cancel()
	in := &c.inner.work
	t, ready := in.current()
	if !ready || !in.replace(t, nil) {
		return
	}
	t.written.Prompt.Title = nil
	err := c.place(ctx, t.written, nil, atOnce(ctx))
	if err != nil {
		err = c.failed(ctx, t.order, t.written, err)
	}
	t.end(nil, err)
}

// abandon cancels the task in the background, waits for it and throws its result away.
func (c *Compactor) abandon(ctx context.Context) error {
	in := &c.inner.work
	t, _ := in.current()
	if t == nil {
		return nil
	}
	t.cancel(ErrAborted)
	select {
	case <-t.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if in.replace(t, nil) && t.ready {
		c.discard(ctx, t, ErrAborted)
	}
	return nil
}

// discard throws the result of a task away.
func (c *Compactor) discard(ctx context.Context, t *task, why error) {
	c.placer().Discard(ctx, t.id, t.written, why)
	c.Session.Release(t.id)
	t.end(nil, why)
}

// valuesOf is a context with the values of another one: a render puts a summary in place as part of the work that wrote it.
type valuesOf struct {
	context.Context
	values context.Context
}

func (v valuesOf) Value(key any) any { return v.values.Value(key) }
