package summarize

import (
	"context"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
)

// Compacted says what a compaction that was asked for came to.
type Compacted struct {
	// Result is the prompt after it.
	Result *render.Result
	// MessagesRemoved and TokensRemoved are what the prompt has less.
	MessagesRemoved, TokensRemoved int
}

// Compact compacts the session because somebody asked for it, whatever is used. The instructions go to the model that
// summarises; "" gives none. The prompt that was rendered last is what it must fit into; without one the error is
// [ErrNoPrompt]. While another compaction is being made the error is [ErrBusy], but a summary that is ready or made in the
// background is used, unless there are instructions, which it would lack. If the policy asks for more messages, or there is
// nothing to summarise, the error is [ErrNothingToCompact]. It ends with its context, by [Compactor.Abort] and by Close.
func (c *Compactor) Compact(ctx context.Context, instructions string) (Compacted, error) {
	return c.demanded(ctx, OnDemand, instructions)
}

// MemoryPressure compacts the session if the policy does so when the application is short of memory; else the error is
// [ErrNotAsked].
func (c *Compactor) MemoryPressure(ctx context.Context) (Compacted, error) {
	return c.demanded(ctx, OnMemoryPressure, "")
}

func (c *Compactor) demanded(ctx context.Context, on Occasion, instructions string) (Compacted, error) {
	w, err := c.begin(ctx, nil)
	if err != nil {
		return Compacted{}, err
	}
	c.inner.mu.Lock()
	w.prompt = c.inner.prompt
	c.inner.mu.Unlock()
	if w.prompt == nil {
		return Compacted{}, ErrNoPrompt
	}
	if len(w.policy.Trigger.For(on)) == 0 {
		if on != OnDemand {
			return Compacted{}, ErrNotAsked
		}
		w.policy.Trigger = append(Trigger{{On: OnDemand}}, w.policy.Trigger...)
	}
	if !w.tryTake() {
		return Compacted{}, ErrBusy
	}
	defer w.release()
	if on == OnDemand && c.Hooks.Interrupt != nil {
		hook(ctx, c.Hooks, c.tell, "Interrupt", none(c.Hooks.Interrupt))
	}
	w.instructions, w.waited = instructions, true
	before, err := w.measure(on)
	if err != nil {
		return Compacted{}, err
	}
	if instructions == "" && (before.Pending == PendingRunning || before.Pending == PendingReady) {
		if err := c.Wait(ctx); err != nil {
			return Compacted{}, err
		}
		placed, err := w.settle(before, true)
		if err != nil && ctx.Err() != nil {
			return Compacted{}, err
		}
		if placed {
			return w.compacted(before, on)
		}
	} else if err := c.carrier().abandon(ctx, &c.inner.work); err != nil {
		return Compacted{}, err
	}
	now, err := w.measure(on)
	if err != nil {
		return Compacted{}, err
	}
	d := w.policy.Decide(now.Measurement)
	switch {
	case now.Pending != PendingNone:
		return Compacted{}, ErrBusy
	case d.Held < 0:
		w.explain(d, OutcomeNothing, nil)
		why := "no condition holds"
		for _, f := range d.Findings {
			if f.Condition.occasion() == on {
				why = f.Why
				break
			}
		}
		return Compacted{}, fmt.Errorf("%w: %s", ErrNothingToCompact, why)
	}
	if err := w.compact(now, d); err != nil {
		w.explain(d, outcomeOfError(err), err)
		if ctx.Err() != nil {
			return Compacted{}, ended(ctx, err)
		}
		return Compacted{}, err
	}
	w.explain(d, OutcomePlaced, nil)
	return w.compacted(before, on)
}

// compacted says what a compaction came to.
func (w *walker) compacted(before *measured, on Occasion) (Compacted, error) {
	after, err := w.measure(on)
	if err != nil {
		return Compacted{}, err
	}
	if after.result == nil {
		return Compacted{}, after.failure()
	}
	return Compacted{
		Result: w.sent(after), TokensRemoved: before.tokens() - after.result.Tokens,
		MessagesRemoved: len(before.messages()) - len(after.result.Messages),
	}, nil
}

// SwitchModel prepares for another model. If the policy says so and the prompt is too large for it, the session is compacted
// first, by the model that answered so far; from then on prompts are made for the new one, which the session is told
// ([history.ModelChange]). If that fails the error says why, and nothing changed: the application may stay with its model,
// or call [Compactor.Retarget].
func (c *Compactor) SwitchModel(ctx context.Context, prompt elements.Node, target Target) (*render.Result, error) {
	w, err := c.begin(ctx, prompt)
	if err != nil {
		return nil, err
	}
	if err := target.check(); err != nil {
		return nil, err
	}
	if err := w.take(); err != nil {
		return nil, err
	}
	defer w.release()
	was := w.target
	w.asks, w.target = &was, target
	result, err := w.walk(OnModelSwitch)
	if err != nil {
		return nil, err
	}
	return result, c.retarget(ctx, target)
}

// Retarget makes prompts for another model from now on, without a compaction. It is for a model that changed, too: a budget
// that was worked out anew, other tools.
func (c *Compactor) Retarget(ctx context.Context, target Target) error {
	if err := target.check(); err != nil {
		return err
	}
	c.init()
	return c.retarget(ctx, target)
}

func (c *Compactor) retarget(ctx context.Context, target Target) error {
	if c.Current().Name != target.Name && c.Session != nil && !c.Session.ReadOnly() {
		if _, err := c.Session.Add(ctx, history.Entry{Body: history.ModelChange{Model: target.Name}}); err != nil {
			return err
		}
	}
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	c.inner.target = &target
	return nil
}

// AfterTurn looks at the policy's conditions once the agent has finished, as the next Render would, so that a compaction is
// made while the user reads. If one was made and the policy says how to go on ([Policy.Continue]), that is added to the
// session in the user's place, and goOn reports that the agent should.
func (c *Compactor) AfterTurn(ctx context.Context, prompt elements.Node) (goOn bool, err error) {
	w, err := c.begin(ctx, prompt)
	if err != nil {
		return false, err
	}
	defer w.release()
	w.unsent = true
	if _, err := w.walk(OnRender); err != nil {
		return false, err
	}
	if !w.made || c.Policy.Continue == "" {
		return false, nil
	}
	view, err := c.Session.View(ctx)
	if err != nil {
		return false, err
	}
	messages := view.Messages()
	if len(messages) == 0 || messages[len(messages)-1].Role != chat.RoleAssistant {
		return false, nil // the agent is not done
	}
	_, err = c.Session.Add(ctx, history.Entry{Body: history.CustomMessage{Name: "continue", Content: chat.Parts{chat.Text(c.Policy.Continue)}}})
	return err == nil, err
}

// Reported takes in that the provider, or a remote agent, compacted by itself. Nothing of the session changes.
func (c *Compactor) Reported(ctx context.Context, e Event) {
	c.init()
	e.Kind = EventReported
	c.tell(ctx, e)
}
