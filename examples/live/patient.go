package main

import (
	"context"
	"errors"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// patient asks a model again where that may help: after a rate limit, an overload, a lost connection.
type patient struct {
	chat.Model
	// waits is told how long it waits, and why.
	waits func(time.Duration, error)
}

// How often a request is sent, and how long is waited between: twice as long each time where the provider does not say,
// and never longer than a person would.
const (
	patientTries   = 4
	patientDelay   = 2 * time.Second
	patientLongest = time.Minute
)

// Generate asks the model. What an answer that broke off had streamed is streamed again with the next.
func (p patient) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	delay := patientDelay
	for try := 1; ; try++ {
		response, err := p.Model.Generate(ctx, req)
		passing, ok := errors.AsType[*chat.TransientError](err)
		if !ok || try == patientTries || passing.RetryAfter > patientLongest {
			return response, err
		}
		wait := max(delay, passing.RetryAfter)
		delay *= 2
		p.waits(wait, passing.Err)
		select {
		case <-ctx.Done():
			return response, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}
