package summarize

import (
	"context"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Tracer follows the work of a compactor: where it begins and ends, and the events in it. Package summarize/tracing, a
// separate module, turns that into OpenTelemetry spans and metrics. Methods are called one at a time, also from
// goroutines of the compactor. They must not call the compactor.
type Tracer interface {
	// TraceStart is called when work begins. It returns a context derived from ctx, with which elements, models and
	// hooks are called.
	TraceStart(ctx context.Context, w Work) context.Context
	// TraceEvent is called with each event, in the context of the work in which it happened.
	TraceEvent(ctx context.Context, e event.Event)
	// TraceEnd is called when work ends, with the context that TraceStart returned. The result is nil unless a render
	// succeeded.
	TraceEnd(ctx context.Context, result *render.Result, err error)
}

// Work describes the work that a [Tracer] follows.
type Work struct {
	Kind WorkKind
	// Reason is the occasion of a render.
	Reason policy.Occasion
	// Plan is the id of the plan's entry, for a compaction.
	Plan string
}

// WorkKind is the kind of work.
type WorkKind string

// The kinds of work.
const (
	// WorkRender is a call of [Compactor.Render], [Compactor.Recover], [Compactor.SwitchModel] or
	// [Compactor.AfterTurn], including its waits.
	WorkRender WorkKind = "render"
	// WorkCompaction is carrying out a plan, until the compaction is in the session, a summary is ready for a later
	// render, or the attempt has failed. In the background it may outlive the render that began it.
	WorkCompaction WorkKind = "compaction"
)

// trace calls TraceStart. It returns the context of the work, and a function that calls TraceEnd.
func (c *Compactor) trace(ctx context.Context, w Work) (context.Context, func(*render.Result, error)) {
	follow := func(f func()) {
		c.inner.eventMu.Lock()
		err := c.listen(context.WithoutCancel(ctx), nameTracer, c.Tracer != nil, func(context.Context) { f() })
		c.inner.eventMu.Unlock()
		if err != nil {
			c.emit(ctx, event.Event{Kind: event.HookFailed, Hook: nameTracer, Err: err})
		}
	}
	got, traced := make(chan context.Context, 1), ctx
	follow(func() { got <- c.Tracer.TraceStart(ctx, w) })
	select {
	case from := <-got:
		if from != nil {
			traced = from
		}
	default: // the tracer failed, or there is none
	}
	return traced, func(r *render.Result, err error) {
		follow(func() { c.Tracer.TraceEnd(traced, r, err) })
	}
}

const nameTracer = "Tracer"
