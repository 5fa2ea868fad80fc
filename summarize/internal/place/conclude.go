package place

import (
	"context"
	"errors"
	"time"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/internal/write"
)

// Placer puts summaries in place, and writes to the session how their plans ended.
type Placer struct {
	Journal     *journal.Journal
	Checkpoints *checkpoints.Folder
	Timeout     time.Duration // of writing a checkpoint
	Emit        func(context.Context, event.Event)
}

// Conclude writes to the session how a plan failed, and emits the event. If there will be another attempt, the plan stays
// pending.
func (p *Placer) Conclude(ctx context.Context, id string, d write.Written, reasons []error, again bool) {
	why := errors.Join(reasons...)
	end := entry.PlanEnd{Plan: id, Outcome: entry.PlanFailed, ErrorType: failure.Type(why), Error: "compaction failed: " + failure.Join(reasons)}
	kind := event.Failed
	switch {
	case again:
		end.Outcome, kind = entry.PlanRetried, event.Postponed
	case ctx.Err() != nil:
		why = guard.EndCause(ctx, why)
		end.Outcome, end.Error, end.ErrorType, kind = entry.PlanDropped, why.Error(), failure.Type(ctx.Err()), event.Cancelled
	case errors.Is(why, failure.ErrVetoed):
		end.Outcome, kind = entry.PlanVetoed, event.Vetoed
	case failure.BoundaryGone(why), errors.Is(why, failure.ErrPlanEnded), errors.Is(why, failure.ErrPart):
		end.Outcome, kind = entry.PlanDropped, event.Dropped
	}
	p.record(ctx, end, kind, d, why)
}

// record writes to the session how a plan ended and what the models' refusals teach, and emits the event.
func (p *Placer) record(ctx context.Context, end entry.PlanEnd, kind event.Kind, d write.Written, why error) {
	e := event.Event{Kind: kind, Plan: end.Plan}
	if d.Attempt != nil {
		e = d.Attempt.Event(kind)
	}
	end.Requests = e.Calls
	if err := p.Journal.End(ctx, end, d.Writer.Taught()...); err != nil {
		why = errors.Join(why, err)
	}
	e.Mode, e.Model, e.Err = d.Prompt.Mode, d.Model, why
	p.Emit(ctx, e)
}

// Discard writes to the session that a summary is thrown away, and emits the event.
func (p *Placer) Discard(ctx context.Context, id string, d write.Written, why error) {
	end := entry.PlanEnd{Plan: id, Outcome: entry.PlanDropped, ErrorType: failure.Type(why)}
	if why != nil {
		end.Error = why.Error()
	}
	p.record(ctx, end, event.Discarded, d, why)
}
