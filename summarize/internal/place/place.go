// Package place puts summaries in place: it checks that the prompt fits with them, and writes the compaction, or how its
// plan failed, to the session.
package place

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/index"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/internal/plan"
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

// Place appends the compaction of a written summary, which ends its plan. If at is not nil, the prompt must render with
// the summary, and fit if at says so. The error is a [*entry.BoundaryError] if the entries to replace are gone.
func (p *Placer) Place(ctx context.Context, d write.Written, at *Prompt) (entry.Entry, error) {
	none := entry.Entry{}
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	j := d.Attempt
	compaction := p.compaction(d)
	view, err := p.Journal.Session.ViewWith(ctx, compaction)
	view = view.Clear(j.Clearing)
	if err == nil && j.Plan.Index > 0 {
		view, err = p.index(ctx, j, &compaction, view)
	}
	if err != nil {
		return none, err
	}
	if l, err := p.Journal.Read(ctx); err != nil {
		return none, err
	} else if l.Pending == nil || l.Pending.ID != j.ID {
		return none, failure.ErrPlanEnded
	}
	var result *render.Result
	if at != nil {
		result, err = guard.Call(ctx, guard.NamePrompt, 0, func(ctx context.Context) (*render.Result, error) {
			layout, _, err := at.Measurer.LayOut(ctx, at.Prompt, view, at.Budget, at.Newest)
			if err != nil {
				return nil, err
			}
			return layout.Fit(ctx, at.Budget)
		})
		if err != nil && (at.MustFit || !failure.TooLarge(err)) {
			return none, failure.Within("the prompt does not render with the summary", err)
		}
		if result != nil {
			compaction.TokensAfter = result.Tokens
		}
	}
	bodies := d.Writer.Taught()
	cleared := len(j.Clearing.Results)+len(j.Clearing.Arguments) > 0
	if cleared {
		bodies = append(bodies, j.Clearing)
	}
	found, err := p.Journal.Write(ctx, append(bodies, compaction)...)
	if err != nil {
		return none, err
	}
	if cleared {
		e := j.Event(event.Cleared)
		e.Entry, e.Why = found.Parent, "together with the compaction"
		p.Emit(ctx, e)
	}
	p.report(ctx, d, at, found, result)
	return found, nil
}

// compaction returns the compaction of a written summary.
func (p *Placer) compaction(d write.Written) entry.Compaction {
	j, c := d.Attempt, d.Compaction
	c.Plan, c.Thinking, c.Mode = j.ID, j.Plan.Thinking, string(d.Prompt.Mode)
	c.FirstKept = cmp.Or(c.FirstKept, j.Plan.FirstKept)
	c.TokensBefore = cmp.Or(c.TokensBefore, j.Plan.TokensBefore)
	c.Title = cmp.Or(c.Title, plaintext.Title(c.Text))
	if !c.Extension {
		c.Files, c.Data = j.Material.Files, j.Data
	}
	if p.Checkpoints != nil && j.Policy.Replace.Checkpoints {
		c.Checkpoints = p.Checkpoints.Dir
	}
	return c
}

// report writes the checkpoint of a placed summary, and emits the events of its compaction. Result is the prompt with it,
// nil if none was rendered.
func (p *Placer) report(ctx context.Context, d write.Written, at *Prompt, found entry.Entry, result *render.Result) {
	j := d.Attempt
	e := j.Event(event.Done)
	placed := found.Compaction() // as written: the session may have redacted it
	e.Mode, e.Model, e.Summary, e.Title, e.Mended, e.Entry, e.Unseen = d.Prompt.Mode, d.Model, placed.Text, placed.Title, d.Mended, found.ID, d.Unseen
	e.TokensAfter, e.Doubt, e.Why = placed.TokensAfter, d.Doubt, j.Plan.Why
	if result != nil {
		e.MessagesBefore, e.MessagesAfter = at.Messages, len(result.Messages)
		e.Breakdown = plan.Breakdown(ctx, at.Measurer.Target, result)
	}
	if p.Checkpoints != nil && j.Policy.Replace.Checkpoints {
		point, err := guard.Call(context.WithoutCancel(ctx), "Checkpoints", p.Timeout, func(ctx context.Context) (checkpoints.Checkpoint, error) {
			return p.Checkpoints.Add(ctx, p.Journal.Session, found.ID, placed.Title, placed.Text)
		})
		if err != nil { // the session has the compaction in any case
			p.Emit(ctx, event.Event{Kind: event.HookFailed, Reason: e.Reason, Function: "Checkpoints", Err: failure.Within("writing the checkpoint", err)})
		}
		e.Checkpoint = point
	}
	p.Emit(ctx, e)
	for _, pin := range j.Material.Pinned {
		if pin.Left {
			left := j.Event(event.PinLeft)
			left.Entry, left.Why = pin.Entry, fmt.Sprintf("it takes %d tokens, and all pinned entries may take %d", pin.Tokens, j.Plan.Pinned)
			p.Emit(ctx, left)
		}
	}
}

// index adds the index to a compaction, if it names anything, and returns the view with it.
func (p *Placer) index(ctx context.Context, j *write.Attempt, c *entry.Compaction, view history.View) (history.View, error) {
	prompt := slices.Concat(j.Material.System, view.Messages())
	message, ok, err := index.Message(ctx, p.Journal.Session, c.FirstKept, prompt, j.Plan.Index, j.Target.Tokenizer)
	if err != nil || !ok {
		return view, err
	}
	c.Messages = append(slices.Clone(c.Messages), message)
	view, err = p.Journal.Session.ViewWith(ctx, *c)
	return view.Clear(j.Clearing), err
}

// Prompt is the prompt that a compaction is put in place for.
type Prompt struct {
	Measurer *plan.Planner
	Prompt   elements.Node
	Budget   int
	Newest   int // most tokens of the newest round's results, 0 for no bound
	Messages int // number of messages before
	MustFit  bool
}
