package summarize

import (
	"context"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/history"
)

// BranchPolicy says how what was done on a branch is summarised when the session leaves it ([Compactor.Navigate]).
type BranchPolicy struct {
	// On makes such summaries. Defaults to not.
	On bool
	// Reserve is how many tokens of the summarising model's window are not used for the branch. Defaults to 16,384. It is
	// at most half of the window.
	Reserve int
	// Prompt by which a model is asked. Defaults to [BranchPrompt].
	Prompt Prompt
}

// Navigate lets the session go on from another entry, as [history.Session.Branch] does. Where the policy says so, or a hook
// supplies it, what is left behind is summarised first, and the summary is what follows that entry; instructions, if there
// are any, take the place of the prompt's own. The newest of what is left is summarised, as far as it fits; files are listed
// of all of it. It gives the summary, nil where there is none.
//
// Where the model fails, the context ends or [Compactor.Abort] is called, the session stays where it is.
func (c *Compactor) Navigate(ctx context.Context, to, instructions string) (*history.BranchSummary, error) {
	if err := c.begin(nil); err != nil {
		return nil, err
	}
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer c.giveTurn()
	ctx, release := c.abortable(ctx)
	defer release()
	from := c.Session.Leaf()
	var d Decision
	if c.Hooks.BeforeBranch != nil {
		c.hook(ctx, "BeforeBranch", func() error {
			got, err := c.Hooks.BeforeBranch(ctx, from, to)
			if err == nil {
				d = got
			}
			return err
		})
	}
	if d.Cancel {
		return nil, ErrVetoed
	}
	var summary *history.BranchSummary
	switch {
	case d.Summary != nil:
		summary = &history.BranchSummary{From: from, Summary: *d.Summary}
		summary.Extension = true
	case c.Policy.Branch.On:
		var err error
		if summary, err = c.summariseBranch(ctx, from, to, instructions, d); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("summarising the branch: %w", err)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := c.Session.Branch(to); err != nil {
		return nil, err
	}
	if summary != nil {
		if _, err := c.Session.Add(history.Entry{Body: *summary}); err != nil {
			return nil, err
		}
	}
	if c.Checkpoints != nil && c.Policy.Record.Checkpoints {
		if err := c.Checkpoints.Index(c.Session); err != nil { // the session is there all the same
			c.tell(ctx, Event{Kind: EventHookFailed, Err: fmt.Errorf("writing the index of the checkpoints: %w", err)})
		}
	}
	if c.Hooks.AfterBranch != nil {
		c.hook(ctx, "AfterBranch", func() error { return c.Hooks.AfterBranch(ctx, from, to, summary) })
	}
	return summary, nil
}

// summariseBranch asks for a summary of what is left behind, nil where that is nothing.
func (c *Compactor) summariseBranch(ctx context.Context, from, to, instructions string, d Decision) (*history.BranchSummary, error) {
	policy := c.Policy.withDefaults()
	window := c.requestBudget()
	reserve := policy.Branch.Reserve
	if reserve == 0 {
		reserve = 16_384
	}
	reserve = min(reserve, window/2)
	messages, err := BranchMessages(c.Session.Abandoned(from, to), window-reserve, c.Tokenizer)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	j := job{policy: policy, meter: &meter{}, begun: time.Now()}
	if j.material, err = c.material(ctx, from, policy); err != nil {
		return nil, err
	}
	tools := c.FileTools
	if tools == nil {
		tools = history.DefaultFileTools()
	}
	if j.material.Files, err = tools.Of(c.Session.Abandoned(from, to)); err != nil {
		return nil, err
	}
	j.material.Covered, j.material.Instructions, j.material.Context = messages, instructions, d.Context
	j.material.PreviousSummary = "" // of the path, and no part of the branch
	j.material.Room = max(minWords, min(reserve, policy.SummaryMax))
	j.material.Words = j.material.Room
	p := policy.Branch.Prompt
	if p.Request == nil {
		p = BranchPrompt()
	}
	text, err := c.ask(ctx, &j, p, p.Request(j.material))
	if err != nil {
		return nil, err
	}
	text = WithFiles(text, j.material.Files)
	return &history.BranchSummary{From: from, Summary: history.Summary{Text: text, Files: j.material.Files, Data: d.Data}}, nil
}
