package summarize

import (
	"context"

	"github.com/promptree-go/promptree/render"
)

// Tracer follows the work of a compactor: work begins and ends, and events happen in it. Package summarize/tracing, a module of its own,
// makes OpenTelemetry spans and metrics of that. Methods are called one at a time, from goroutines of the compactor too, and must not call
// the compactor.
type Tracer interface {
	// TraceStart is called as work begins. The context that it returns, which must come from ctx, is the one in which the work goes
	// on: elements, models and hooks are called with it.
	TraceStart(ctx context.Context, w Work) context.Context
	// TraceEvent is called with each event, in the context of the work that it happened in.
	TraceEvent(ctx context.Context, e Event)
	// TraceEnd is called as work ends, with the context that TraceStart returned. The result is that of a render that did not fail.
	TraceEnd(ctx context.Context, result *render.Result, err error)
}

// Work is what a [Tracer] follows.
type Work struct {
	Kind WorkKind
	// Reason is the occasion of a render.
	Reason Occasion
	// Plan is the id of the plan's entry that a compaction carries out.
	Plan string
}

// WorkKind says what kind of work is done.
type WorkKind string

// The kinds of work.
const (
	// WorkRender is a call of [Compactor.Render], [Compactor.Recover], [Compactor.SwitchModel] or [Compactor.AfterTurn], with all
	// that it waits for.
	WorkRender WorkKind = "render"
	// WorkCompaction is a plan that is carried out, until the compaction is in the session, a summary is ready to be put in place
	// by a later render, or the attempt has failed. One that is made in the background outlives the render that began it.
	WorkCompaction WorkKind = "compaction"
)

// trace tells the tracer of work that begins. It returns the context in which the work goes on, and a function to call at its end.
func (c *Compactor) trace(ctx context.Context, w Work) (context.Context, func(*render.Result, error)) {
	follow := func(f func()) {
		c.inner.telling.Lock()
		err := c.listen(context.WithoutCancel(ctx), nameTracer, c.Tracer != nil, func(context.Context) { f() })
		c.inner.telling.Unlock()
		if err != nil {
			c.tell(ctx, Event{Kind: EventHookFailed, Hook: nameTracer, Err: err})
		}
	}
	got, traced := make(chan context.Context, 1), ctx
	follow(func() { got <- c.Tracer.TraceStart(ctx, w) })
	select {
	case from := <-got:
		if from != nil {
			traced = from
		}
	default: // it failed, or there is none
	}
	return traced, func(r *render.Result, err error) {
		follow(func() { c.Tracer.TraceEnd(traced, r, err) })
	}
}

const nameTracer = "Tracer"
