package summarize

import (
	"context"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// CompactionResult is the result of a compaction that a user asked for.
type CompactionResult struct {
	// Result is the prompt after the compaction: the history alone if no prompt was rendered yet.
	Result *render.Result
	// MessagesRemoved and TokensRemoved are how many messages and tokens the prompt lost.
	MessagesRemoved, TokensRemoved int
}

// Compact compacts the session because a user asked for it, however much of the context window is used. The
// instructions go to the model that summarises; "" means none. The last prompt that was rendered must fit afterwards. If
// none was rendered yet, as after a [*render.BudgetExceededError], the history alone is measured, and
// half of the budget is left for what stands beside it, if the newest round allows that. A summary that is ready or
// being made in the background is used, unless there are instructions, which it would lack.
//
// The error is [ErrBusy] if another compaction is being made, and [ErrNothingToCompact] if there is nothing to summarise or the session shows fewer messages than the policy's
// condition needs. The context, [Compactor.Abort] and Close end the compaction.
func (c *Compactor) Compact(ctx context.Context, instructions string) (CompactionResult, error) {
	return c.demanded(ctx, policy.OnDemand, instructions)
}

// MemoryPressure compacts the session because the application is short of memory. The error is [ErrNotAsked] if the
// policy does not compact then.
func (c *Compactor) MemoryPressure(ctx context.Context) (CompactionResult, error) {
	return c.demanded(ctx, policy.OnMemoryPressure, "")
}

// Demand returns the numbers by which [Compactor.Compact] would decide now: [policy.Measurement.Relief] is what it would
// save at least. The error is [ErrBusy], as of Compact.
func (c *Compactor) Demand(ctx context.Context) (policy.Measurement, error) {
	w, ctx, err := c.onDemand(ctx, policy.OnDemand)
	if err != nil {
		return policy.Measurement{}, err
	}
	defer w.release()
	now, err := w.measure(ctx, policy.OnDemand)
	if err != nil {
		return policy.Measurement{}, err
	}
	return now.Measurement, nil
}

// onDemand returns a walker of the last prompt, or of the history alone if there is none, which the caller releases.
func (c *Compactor) onDemand(ctx context.Context, on policy.Occasion) (*walker, context.Context, error) {
	w, ctx, err := c.begin(ctx, nil)
	if err != nil {
		return nil, ctx, err
	}
	c.inner.mu.Lock()
	w.prompt = c.inner.prompt
	c.inner.mu.Unlock()
	if w.prompt == nil {
		w.prompt, w.alone = history.All{Session: c.Session}, true
	}
	if len(w.policy.Trigger.For(on)) == 0 {
		if on != policy.OnDemand {
			return nil, ctx, ErrNotAsked
		}
		w.policy.Trigger = append(policy.Trigger{{On: policy.OnDemand}}, w.policy.Trigger...)
	}
	if !w.tryAcquire() {
		return nil, ctx, ErrBusy
	}
	return w, ctx, nil
}

func (c *Compactor) demanded(ctx context.Context, on policy.Occasion, instructions string) (CompactionResult, error) {
	w, ctx, err := c.onDemand(ctx, on)
	if err != nil {
		return CompactionResult{}, err
	}
	defer w.release()
	if on == policy.OnDemand && c.Hooks.Interrupt != nil {
		hook(ctx, c, "Interrupt", noResult(c.Hooks.Interrupt))
	}
	return w.demanded(ctx, on, instructions)
}

func (w *walker) demanded(ctx context.Context, on policy.Occasion, instructions string) (CompactionResult, error) {
	c := w.c
	w.instructions, w.waited = instructions, true
	before, err := w.measure(ctx, on)
	if err != nil {
		return CompactionResult{}, err
	}
	if instructions == "" && (before.Pending == policy.PendingRunning || before.Pending == policy.PendingReady) {
		if err := c.Wait(ctx); err != nil {
			return CompactionResult{}, err
		}
		placed, err := w.settle(ctx, before, true, false)
		if err != nil && ctx.Err() != nil {
			return CompactionResult{}, err
		}
		if placed {
			return w.compacted(ctx, before, on)
		}
	} else if err := c.abandon(ctx); err != nil {
		return CompactionResult{}, err
	}
	now, err := w.measure(ctx, on)
	if err != nil {
		return CompactionResult{}, err
	}
	d := w.policy.Decide(now.Measurement)
	switch {
	case now.Pending != policy.PendingNone:
		return CompactionResult{}, ErrBusy
	case d.Held < 0:
		w.explain(ctx, d, outcomeNothing, nil)
		// A walk on demand has a condition for it.
		first := slices.IndexFunc(d.Findings, func(f policy.Finding) bool { return len(policy.Trigger{f.Condition}.For(on)) > 0 })
		return CompactionResult{}, fmt.Errorf("%w: %s", ErrNothingToCompact, d.Findings[first].Why)
	}
	if err := now.Shown.CheckSummaries(); err != nil {
		return CompactionResult{}, err
	}
	w.owns = true
	if err := w.compact(ctx, now, d); err != nil {
		w.explain(ctx, d, outcomeOfError(err), err)
		if ctx.Err() != nil {
			return CompactionResult{}, guard.EndCause(ctx, err)
		}
		return CompactionResult{}, err
	}
	w.explain(ctx, d, outcomePlaced, nil)
	return w.compacted(ctx, before, on)
}

// compacted returns the result of a compaction.
func (w *walker) compacted(ctx context.Context, before *plan.Rendered, on policy.Occasion) (CompactionResult, error) {
	after, err := w.measure(ctx, on)
	if err != nil {
		return CompactionResult{}, err
	}
	if after.Result == nil {
		return CompactionResult{}, after.Failure()
	}
	return CompactionResult{
		Result: w.recordSent(ctx, after), TokensRemoved: before.PromptTokens() - after.Result.Tokens,
		MessagesRemoved: len(before.PromptMessages()) - len(after.Result.Messages),
	}, nil
}

// SwitchModel changes to another model. If the prompt is too large for it and the policy says so, the model that
// answered so far compacts the session first. From then on prompts are made for the new model, and the session records
// the change ([entry.ModelChange]). If the compaction fails, the error says why and nothing changes: keep the old
// model, or call [Compactor.Retarget].
func (c *Compactor) SwitchModel(ctx context.Context, prompt elements.Node, target policy.Target) (*render.Result, error) {
	w, ctx, err := c.begin(ctx, prompt)
	if err != nil {
		return nil, err
	}
	if err := checkTarget(target); err != nil {
		return nil, err
	}
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	defer w.release()
	if err := c.abandonFor(ctx, target); err != nil { // the prompt would wait for it
		return nil, err
	}
	was := w.target
	w.summarizer, w.target = &was, target
	result, err := w.walk(ctx, policy.OnModelSwitch)
	if err != nil {
		return nil, err
	}
	return result, c.retarget(ctx, target)
}

// Retarget makes prompts for another target from now on, without a compaction: another model, or the same model with
// another budget or other tools.
func (c *Compactor) Retarget(ctx context.Context, target policy.Target) error {
	if err := checkTarget(target); err != nil {
		return err
	}
	c.init()
	return c.retarget(ctx, target)
}

func (c *Compactor) retarget(ctx context.Context, target policy.Target) error {
	if c.Current().Name != target.Name && c.Session != nil && !c.Session.ReadOnly() {
		if _, err := c.journal().Write(ctx, entry.ModelChange{Model: target.Name}); err != nil {
			return err
		}
	}
	if err := c.abandonFor(ctx, target); err != nil {
		return err
	}
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	c.inner.target = &target
	return nil
}

// abandonFor throws the pending summary away if it may not be used for a target.
func (c *Compactor) abandonFor(ctx context.Context, target policy.Target) error {
	if !c.Policy.Background.PerModel || c.Current().Name == target.Name {
		return nil
	}
	return c.abandon(ctx)
}

// AfterTurn checks the policy's conditions once the agent has finished, as the next Render would, so that a compaction
// is made while the user reads. If the session was compacted and [policy.Policy.Continue] is set, AfterTurn adds that text to
// the session in the user's place, and goOn reports that the agent should go on.
func (c *Compactor) AfterTurn(ctx context.Context, prompt elements.Node) (goOn bool, err error) {
	w, ctx, err := c.begin(ctx, prompt)
	if err != nil {
		return false, err
	}
	defer w.release()
	w.afterTurn, w.waited = true, true // nobody sends the prompt, so it waits for no summary but its own
	if _, err := w.walk(ctx, policy.OnRender); err != nil {
		return false, err
	}
	if !w.succeeded || c.Policy.Continue == "" {
		return false, nil
	}
	view, err := c.Session.View(ctx)
	if err != nil {
		return false, err
	}
	messages := view.Messages()
	if len(messages) == 0 || messages[len(messages)-1].Role != chat.RoleAssistant {
		return false, nil // the agent has not finished
	}
	_, err = c.journal().Write(ctx, entry.CustomMessage{Name: "continue", Content: chat.Parts{chat.Text(c.Policy.Continue)}})
	return err == nil, err
}
