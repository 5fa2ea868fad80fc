package summarize

import (
	"context"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/internal/write"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Navigation says whether the branch that is left is summarised. The zero value leaves it to the policy.
type Navigation struct {
	// Summarize summarises the branch, whatever the policy says.
	Summarize bool
	// Instructions replace those of the prompt.
	Instructions string
}

// Navigate makes the session go on from another entry, as [history.Session.Branch] does. If the policy or the argument
// how says so, a hook or a model first summarises the branch that is left, and the summary follows that entry. A model
// sees the newest messages of the branch that fit; the files are those of the whole branch. Navigate returns the
// summary, nil if there is none.
//
// If the model fails, the context ends or [Compactor.Abort] is called, the session stays where it is.
func (c *Compactor) Navigate(ctx context.Context, to string, how Navigation) (*entry.BranchSummary, error) {
	w, ctx, err := c.begin(ctx, nil)
	if err != nil {
		return nil, err
	}
	ctx, done := c.inner.work.abortable(ctx)
	defer done()
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	defer w.release()
	from := c.Session.Leaf()
	var intervention Intervention
	if c.Hooks.BeforeBranch != nil {
		intervention = hook(ctx, c, "BeforeBranch", func(ctx context.Context) (Intervention, error) { return c.Hooks.BeforeBranch(ctx, from, to) })
	}
	if intervention.Cancel {
		return nil, ErrVetoed
	}
	var summary *entry.BranchSummary
	switch {
	case !w.policy.Branch.On && !how.Summarize:
	case intervention.Summary != nil:
		summary = &entry.BranchSummary{From: from, Summary: *intervention.Summary}
		summary.Extension = true
		if summary.Text, err = write.SuppliedText(intervention.Summary); err != nil {
			return nil, failure.Within("the summary of a hook", err)
		}
	default:
		if summary, err = w.summariseBranch(ctx, from, to, how.Instructions, intervention); err != nil && ctx.Err() == nil {
			return nil, failure.Within("the branch that is left", err)
		}
	}
	if ctx.Err() != nil {
		return nil, guard.EndCause(ctx, err)
	}
	if err := c.journal().Navigate(ctx, to, summary); err != nil {
		return nil, err
	}
	if c.Checkpoints != nil && w.policy.Replace.Checkpoints {
		indexed := func(ctx context.Context) error { return c.Checkpoints.Index(ctx, c.Session) }
		err := guard.Do(context.WithoutCancel(ctx), "Checkpoints", c.Hooks.timeout(), indexed)
		if err != nil { // the session is on the other branch in any case
			c.emit(ctx, event.Event{Kind: event.HookFailed, Function: "Checkpoints", Err: failure.Within("writing the index of the checkpoints", err)})
		}
	}
	if c.Hooks.AfterBranch != nil {
		hook(ctx, c, "AfterBranch", noResult(func(ctx context.Context) error { return c.Hooks.AfterBranch(ctx, from, to, summary) }))
	}
	return summary, nil
}

// summariseBranch asks for a summary of the branch that is left, nil if the branch is empty.
func (w *walker) summariseBranch(ctx context.Context, from, to, instructions string, intervention Intervention) (*entry.BranchSummary, error) {
	c := w.c
	l, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	left := write.Branch{
		Session: c.Session, Ledger: l, Models: c.Models, Target: w.target, Policy: w.policy, From: from, To: to, Emit: c.emit,
		Material: policy.Material{
			Instructions: instructions, Context: intervention.Context,
			Tools: w.target.Tools,
		},
	}
	if last := c.lastSent().result; last != nil {
		left.Material.Tools = plan.Declared(w.target, last.Tools)
	}
	summary, reasons := left.Summarise(ctx)
	switch {
	case len(reasons) > 0:
		return nil, &FailedError{Reasons: reasons}
	case summary == nil:
		return nil, nil
	}
	summary.Data = intervention.Data
	return &entry.BranchSummary{From: from, Summary: *summary}, nil
}
