package summarize

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/promptree-go/promptree/history"
)

// Hooks are called around compactions. Each may be nil. One that fails, panics or takes longer than Timeout is told of by
// [EventHookFailed] and never blocks. A hook must not call the compactor.
type Hooks struct {
	// BeforeCompact is called once the plan is written and before a model is asked. It may archive the transcript, call the
	// compaction off, supply the summary itself, or add to the request. For a summary that is made while the work goes on it
	// is called in the background.
	BeforeCompact func(ctx context.Context, reason Occasion, m Material) (Intervention, error)
	// AfterCompact is called once a compaction is in the session, with its entry. For a summary that was made while the work
	// went on it is called in the background.
	AfterCompact func(ctx context.Context, e history.Entry) error
	// Interrupt is called before a compaction that somebody asked for: the agent's running operation is to be aborted.
	Interrupt func(ctx context.Context) error
	// BeforeBranch is called before the session goes to another branch, and before what is left is summarised. Of what it
	// returns Cancel calls the navigation off, and Summary is used in place of a model's.
	BeforeBranch func(ctx context.Context, from, to string) (Intervention, error)
	// AfterBranch is called once the session is on another branch, with the summary of what was left, if there is one.
	AfterBranch func(ctx context.Context, from, to string, summary *history.BranchSummary) error
	// Workspace returns what else is known of the work when a compaction is made. Defaults to the newest [history.Todos] on
	// the path.
	Workspace func(ctx context.Context) (Workspace, error)
	// Timeout of each hook, and of a checkpoint that is written. Defaults to 30 seconds. One that has not returned a second
	// later is left behind.
	Timeout time.Duration
}

// Intervention is what a hook wants done. The zero value changes nothing.
type Intervention struct {
	// Cancel calls it off.
	Cancel bool
	// Summary is used, and no model asked.
	Summary *history.Summary
	// Prompts take the place of the policy's.
	Prompts []Prompt
	// Context lines are added to the request.
	Context []string
	// Data is kept with the compaction. It is JSON.
	Data json.RawMessage
	// FirstKept, Title and TokensBefore take the place of those of a supplied summary's compaction; zero values leave them.
	FirstKept    string
	Title        string
	TokensBefore int
}

// timeout of each hook.
func (h Hooks) timeout() time.Duration {
	if h.Timeout <= 0 {
		return 30 * time.Second
	}
	return h.Timeout
}

// hook calls one, and tells of its failure.
func hook[T any](ctx context.Context, h Hooks, tell func(context.Context, Event), name string, f func(context.Context) (T, error)) T {
	got, err := call(ctx, "hook "+name, h.timeout(), f)
	if _, wrong := errors.AsType[*CallbackError](err); err != nil && (wrong || ctx.Err() == nil) {
		tell(ctx, Event{Kind: EventHookFailed, Hook: name, Err: err})
	}
	if err != nil {
		var none T
		return none
	}
	return got
}

// supplied returns the text of an intervention's summary.
func supplied(i Intervention) (string, error) {
	if data := i.Summary.Data; len(data) > 0 && !json.Valid(data) {
		return "", &SummaryError{Reason: "its Data is not JSON"}
	}
	return tidy(i.Summary.Text)
}

// none makes a hook that returns nothing of one that returns an error.
func none(f func(context.Context) error) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) }
}

// before hears the hooks that a job has before a model is asked.
func (c *carrier) before(ctx context.Context, j *job) error {
	if c.hooks.Workspace != nil {
		known := hook(ctx, c.hooks, c.tell, "Workspace", c.hooks.Workspace)
		if known.Plan == "" {
			known.Plan = j.material.Plan
		}
		if known.Todo == "" {
			known.Todo = j.material.Todo
		}
		j.material.Workspace = known
	}
	if c.hooks.BeforeCompact != nil {
		occasion, whole := Occasion(j.plan.Occasion), j.whole() // before, for a hook may be left behind
		j.hooked = hook(ctx, c.hooks, c.tell, "BeforeCompact", func(ctx context.Context) (Intervention, error) {
			return c.hooks.BeforeCompact(ctx, occasion, whole)
		})
		j.material.Context = j.hooked.Context
		if data := j.hooked.Data; len(data) > 0 && !json.Valid(data) {
			c.tell(ctx, Event{Kind: EventHookFailed, Hook: "BeforeCompact", Err: errBadData})
			j.hooked.Data = nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if j.hooked.Cancel {
		return ErrVetoed
	}
	return nil
}
