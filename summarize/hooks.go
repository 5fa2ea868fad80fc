package summarize

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/history"
)

// Hooks are called around compactions. Each may be nil. One that fails or panics is told of by [EventHookFailed] and never
// blocks. A hook must not call the compactor.
type Hooks struct {
	// BeforeCompact is called once the cut is chosen and before a model is asked. It may archive the transcript, call the
	// compaction off, supply the summary itself, or add to the request.
	BeforeCompact func(ctx context.Context, reason Occasion, m Material) (Decision, error)
	// AfterCompact is called once a compaction is in the session.
	AfterCompact func(ctx context.Context, c history.Compaction) error
	// Interrupt is called before a compaction that somebody asked for: the agent's running operation is to be aborted.
	Interrupt func(ctx context.Context) error
	// BeforeBranch is called before the session goes to another branch, and before what is left is summarised. Of the
	// decision Cancel calls the navigation off, and Summary is used in place of a model's.
	BeforeBranch func(ctx context.Context, from, to string) (Decision, error)
	// AfterBranch is called once the session is on another branch, with the summary of what was left, if there is one.
	AfterBranch func(ctx context.Context, from, to string, summary *history.BranchSummary) error
}

// Decision is what a hook wants done. The zero value changes nothing.
type Decision struct {
	// Cancel calls it off.
	Cancel bool
	// Summary is used, and no model asked.
	Summary *history.Summary
	// Prompts take the place of the policy's.
	Prompts []Prompt
	// Context lines are added to the request.
	Context []string
	// Data is kept with the compaction.
	Data json.RawMessage
}

// hook calls one, and tells of its failure.
func (c *Compactor) hook(ctx context.Context, name string, call func() error) {
	defer func() {
		if p := recover(); p != nil {
			c.tell(ctx, Event{Kind: EventHookFailed, Err: fmt.Errorf("hook %s panicked: %v", name, p)})
		}
	}()
	if err := call(); err != nil {
		c.tell(ctx, Event{Kind: EventHookFailed, Err: fmt.Errorf("hook %s: %w", name, err)})
	}
}

func (c *Compactor) beforeCompact(ctx context.Context, reason Occasion, m Material) (d Decision) {
	if c.Hooks.BeforeCompact == nil {
		return d
	}
	c.hook(ctx, "BeforeCompact", func() error {
		got, err := c.Hooks.BeforeCompact(ctx, reason, m)
		if err == nil {
			d = got
		}
		return err
	})
	return d
}
