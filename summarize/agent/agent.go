// Package agent makes one request of an agent, with all around it, in one call:
//
//	steps := &agent.Agent{Compactor: compactor, Prompt: prompt}
//	for {
//		answer, err := steps.Step(ctx)
//		if err != nil {
//			return err
//		}
//		if len(answer.Message().ToolCalls) == 0 && !answer.GoOn {
//			return nil
//		}
//		for _, call := range answer.Message().ToolCalls {
//			if err := session.Append(ctx, run(ctx, call)); err != nil {
//				return err
//			}
//		}
//	}
//
// [Agent.Step] renders the prompt and compacts the session if it must, asks the model, waits if a failure may pass, recovers
// from a refusal of a request as too large, appends the answer with the usage that the provider reported, and does what the
// policy does after a turn. What the user says and what tools return is the caller's to append.
//
// A budget that changes from one step to the next, because a [sizing.Calibrated] counter learns, is set between steps by
// [summarize.Compactor.Retarget].
package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/retry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
)

// Agent makes requests for a session. Set the fields before the first step; one step is made at a time.
type Agent struct {
	// Compactor renders the prompt. Its target's model is asked, with its tools. The agent does not close it.
	Compactor *summarize.Compactor
	// Prompt that shows the session.
	Prompt elements.Node
	// MaxTokens of an answer. Defaults to the model's own limit.
	MaxTokens int
	// Temperature of sampling. Nil leaves the model's own.
	Temperature *float64
	// ToolChoice says whether the model may call tools. Defaults to [chat.ToolChoiceAuto].
	ToolChoice chat.ToolChoice
	// Stream, if set, is called with each piece of an answer as it arrives. An answer that failed in the middle and is asked
	// for again streams from its beginning again; OnRetry is called between the two.
	Stream func(chat.Delta)
	// Attempts of one request, and of a prompt that does not fit without a summary, if the failure may pass
	// ([*chat.TransientError]). Defaults to 4.
	Attempts int
	// Wait before the second attempt; it doubles with each further one, and is at least what the provider asks for. Defaults
	// to 2 seconds. MaxWait is the longest wait, and defaults to 30 seconds: a provider that asks for more is given up.
	Wait, MaxWait time.Duration
	// OnRetry, if set, is called before the wait for another attempt.
	OnRetry func(err error, wait time.Duration)
	// Observe, if set, is called with each request that was answered, such as [sizing.Calibrated.Observe].
	Observe func(chat.Request, chat.Response)
}

// Answer is what came of a step.
type Answer struct {
	// Response of the model; with an error, what had arrived by then.
	Response chat.Response
	// Result is the prompt that was answered, nil if none was rendered.
	Result *render.Result
	// Entry is the id of the answer's entry in the session, "" if it was not appended. With an error it is set if the context
	// ended during what the policy does after a turn.
	Entry string
	// Refusals is how often the request was made smaller because the provider found it too large.
	Refusals int
	// GoOn reports that the policy said something in the user's place after the turn, which the agent should answer.
	GoOn bool
}

// Message returns that of the response.
func (a Answer) Message() chat.Message { return a.Response.Message }

// Step makes one request and appends its answer. Calls that the model gave no id, or one of another call, have one as
// [chat.WithCallIDs] makes it, in the stream too. The errors are those of [summarize.Compactor.Render], of
// [summarize.Compactor.Recover], and the model's own; that of a cancelled context is its cause. With an error the answer
// holds what there is: of a stream that was cut off, what had arrived; of an answer that the session refused, all of it. A
// compaction after a turn that fails is told by events alone. An answer to what is no longer the newest that was said, because
// another process said something in the session meanwhile, is not appended: the error is a [*storage.ConflictError]. If the
// model, Stream, OnRetry or Observe panics, ends its goroutine, or has not returned a second after the context ended, the error
// is a [*summarize.CallbackError]; the answer that Observe was called with is not appended.
func (a *Agent) Step(ctx context.Context) (Answer, error) {
	var answer Answer
	switch {
	case a.Compactor == nil:
		return answer, errors.New("agent: Agent.Compactor is not set: set the compactor that renders the prompt")
	case a.Prompt == nil:
		return answer, errors.New("agent: Agent.Prompt is not set: set the prompt that shows the session")
	}
	said, err := newest(ctx, a.Compactor.Session)
	if err != nil {
		return answer, err
	}
	var refused error
	for {
		result, err := a.prompt(ctx, refused)
		if err != nil {
			return answer, err
		}
		answer.Result = result
		if answer.Response, refused = a.ask(ctx, result); refused == nil {
			break
		}
		_, wrong := errors.AsType[*summarize.CallbackError](refused)
		if ctx.Err() != nil && !wrong {
			return answer, context.Cause(ctx)
		}
		if _, large := summarize.ContextLimit(refused); !large || wrong {
			return answer, fmt.Errorf("agent: asking the model: %w", refused)
		}
		answer.Refusals++
	}
	usage := a.Compactor.Usage(answer.Result, answer.Response, "")
	entries := []history.Entry{{Body: history.Message{Message: answer.Response.Message}}}
	if usage.Usage != (chat.Usage{}) {
		entries = append(entries, history.Entry{Body: usage})
	}
	write, done := callback.Outlive(ctx) // what was answered is kept
	defer done()
	now, err := newest(write, a.Compactor.Session) // the compactor goes on from what others appended as it waits and writes
	if err == nil && now != said {
		err = &storage.ConflictError{}
	}
	var added []history.Entry
	if err == nil {
		added, err = a.Compactor.Session.Add(write, entries...)
	}
	if err != nil {
		return answer, fmt.Errorf("agent: appending the answer: %w", err)
	}
	answer.Entry = added[0].ID
	if len(answer.Response.Message.ToolCalls) > 0 {
		return answer, nil
	}
	if answer.GoOn, err = a.Compactor.AfterTurn(ctx, a.Prompt); err != nil && ctx.Err() != nil {
		return answer, context.Cause(ctx)
	}
	return answer, nil // a prompt that does not fit now is the next step's matter
}

