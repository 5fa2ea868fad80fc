package summarize

import (
	"context"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render"
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
