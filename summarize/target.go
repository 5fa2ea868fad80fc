package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/counters"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/write"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Target is a model and the limits of its requests. It is the same type as [policy.Target], so that who uses a ready policy
// imports no more than this package.
type Target = policy.Target

// checkTarget returns an error if a field that the agent's target needs is missing or out of range.
func checkTarget(t policy.Target) error {
	switch {
	case t.Model == nil:
		return fmt.Errorf("summarize: Target.Model is not set: set the agent's model, or a models.Offline, which needs no network but writes summaries only")
	case t.Tokenizer == nil:
		return fmt.Errorf("summarize: Target.Tokenizer is not set: %w", render.ErrNoTokenizer)
	case t.Budget < 1:
		return worded.Errorf(render.ErrBudget, "summarize: Target.Budget is out of range: %d tokens: it must be 1 or more; sizing.Window.Budget computes it", t.Budget)
	case t.ContextWindow < 0:
		return fmt.Errorf("summarize: Target.ContextWindow is %d: it must be 0 or more", t.ContextWindow)
	}
	if err := t.Prices.Validate(); err != nil {
		return fmt.Errorf("summarize: Target.Prices: %w", err)
	}
	return nil
}

// Generate asks a target's model as a [Compactor] does, and checks its behaviour. The error is a [*chat.CallbackError] if the model
// panics, ends its goroutine, has not returned a second after the context ended, or answers with anything but an
// assistant's message. Usage with a number below 0 or above 2³¹-1 counts as not reported.
//
// Request.Stream is called by one goroutine at a time, and not after Generate has returned. If it panics or ends its
// goroutine, the request ends with that error.
func Generate(ctx context.Context, t policy.Target, req chat.Request) (chat.Response, error) {
	return write.Generate(ctx, t, 0, req)
}

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

// MaterialOf returns what a compaction by hand needs besides the summary's words, and the point at which the rule cuts the
// session: what is covered and kept, what stood for it before, what the user said, the files, the pinned entries, and where
// the transcript is, with the tool of the target that reads it. Set its Summary, and pass it to a [policy.Replacement],
// such as prompts.ConversationSummary. Of the target, Tokenizer is needed; Tools and Budget are used if they are set.
// Errors are those of [history.Cut.Find], and of reading the session.
func MaterialOf(ctx context.Context, s *history.Session, cut history.Cut, t Target) (policy.Material, history.CutPoint, error) {
	return write.Material(ctx, s, cut, t)
}
