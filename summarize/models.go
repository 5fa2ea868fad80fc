package summarize

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/sizing"
)

// Candidate is a model that may be asked.
type Candidate struct {
	// Name of the model, in errors, and by which a [Cascade] knows that it was tried. "" is like no other.
	Name string
	// Model that is asked.
	Model chat.Model
	// Timeout of an answer. Defaults to none. It is the model that ends when its context does.
	Timeout time.Duration
}

// Cascade is a [chat.Model] that asks its candidates one after the other until one answers:
//
//	model := summarize.Cascade{
//		Candidates: []summarize.Candidate{
//			{Name: "small", Model: small, Timeout: 30 * time.Second},
//			{Name: "other", Model: other, Timeout: 30 * time.Second},
//		},
//		Last:   summarize.Candidate{Name: "large", Model: large, Timeout: 30 * time.Second},
//		Accept: summarize.Accept(summarize.AtLeast(30)),
//	}
//
// A candidate that panics has failed. Where all have, the error is a [*CandidatesError], without a response. Where the
// context ends nobody else is asked, the error is its cause, and the response what the candidate had said by then. What
// streams is held back until its candidate's answer is accepted, and comes in the same pieces then.
type Cascade struct {
	// Candidates in the order in which they are asked.
	Candidates []Candidate
	// Last is asked when all others have failed: the chat's own model, most often. It is not asked where its name is that
	// of one that was. Without a Model there is none.
	Last Candidate
	// Accept refuses an answer by an error, and the next candidate is asked; see the function [Accept]. Defaults to taking
	// every answer.
	Accept func(chat.Response) error
	// Next tells after which failures the next candidate is asked; [Transient] is one such rule. After any other nobody is,
	// and the error comes back with those before it. Defaults to all.
	Next func(error) bool
}

// Attempt is what became of asking a candidate.
type Attempt struct {
	Name string
	Err  error
}

// CandidatesError tells that no candidate gave an answer.
type CandidatesError struct {
	// Attempts in order. There are none where there was nobody to ask.
	Attempts []Attempt
}

func (e *CandidatesError) Error() string {
	if len(e.Attempts) == 0 {
		return "summarize: the cascade has no candidate with a model"
	}
	said := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		said[i] = fmt.Sprintf("%q: %v", a.Name, a.Err)
	}
	return "summarize: no model gave an answer: " + strings.Join(said, "; then ")
}

// Unwrap gives the candidates' errors.
func (e *CandidatesError) Unwrap() []error {
	list := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		list[i] = a.Err
	}
	return list
}

// Generate asks the candidates.
func (c Cascade) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	failed := &CandidatesError{}
	tried := map[string]bool{}
	for i := range len(c.Candidates) + 1 {
		candidate := c.Last
		if i < len(c.Candidates) {
			candidate = c.Candidates[i]
		}
		if candidate.Model == nil || tried[candidate.Name] && i == len(c.Candidates) {
			continue
		}
		tried[candidate.Name] = candidate.Name != ""
		response, err := candidate.ask(ctx, req, c.Accept)
		switch {
		case err == nil:
			return response, nil
		case ctx.Err() != nil:
			return response, context.Cause(ctx)
		}
		failed.Attempts = append(failed.Attempts, Attempt{candidate.Name, err})
		if c.Next != nil && !c.Next(err) {
			break
		}
	}
	return chat.Response{}, failed
}

// ask asks a candidate within its time. What streams is passed on when the answer is accepted, for the answer of another
// may take its place. With an error the response is what had arrived, also of an answer that is refused.
func (c Candidate) ask(ctx context.Context, req chat.Request, accept func(chat.Response) error) (chat.Response, error) {
	var streamed []chat.Delta
	stream := req.Stream
	if stream != nil {
		req.Stream = func(d chat.Delta) { streamed = append(streamed, d) }
	}
	response, err := Limit{Model: c.Model, Timeout: c.Timeout}.Generate(ctx, req)
	if err == nil && accept != nil {
		err = accept(response)
	}
	if err == nil {
		err = context.Cause(ctx) // an answer that came too late
	}
	if err != nil {
		return provider.Partial(response.Message, response.Usage), err
	}
	for _, d := range streamed {
		stream(d)
	}
	return response, nil
}

