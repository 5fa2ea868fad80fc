package summarize

import (
	"context"
	"errors"
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
// [ErrNoPrompt]. While another compaction is being made the error is [ErrBusy], but what is made in the background gives
// way. Where the policy asks for more messages, or there is nothing to summarise, the error is [ErrNothingToCompact]. It
// ends with its context, by [Compactor.Abort] and by Close.
func (c *Compactor) Compact(ctx context.Context, instructions string) (Compacted, error) {
	return c.demanded(ctx, OnDemand, instructions)
}

// MemoryPressure compacts the session where the policy does so when the application is short of memory; else the error is
// [ErrNotAsked].
func (c *Compactor) MemoryPressure(ctx context.Context) (Compacted, error) {
	return c.demanded(ctx, OnMemoryPressure, "")
}

func (c *Compactor) demanded(ctx context.Context, on Occasion, instructions string) (Compacted, error) {
	if err := c.begin(nil); err != nil {
		return Compacted{}, err
	}
	c.mu.Lock()
	prompt := c.seen
	c.mu.Unlock()
	if prompt == nil {
		return Compacted{}, ErrNoPrompt
	}
	select {
	case c.turn <- struct{}{}:
	default:
		return Compacted{}, ErrBusy
	}
	defer c.giveTurn()
	if on == OnDemand && c.Hooks.Interrupt != nil {
		c.hook(ctx, "Interrupt", func() error { return c.Hooks.Interrupt(ctx) })
	}
	if err := c.giveWay(ctx); err != nil {
		return Compacted{}, err
	}
	at, err := c.look(ctx, prompt, on)
	if err != nil {
		return Compacted{}, err
	}
	e := c.trigger().For(on).Explain(at.moment)
	if len(c.trigger().For(on)) == 0 {
		if on != OnDemand {
			return Compacted{}, ErrNotAsked
		}
	} else if e.Held < 0 {
		return Compacted{}, fmt.Errorf("%w: %s", ErrNothingToCompact, e.Findings[0].Why)
	}
	result, err := c.compactNow(ctx, order{prompt: prompt, at: at, on: on, instructions: instructions})
	if err != nil {
		return Compacted{}, err
	}
	done := Compacted{Result: result, TokensRemoved: at.needed() - result.Tokens}
	done.MessagesRemoved = at.messages() - len(result.Messages)
	return done, nil
}

// giveWay ends what is made in the background, waits for it and throws it away.
func (c *Compactor) giveWay(ctx context.Context) error {
	c.mu.Lock()
	t := c.task
	c.mu.Unlock()
	if t == nil {
		return nil
	}
	c.Abort()
	select {
	case <-t.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.mu.Lock()
	ready := c.task == t
	if ready {
		c.task, c.state = nil, StateIdle
	}
	c.mu.Unlock()
	if ready {
		c.tell(ctx, t.order.event(EventDiscarded, t.job))
	}
	return nil
}

// Target is a model that is to answer from now on.
type Target struct {
	// Budget and Window as the compactor's. Window defaults to Budget and what the tools take.
	Budget, Window int
}

// SwitchModel prepares for a model with another window. Where the policy says so and the prompt is too large for it, the
// session is compacted first, by the model that answered so far; from then on prompts fit the new one. Where that fails the
// error says why, and nothing changed: the application may stay with its model, or call Resize.
func (c *Compactor) SwitchModel(ctx context.Context, prompt elements.Node, target Target) (*render.Result, error) {
	if err := c.begin(prompt); err != nil {
		return nil, err
	}
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer c.giveTurn()
	c.mu.Lock()
	was, learnt := c.resized, c.learnt
	c.mu.Unlock()
	c.Resize(target)
	back := func() {
		c.mu.Lock()
		c.resized, c.learnt = was, learnt
		c.mu.Unlock()
	}
	at, err := c.look(ctx, prompt, OnModelSwitch)
	if err != nil {
		back()
		return nil, err
	}
	e := c.trigger().For(OnModelSwitch).Explain(at.moment)
	if len(c.trigger().For(OnModelSwitch)) == 0 || e.Held < 0 && !at.exceeded() {
		if at.exceeded() {
			back()
		}
		return at.result, at.failure()
	}
	if err := c.giveWay(ctx); err != nil {
		back()
		return nil, err
	}
	result, err := c.compactNow(ctx, order{prompt: prompt, at: at, on: OnModelSwitch})
	if err != nil {
		at, lookErr := c.lookAgain(ctx, prompt, at, OnModelSwitch, err)
		if lookErr == nil && !at.exceeded() && ctx.Err() == nil {
			return at.result, nil
		}
		back()
		return nil, err
	}
	return result, nil
}

// Resize sets what prompts must fit from now on, without a compaction.
func (c *Compactor) Resize(target Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resized, c.learnt = &size{target.Budget, target.Window}, 0
}

// AfterTurn looks at the policy's conditions once the agent has finished, as the next Render would, so that a compaction is
// made while the user reads. Where one was made and the policy says how to go on ([Policy.Continue]), that is added to the
// session in the user's place, and goOn tells that the agent should.
func (c *Compactor) AfterTurn(ctx context.Context, prompt elements.Node) (goOn bool, err error) {
	if err := c.begin(prompt); err != nil {
		return false, err
	}
	made := false
	if _, err := c.rendered(ctx, prompt, OnRender, &made); err != nil {
		return false, err
	}
	if !made || c.Policy.Continue == "" {
		return false, nil
	}
	view, err := c.Session.View()
	if err != nil {
		return false, err
	}
	messages := view.Messages()
	if len(messages) == 0 || messages[len(messages)-1].Role != chat.RoleAssistant {
		return false, nil // the agent is not done
	}
	_, err = c.Session.Add(history.Entry{Body: history.CustomMessage{Name: "continue", Content: chat.Parts{chat.Text(c.Policy.Continue)}}})
	return err == nil, err
}

// Reported takes in that the provider, or a remote agent, compacted by itself. Nothing of the session changes.
func (c *Compactor) Reported(ctx context.Context, e Event) {
	c.init()
	e.Kind = EventReported
	c.tell(ctx, e)
}

var errNoAssistant = errors.New("summarize: the failed entry is not the assistant's message at the leaf")
