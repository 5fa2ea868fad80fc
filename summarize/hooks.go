package summarize

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/write"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Hooks are called around compactions. Each may be nil. If one fails, panics or takes longer than Timeout, an
// [event.HookFailed] says so and the work goes on without it. A hook must not call the compactor.
type Hooks struct {
	// BeforeCompact is called after the plan is written and before a model is asked. It may archive the transcript,
	// cancel the compaction, supply the summary itself, or add to the request. If the summary is made in the
	// background, so is this call.
	BeforeCompact func(ctx context.Context, reason policy.Occasion, m policy.Material) (Intervention, error)
	// AfterCompact is called with the compaction's entry once it is in the session. If the summary was made in the
	// background, this call is made there too.
	AfterCompact func(ctx context.Context, e entry.Entry) error
	// Interrupt is called before a compaction that a user asked for; it should abort the operation that the agent is
	// running.
	Interrupt func(ctx context.Context) error
	// BeforeBranch is called before the session goes to another branch, and before the branch that it leaves is
	// summarised. Cancel in its result cancels the navigation, and Summary is used in place of a model's.
	BeforeBranch func(ctx context.Context, from, to string) (Intervention, error)
	// AfterBranch is called once the session is on another branch, with the summary of the branch that it left; nil if
	// there is none.
	AfterBranch func(ctx context.Context, from, to string, summary *entry.BranchSummary) error
	// Workspace returns what else the application knows of the work when a compaction is made. Defaults to the newest
	// [entry.Todos] on the path.
	Workspace func(ctx context.Context) (policy.Workspace, error)
	// Timeout of each hook, and of writing a checkpoint. Defaults to 30 seconds. A hook that has not returned a second
	// after its timeout is left behind.
	Timeout time.Duration
}

// Intervention is the answer of a hook. The zero value changes nothing.
type Intervention struct {
	// Cancel calls the compaction or the navigation off.
	Cancel bool
	// Summary is used instead of a model's, and no model is asked.
	Summary *entry.Summary
	// Prompts replace those of the policy.
	Prompts []policy.Prompt
	// Context is a list of lines to add to the request.
	Context []string
	// Data is kept with the compaction. It must be JSON.
	Data json.RawMessage
	// FirstKept, Title and TokensBefore replace the values of the compaction if Summary is set; zero values change
	// nothing.
	FirstKept    string
	Title        string
	TokensBefore int
}

func (h Hooks) timeout() time.Duration {
	return cmp.Or(max(0, h.Timeout), 30*time.Second)
}

// hook calls a hook, and reports its failure as an event.
func hook[T any](ctx context.Context, c *Compactor, name string, f func(context.Context) (T, error)) T {
	got, err := guard.Call(ctx, "hook "+name, c.Hooks.timeout(), f)
	if _, wrong := errors.AsType[*chat.CallbackError](err); err != nil && (wrong || ctx.Err() == nil) {
		c.emit(ctx, event.Event{Kind: event.HookFailed, Function: name, Err: err})
	}
	if err != nil {
		return *new(T)
	}
	return got
}

// noResult turns a hook that returns only an error into one that returns an empty value too.
func noResult(f func(context.Context) error) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) }
}

// runBefore calls the hooks that run before a model is asked.
func (c *Compactor) runBefore(ctx context.Context, j *write.Attempt) (got Intervention, err error) {
	if c.Hooks.Workspace != nil {
		known := hook(ctx, c, "Workspace", c.Hooks.Workspace)
		known.Plan, known.Todo = cmp.Or(known.Plan, j.Material.Plan), cmp.Or(known.Todo, j.Material.Todo)
		j.Material.Workspace = known
	}
	if c.Hooks.BeforeCompact != nil {
		occasion, whole := policy.Occasion(j.Plan.Occasion), j.Whole() // now, because a hook that is left behind must not read the attempt
		got = hook(ctx, c, "BeforeCompact", func(ctx context.Context) (Intervention, error) {
			return c.Hooks.BeforeCompact(ctx, occasion, whole)
		})
		if data := got.Data; len(data) > 0 && !json.Valid(data) {
			err := errors.New("summarize: Intervention.Data is not JSON, and is left out")
			c.emit(ctx, event.Event{Kind: event.HookFailed, Function: "BeforeCompact", Err: err})
			got.Data = nil
		}
		j.Material.Context, j.Data = got.Context, got.Data
	}
	if ctx.Err() != nil {
		return got, context.Cause(ctx)
	}
	if got.Cancel {
		return got, ErrVetoed
	}
	return got, nil
}