// Limit is a [chat.Model] that bounds what another may take.
type Limit struct {
	// Model that is asked.
	Model chat.Model
	// Timeout of an answer, after which the model's context ends and the error is a [*TimeoutError]. The response is what
	// had arrived by then. Defaults to none.
	Timeout time.Duration
	// MaxTokens of an answer: a request for more, or for as many as the model likes, asks for as many. Defaults to no
	// limit.
	MaxTokens int
	// Window is the most tokens that messages and tools take together, measured by Tokenizer. What is larger is a
	// [*chat.ContextLimitError] and not sent. Defaults to no limit.
	Window    int
	Tokenizer sizing.Tokenizer
}

// TimeoutError tells that a model did not answer in time. It is a [context.DeadlineExceeded].
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("the model gave no answer in %v", e.After) }

// Is tells that the error is one of a deadline.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// PanicError tells that a model panicked.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("the model panicked: %v", e.Value) }

// Generate asks the model within the limits. Its panic is a [*PanicError].
func (l Limit) Generate(ctx context.Context, req chat.Request) (response chat.Response, err error) {
	switch {
	case l.Model == nil:
		return chat.Response{}, errors.New("summarize: Limit.Model is not set")
	case l.Window > 0 && l.Tokenizer == nil:
		return chat.Response{}, errors.New("summarize: Limit.Window is set and Limit.Tokenizer is not")
	case l.Window > 0:
		tokens := l.Tokenizer.CountTools(req.Tools)
		for _, m := range req.Messages {
			tokens += l.Tokenizer.CountMessage(m)
		}
		if tokens > l.Window {
			return chat.Response{}, &chat.ContextLimitError{Limit: l.Window, Tokens: tokens}
		}
	}
	if l.MaxTokens > 0 && (req.MaxTokens <= 0 || req.MaxTokens > l.MaxTokens) {
		req.MaxTokens = l.MaxTokens
	}
	late := &TimeoutError{After: l.Timeout}
	limited := ctx
	if l.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, l.Timeout, late)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			response, err = chat.Response{}, &PanicError{Value: p}
		}
	}()
	response, err = l.Model.Generate(limited, req)
	if err != nil && context.Cause(limited) == error(late) {
		return response, late // whatever the model makes of it
	}
	return response, err
}

// Retry is a [chat.Model] that asks another again where its failure may pass: after a [*chat.TransientError], and no other.
// To ask other models when one keeps failing, as oh-my-pi does, put one around each candidate of a [Cascade].
//
// It waits Wait before the second attempt, twice as long before the third and so on, and at least as long as the provider
// asks. What asks to wait longer than MaxWait is given up at once, for any attempt before would be in vain: the error says
// how long it is. The error is that of the last attempt, and so is the response. A context that ends ends the wait, and the
// error is its cause. What streams is held back until an attempt succeeds.
type Retry struct {
	// Model that is asked.
	Model chat.Model
	// Attempts in all, 1 or more. Defaults to 4.
	Attempts int
	// Wait before the second attempt. Defaults to 2 seconds.
	Wait time.Duration
	// MaxWait is the longest wait. Defaults to 30 seconds.
	MaxWait time.Duration
}

// Generate asks the model.
func (r Retry) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	attempts, wait, most := r.Attempts, r.Wait, r.MaxWait
	if attempts <= 0 {
		attempts = 4
	}
	if wait <= 0 {
		wait = 2 * time.Second
	}
	if most <= 0 {
		most = 30 * time.Second
	}
	for n := 1; ; n++ {
		response, err := Candidate{Model: r.Model}.ask(ctx, req, nil)
		if ctx.Err() != nil {
			return response, context.Cause(ctx)
		}
		transient, ok := errors.AsType[*chat.TransientError](err)
		if !ok || n >= attempts || transient.RetryAfter > most {
			return response, err
		}
		wait = min(wait, most)
		if err := sleep(ctx, max(wait, transient.RetryAfter)); err != nil {
			return response, err
		}
		wait *= 2
	}
}

// sleep waits, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Transient tells that a failure may pass: a [*chat.TransientError], or a model that did not answer in time.
func Transient(err error) bool {
	_, transient := errors.AsType[*chat.TransientError](err)
	_, late := errors.AsType[*TimeoutError](err)
	return transient || late
}
