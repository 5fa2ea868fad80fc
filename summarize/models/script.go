package models

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
)

// Script is a [chat.Model] that answers from a script and remembers its requests. It is for tests and demonstrations,
// and safe for concurrent use. The zero value fails at the first request.
type Script struct {
	// Steps answer the requests, one each, in order. Further requests fail.
	Steps []Reply

	mu       sync.Mutex
	requests []chat.Request
}

// Reply answers one request.
type Reply func(ctx context.Context, req chat.Request) (chat.Response, error)

// Say returns a step that answers with a text.
func Say(text string) Reply {
	return func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage(text)}, nil
	}
}

// SaySummary returns a step that answers with a summary, in the form that a compactor asks for.
func SaySummary(text string) Reply {
	return Say("<analysis>\nscripted\n</analysis>\n<summary>\n" + text + "\n</summary>")
}

// Fail returns a step that fails.
func Fail(err error) Reply {
	return func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{}, err }
}

// Generate implements [chat.Model]. It takes the next step.
func (s *Script) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	if n >= len(s.Steps) {
		return chat.Response{}, errors.New("models: the script is over")
	}
	return s.Steps[n](ctx, req)
}

// Requests returns a copy of the requests so far.
func (s *Script) Requests() []chat.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}
