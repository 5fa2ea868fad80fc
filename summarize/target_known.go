package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/counters"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// DefaultAnswer is how many tokens of the window [TargetOf] keeps for an answer, or a quarter of a smaller window.
const DefaultAnswer = 8192

// TargetOptions are what [TargetOf] cannot find by a model's name.
type TargetOptions struct {
	// Window of the model, in tokens, if you know better than the table. Defaults to the table's.
	Window int
	// Ask has the model's own API asked for its window, if the model has a method Window(context.Context) (int, error), as
	// those of render/anthropic and render/gemini have. Off by default: then nothing is sent.
	Ask bool
	// Answer is how many tokens of the window are kept for an answer, thinking included. Defaults to [DefaultAnswer].
	Answer int
	// Tools of the agent.
	Tools []chat.Tool
	// Table of models. Defaults to [modelinfo.Published].
	Table *modelinfo.Table
	// Counter of the model's tokens. Defaults to that of [counters.For]. If it is calibrated, the target counts with its
	// margin, and it learns from each answer of an agent.
	Counter counters.Counter
}

// TargetOf returns the target of a model by its name: window, budget, tokenizer and prices, as far as they are known.
// What of it is guessed or differs is in its Notes, of which a compactor's observers hear once ([event.Noted]).
//
// If neither the options, the API nor the table know the window, the error is [sizing.ErrUnknownWindow]: a window is not
// assumed.
func TargetOf(ctx context.Context, model chat.Model, name string, o TargetOptions) (policy.Target, error) {
	t := policy.Target{Model: model, Name: name, Tools: o.Tools}
	note := func(format string, args ...any) { t.Notes = append(t.Notes, fmt.Sprintf(format, args...)) }
	known, err := o.Table.Find(name)
	switch {
	case err != nil:
		note("the model %q is not known: it has no prices", name)
	case known.Guessed():
		note("%s: a window of %d tokens, and no prices", known, known.Window)
	case known.Prices == nil:
		note("the prices of %s are not known", known)
	default:
		t.Prices = *known.Prices
	}
	var refused error
	if o.Window == 0 && o.Ask {
		refused = errors.New("the model has no method Window")
		if asks, ok := model.(interface {
			Window(context.Context) (int, error)
		}); ok {
			o.Window, refused = asks.Window(ctx)
		}
		if refused != nil {
			if ctx.Err() != nil {
				return t, refused
			}
			note("the API does not say what window %s has: %v", name, refused)
		}
		if o.Window > 0 && known.Window > 0 && o.Window != known.Window && o.Window != known.Input {
			note("the API says that %s has a window of %d tokens, and the table %d", name, o.Window, known.Window)
		}
	}
	if o.Counter.Tokenizer == nil {
		o.Counter = counters.For(name)
	}
	t.Tokenizer = o.Counter.Tokenizer
	if c := o.Counter.Calibrated; c != nil {
		t.Tokenizer = c.Safe()
	}
	window := known.With(o.Window)
	if window.Window == 0 {
		err = fmt.Errorf("summarize: the target of model %q: %w: set TargetOptions.Window", name, sizing.ErrUnknownWindow)
		if refused != nil {
			err = fmt.Errorf("%w; the API was asked: %w", err, refused)
		}
		return t, err
	}
	answer := cmp.Or(o.Answer, min(DefaultAnswer, window.Window/4))
	size := window.WindowFor(answer + o.Counter.Overhead)
	t.ContextWindow = size.Tokens
	if t.Budget, err = size.Budget(t.Tokenizer.CountTools(o.Tools)); err != nil {
		return t, fmt.Errorf("summarize: the target of model %q: %w", name, err)
	}
	return t, nil
}

// noted emits the notes of a target of which observers have not heard.
func (c *Compactor) noted(ctx context.Context, t policy.Target) {
	for _, text := range t.Notes {
		if _, heard := c.inner.noted.LoadOrStore(t.Name+"\n"+text, true); !heard {
			c.emit(ctx, event.Event{Kind: event.Noted, Asked: event.Asked{Model: t.Name}, Why: text})
		}
	}
}
