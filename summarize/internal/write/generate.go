package write

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Generate asks a model, for at most limit; 0 means no limit.
func Generate(ctx context.Context, t policy.Target, limit time.Duration, req chat.Request) (chat.Response, error) {
	name := "the model"
	if t.Name != "" {
		name = "model " + t.Name
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &stream{to: req.Stream, cancel: cancel}
	if s.to != nil {
		req.Stream = s.pass
	}
	response, err := guard.Call(ctx, name, limit, func(ctx context.Context) (chat.Response, error) {
		r, err := t.Model.Generate(ctx, req)
		if err == nil {
			err = checkAnswer(name, r)
		}
		u := r.Usage
		numbers := []int{u.Input, u.Prompt, u.Output, u.CacheRead, u.CacheWrite, u.CacheWriteLong}
		if slices.Min(numbers) < 0 || slices.Max(numbers) > math.MaxInt32 {
			r.Usage = chat.Usage{}
		}
		return r, err
	})
	return response, s.end(err)
}

// The bytes of an answer that is not too long: for each token that was asked for, and in addition. No text has so many for
// a token.
const perToken, more = 16, 16 << 10

var errEndless = &policy.SummaryError{Reason: "it is far longer than was asked for"}

// bounded asks a model as [Generate] does, and ends the request with [errEndless] once the answer, with what the model
// thinks, is far longer than MaxTokens allows, while it streams.
func bounded(ctx context.Context, t policy.Target, limit time.Duration, req chat.Request) (chat.Response, error) {
	most := clamp.Sum(perToken*min(req.MaxTokens, math.MaxInt32/perToken), more)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	length := 0
	req.Stream = func(d chat.Delta) {
		switch d := d.(type) {
		case chat.Text:
			length += len(d)
		case chat.Thinking:
			length += len(d.Text)
		case chat.CallDelta:
			length += len(d.Arguments)
		}
		if length > most {
			cancel(errEndless)
		}
	}
	response, err := Generate(ctx, t, limit, req)
	if context.Cause(ctx) == errEndless || err == nil && len(response.Message.Text()) > most {
		err = errEndless
	}
	return response, err
}

// checkAnswer returns an error for a response that is not a valid message of an assistant.
func checkAnswer(name string, r chat.Response) error {
	if r.Message.Role != chat.RoleAssistant {
		return guard.Failed(name, fmt.Errorf("it answered with a message of the role %q, not %q", r.Message.Role, chat.RoleAssistant))
	}
	if i := slices.Index(r.Message.Content, nil); i >= 0 {
		return guard.Failed(name, fmt.Errorf("part %d of its answer is nil", i))
	}
	if i := slices.IndexFunc(r.Message.ToolCalls, func(c chat.ToolCall) bool { return c.Name == "" }); i >= 0 {
		return guard.Failed(name, fmt.Errorf("tool call %d of its answer has no name", i))
	}
	return nil
}

// stream passes the deltas of an answer on until the request ends.
type stream struct {
	to     func(chat.Delta)
	cancel context.CancelCauseFunc // of the request

	calling sync.Mutex // held while to is called
	mu      sync.Mutex // guards the fields below
	running bool
	closed  bool
	failed  error
}

func (s *stream) pass(d chat.Delta) {
	s.calling.Lock()
	defer s.calling.Unlock()
	s.mu.Lock()
	s.running = !s.closed
	s.mu.Unlock()
	if !s.running {
		return
	}
	failed := callback.ErrExited
	defer func() {
		if p := recover(); p != nil {
			failed = callback.Panicked(p)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running = false; failed != nil {
			s.closed, s.failed = true, guard.Failed(guard.NameStream, failed)
			s.cancel(s.failed)
		}
	}()
	s.to(d)
	failed = nil
}

// end ends the stream with the request, and returns the error of either.
func (s *stream) end(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.failed != nil {
		return s.failed
	}
	if named, ok := err.(*chat.CallbackError); ok && s.running { // the model waits for the stream
		if left, ok := named.Err.(*callback.LeftError); ok {
			return guard.Failed(guard.NameStream, left)
		}
	}
	return err
}