// newest returns the id of what was said last on the path to the session's leaf, "" if nothing was.
func newest(ctx context.Context, s *history.Session) (string, error) {
	if s == nil {
		return "", nil // for the compactor to refuse
	}
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return "", err
		}
		switch e.Type() {
		case history.TypeMessage, history.TypeShell, history.TypeCustomMessage, history.TypeBranchSummary, history.TypeBranch:
			return e.ID, nil
		}
	}
	return "", nil
}

// prompt renders the prompt, and smaller than one that was refused. It tries again if what failed is a summary that the prompt
// needs, and the failure may pass.
func (a *Agent) prompt(ctx context.Context, refused error) (*render.Result, error) {
	return again(ctx, a, func() (*render.Result, error) {
		if err := refused; err != nil {
			refused = nil // what was learnt of it is in the session
			return a.Compactor.Recover(ctx, a.Prompt, err, "")
		}
		return a.Compactor.Render(ctx, a.Prompt)
	})
}

// ask sends a rendered prompt, again if its failure may pass.
func (a *Agent) ask(ctx context.Context, result *render.Result) (chat.Response, error) {
	target := a.Compactor.Current()
	tools := result.Tools
	if tools == nil { // they do not stand in the prompt
		tools = target.Tools
	}
	req := chat.Request{
		Messages: result.Messages, Tools: tools, ToolChoice: a.ToolChoice, MaxTokens: a.MaxTokens, Temperature: a.Temperature,
	}
	return again(ctx, a, func() (chat.Response, error) {
		var ids callIDs
		req.Stream = a.stream(&ids)
		response, err := target.Generate(ctx, req)
		ids.mu.Lock()
		response.Message.ToolCalls = ids.Calls(response.Message.ToolCalls)
		ids.mu.Unlock()
		if err == nil && a.Observe != nil {
			err = guard(ctx, "Agent.Observe", func() { a.Observe(req, response) })
		}
		return response, err
	})
}

// guard calls a function of the caller's.
func guard(ctx context.Context, name string, f func()) error {
	if err := callback.Do(ctx, func(context.Context) error { f(); return nil }); err != nil {
		return &summarize.CallbackError{Name: name, Err: err}
	}
	return nil
}

// callIDs are those of one request. A model may stream while it returns.
type callIDs struct {
	mu sync.Mutex
	chat.CallIDs
}

// stream returns Stream with the ids of calls, nil if it is not set.
func (a *Agent) stream(ids *callIDs) func(chat.Delta) {
	if a.Stream == nil {
		return nil
	}
	begun := 0 // calls
	return func(d chat.Delta) {
		if call, ok := d.(chat.CallDelta); ok && call.Index >= begun {
			begun = call.Index + 1
			ids.mu.Lock()
			call.ID = ids.Next(call.ID)
			ids.mu.Unlock()
			d = call
		}
		a.Stream(d)
	}
}

// again tries again what may pass.
func again[T any](ctx context.Context, a *Agent, f func() (T, error)) (T, error) {
	attempts := a.Attempts
	if attempts <= 0 {
		attempts = 4
	}
	var wrong error
	got, err := retry.Do(ctx, retry.Policy{Attempts: attempts, Wait: a.Wait, Most: a.MaxWait, Before: func(err error, wait time.Duration) bool {
		if a.OnRetry != nil {
			wrong = guard(ctx, "Agent.OnRetry", func() { a.OnRetry(err, wait) })
		}
		return wrong == nil
	}}, f)
	if wrong != nil {
		err = fmt.Errorf("%w (before another attempt after: %w)", wrong, err)
	}
	return got, err
}
