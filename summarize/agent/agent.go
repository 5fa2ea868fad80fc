// Package agent makes one step of an agent in one call: it renders the prompt, asks the model and appends the answer.
//
//	steps := &agent.Agent{Compactor: compactor, Prompt: prompt}
//	for {
//		answer, err := steps.Step(ctx)
//		if err != nil {
//			return err
//		}
//		if len(answer.Open) == 0 && !answer.GoOn {
//			return nil
//		}
//		for _, call := range answer.Open {
//			if err := session.Append(ctx, run(ctx, call)); err != nil {
//				return err
//			}
//		}
//	}
//
// [Agent.Step] does the following:
//
//   - It renders the prompt, and compacts the session if it must.
//   - It asks the model. After a transient failure it waits and tries again.
//   - If the provider refuses the request as too large, it asks again as [summarize.Compactor.Recover] says, with a
//     smaller request.
//   - It answers the calls of the tools of package recall, if it offers them ([Agent].Recall), and compacts when the model
//     asks for it ([Agent].Compact).
//   - It appends the answer, these results, and the usage that the provider reported.
//   - When the turn is over, it compacts the session if the policy says so.
//
// The caller appends what the user says and what other tools return.
//
// If the budget changes between steps, because a sizing.Calibrated counter learns, set it with
// [summarize.Compactor.Retarget].
//
// With Recall the model can read and search all that the session holds, also what its prompt no longer shows:
//
//	session, err := history.Open("session.jsonl", history.Options{Recall: true})
//	...
//	steps := &agent.Agent{Compactor: compactor, Prompt: prompt, Recall: &recall.Tools{}}
//
// A step costs a render, a request to a model and an append. A compaction costs one or more further requests; see
// package summarize.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	internal "github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/policy"
)

// ErrNothingSaid reports that a step was to be made on a session in which nothing was said.
var ErrNothingSaid = errors.New("agent: the session is empty: append what the user says before the step")

// Agent makes the steps of an agent on a session. Set the fields before the first step. Steps must not overlap.
type Agent struct {
	// Compactor renders the prompt. Its target has the model that is asked, and the tools. The agent does not close it.
	Compactor *summarize.Compactor
	// Prompt that shows the session. Defaults to the conversation alone, a [history.All] of the compactor's session.
	Prompt elements.Node
	// MaxTokens limits an answer. Defaults to the model's own limit.
	MaxTokens int
	// Temperature of sampling. Defaults to the model's own.
	Temperature *float64
	// ToolChoice says whether the model may call tools. Defaults to [chat.ToolChoiceAuto].
	ToolChoice chat.ToolChoice
	// Recall, if set, holds the tools by which the model reads and searches the session, which must have been opened with
	// [history.Options].Recall. They are declared with the target's tools, or with those of the prompt, and count towards
	// the budget. Their calls are answered by the step. Session defaults to the compactor's. MaxTokens defaults to an
	// eighth of the budget, and less if one answer of the model has more than two such calls. Off by default.
	Recall *recall.Tools
	// Compact, if set, is the tool by which the model asks for a compaction. It is declared like those of Recall, and its
	// calls are answered by the step. Off by default.
	Compact *CompactTool
	// Stream, if set, is called with each piece of an answer as it arrives. If an answer fails halfway and is requested
	// again, it streams from the start again; OnRetry is called in between.
	Stream func(chat.Delta)
	// Attempts limits how often a request is made, and how often a prompt is rendered that needs a summary to fit,
	// while the failure is transient ([*chat.TransientError]). Defaults to 4.
	Attempts int
	// Wait is the time before the second attempt. It doubles with each further attempt, and is at least the time that
	// the provider asks for. Defaults to 2 seconds. MaxWait is its upper limit; if a provider asks for more, the step
	// fails. Defaults to 30 seconds.
	Wait, MaxWait time.Duration
	// OnRetry, if set, is called before the wait for another attempt.
	OnRetry func(err error, wait time.Duration)
	// Observe, if set, is called after each answered request. The method Observe of a sizing.Calibrated fits here.
	Observe func(chat.Request, chat.Response)
}

// Answer holds the outcome of a step.
type Answer struct {
	// Response of the model. If Step returned an error, it holds the part that had arrived.
	Response chat.Response
	// Result is the rendered prompt, or nil if none was rendered.
	Result *render.Result
	// Entry is the id of the answer's entry in the session, or "" if the answer was not appended. It is set together
	// with an error only if the session could not be read for a call of [Agent].Recall or Compact, or if the context ended after
	// the append, in the work that follows a turn.
	Entry string
	// Open holds the calls that the caller answers: all but those of [Agent].Recall and Compact. Results holds the entries of the
	// results of those.
	Open    []chat.ToolCall
	Results []entry.Entry
	// Refusals is the number of times that the provider refused the request as too large.
	Refusals int
	// GoOn reports whether to make another step although no call is open, because the step has answered all calls, or
	// because the policy appended a message in the user's place after the turn.
	GoOn bool
}

// Message returns the response's message.
func (a Answer) Message() chat.Message { return a.Response.Message }

// Step makes one request and appends its answer. Calls without an id, or with the id of another call, get a new one as
// by [chat.WithCallIDs], in the stream too.
//
// The errors are those of [summarize.Compactor.Render], of [summarize.Compactor.Recover] and of the model. If the
// context ended, the error is its cause. With an error, the answer holds the part of an interrupted stream that had
// arrived, or the whole answer if the session refused it. If a compaction after the turn fails, only events say so.
//
// If another process appended a message to the session in the meantime, the answer is not appended, and the error is a
// [*storage.ConflictError].
//
// If the model, Stream, OnRetry or Observe panics, ends its goroutine, or has not returned a second after the context
// ended, the error is a [*policy.CallbackError]. If Observe fails like this, the answer is not appended.
func (a *Agent) Step(ctx context.Context) (answer Answer, err error) {
	defer func() {
		if a.Compactor != nil && a.Compactor.Session != nil {
			err = a.Compactor.Session.Redacted(ctx, err)
		}
	}()
	if a.Compactor == nil {
		return answer, errors.New("agent: Agent.Compactor is not set: set the compactor that renders the prompt")
	}
	before, err := newest(ctx, a.Compactor.Session)
	switch {
	case err != nil:
		return answer, err
	case before == "" && a.Compactor.Session != nil:
		return answer, ErrNothingSaid
	}
	prompt, err := a.offer(ctx)
	if err != nil {
		return answer, err
	}
	if a.Compact != nil {
		if _, err := a.compactTool().Run(ctx); err != nil {
			return answer, err
		}
	}
	var refused error
	for {
		result, err := a.render(ctx, prompt, refused)
		if refused != nil && errors.Is(err, refused) { // nothing was tried
			if _, tried := errors.AsType[*summarize.RecoveryError](err); !tried {
				return answer, fmt.Errorf("agent: asking the model: %w", refused)
			}
		}
		if err != nil {
			return answer, err
		}
		answer.Result = result
		if answer.Response, refused = a.ask(ctx, result); refused == nil {
			break
		}
		_, inCallback := errors.AsType[*policy.CallbackError](refused)
		if ctx.Err() != nil && !inCallback {
			return answer, context.Cause(ctx)
		}
		if !summarize.Recoverable(refused) || inCallback {
			return answer, fmt.Errorf("agent: asking the model: %w", refused)
		}
		answer.Refusals++
	}
	entries := []entry.Entry{
		{Body: entry.Message{Message: answer.Response.Message}},
		{Body: a.Compactor.Usage(answer.Result, answer.Response, "")},
	}
	results, failed := a.lookUp(ctx, &answer)
	entries = append(entries, results...)
	write, done := callback.Outlive(ctx) // append even if the context ends now
	defer done()
	// The session's own check finds no conflict if the compactor has written after the others' messages.
	after, err := newest(write, a.Compactor.Session)
	if err == nil && after != before {
		err = &storage.ConflictError{}
	}
	var added []entry.Entry
	if err == nil {
		added, err = a.Compactor.Session.Add(write, entries...)
	}
	if err != nil {
		return answer, fmt.Errorf("agent: appending the answer: %w", err)
	}
	answer.Entry, answer.Results = added[0].ID, added[2:]
	if len(answer.Response.Message.ToolCalls) > 0 {
		return answer, failed
	}
	if answer.GoOn, err = a.Compactor.AfterTurn(ctx, prompt); err != nil && ctx.Err() != nil {
		return answer, context.Cause(ctx)
	}
	return answer, nil // if the prompt does not fit now, the next step returns the error
}

// newest returns the id of the last message on the path to the session's leaf, or "" if there is none.
func newest(ctx context.Context, s *history.Session) (string, error) {
	if s == nil {
		return "", nil // the compactor returns the error
	}
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return "", err
		}
		switch e.Type() {
		case entry.TypeMessage, entry.TypeShell, entry.TypeCustomMessage, entry.TypeBranchSummary, entry.TypeBranch:
			return e.ID, nil
		}
	}
	return "", nil
}

// offered returns the tools that the step answers itself.
func (a *Agent) offered() []chat.Tool {
	var tools []chat.Tool
	if a.Recall != nil {
		tools = append(tools, a.Recall.Declared()...)
	}
	if a.Compact != nil {
		tools = append(tools, a.Compact.Declared()...)
	}
	return tools
}

// offer returns the prompt of a step in which the tools that it answers are declared: by the target, or by the prompt if
// the target has no tools.
func (a *Agent) offer(ctx context.Context) (elements.Node, error) {
	session, target, offered := a.Compactor.Session, a.Compactor.Current(), a.offered()
	prompt := a.Prompt
	if prompt == nil {
		prompt = history.All{Session: session}
	}
	switch {
	case len(offered) == 0 || session == nil || target.Tokenizer == nil: // the compactor returns the error
		return prompt, nil
	case a.Recall != nil && !session.Recall():
		return nil, fmt.Errorf("agent: Agent.Recall: %w", recall.ErrUnmarked)
	case slices.ContainsFunc(target.Tools, func(t chat.Tool) bool { return t.Name == offered[0].Name }):
		return prompt, nil
	}
	if len(target.Tools) == 0 {
		nodes := elements.Nodes{prompt}
		for _, tool := range offered {
			nodes = append(nodes, elements.Tool{Props: elements.Props{Required: true}, Tool: tool})
		}
		return nodes, nil
	}
	own := target.Tools
	target.Tools = append(slices.Clone(own), offered...)
	err := guard(ctx, internal.NameTokenizer, func() {
		target.Budget -= target.Tokenizer.CountTools(target.Tools) - target.Tokenizer.CountTools(own)
	})
	if err != nil {
		return nil, err
	}
	return prompt, a.Compactor.Retarget(ctx, target)
}

// compactTool returns the tool with the agent's compactor as default.
func (a *Agent) compactTool() CompactTool {
	tool := *a.Compact
	tool.Compactor = cmp.Or(tool.Compactor, a.Compactor)
	return tool
}

// lookUp returns the results of the calls that the step answers, and sets the other calls of the answer.
func (a *Agent) lookUp(ctx context.Context, answer *Answer) (results []entry.Entry, err error) {
	answer.Open = answer.Response.Message.ToolCalls
	if a.Recall == nil && a.Compact == nil || len(answer.Open) == 0 {
		return nil, nil
	}
	calls := answer.Open
	answer.Open = nil
	for _, call := range calls {
		result, ok, err := a.answer(ctx, call, answer.Result.Budget/max(8, 4*len(calls)))
		if err != nil {
			return results, fmt.Errorf("agent: answering a call of %s: %w", call.Name, err)
		}
		if ok {
			results = append(results, entry.Entry{Body: entry.Message{Message: result}})
		} else {
			answer.Open = append(answer.Open, call)
		}
	}
	answer.GoOn = len(answer.Open) == 0
	return results, nil
}

// answer returns the result of a call that the step answers, of at most this number of tokens unless Recall says
// otherwise, and false for another call.
func (a *Agent) answer(ctx context.Context, call chat.ToolCall, tokens int) (result chat.Message, ok bool, err error) {
	if a.Compact != nil {
		if result, ok, err = a.compactTool().Answer(ctx, call); ok || err != nil {
			return result, ok, err
		}
	}
	if a.Recall == nil {
		return result, false, nil
	}
	tools := *a.Recall
	if tools.Session == nil {
		tools.Session = a.Compactor.Session
	}
	if tools.MaxTokens == 0 {
		tools.MaxTokens, tools.Tokenizer = tokens, a.Compactor.Current().Tokenizer
	}
	var failed error
	err = guard(ctx, internal.NameTokenizer, func() { result, ok, failed = tools.Answer(ctx, call) })
	return result, ok, cmp.Or(err, failed)
}

// render renders the prompt, smaller than a refused one. It retries if the prompt needs a summary and making that fails
// transiently, and waits for a summary that is still being made, up to the time limit of a compaction.
func (a *Agent) render(ctx context.Context, prompt elements.Node, refused error) (*render.Result, error) {
	if refused != nil {
		return a.Compactor.Recover(ctx, prompt, refused, "")
	}
	return again(ctx, a, func() (*render.Result, error) { return a.Compactor.RenderOrWait(ctx, prompt) })
}

// ask sends a rendered prompt, and retries transient failures.
func (a *Agent) ask(ctx context.Context, result *render.Result) (chat.Response, error) {
	target := a.Compactor.Current()
	tools := result.Tools
	if tools == nil { // the prompt declares none
		tools = target.Tools
	}
	req := chat.Request{
		Messages: result.Messages, Tools: tools, ToolChoice: a.ToolChoice, MaxTokens: a.MaxTokens, Temperature: a.Temperature,
	}
	if err := chat.ValidateRequest(req); err != nil {
		return chat.Response{}, fmt.Errorf("the prompt cannot be sent: %w%s", err, a.hint(ctx, err))
	}
	return again(ctx, a, func() (chat.Response, error) {
		var ids callIDs
		req.Stream = a.stream(&ids)
		response, err := summarize.Generate(ctx, target, req)
		ids.mu.Lock()
		response.Message.ToolCalls = ids.Calls(response.Message.ToolCalls)
		ids.mu.Unlock()
		if err == nil && a.Observe != nil {
			err = guard(ctx, "Agent.Observe", func() { a.Observe(req, response) })
		}
		return response, err
	})
}

// guard calls a function of the caller. If it panics, ends its goroutine or does not return, the error names it.
func guard(ctx context.Context, name string, f func()) error {
	if err := callback.Do(ctx, func(context.Context) error { f(); return nil }); err != nil {
		return &policy.CallbackError{Name: name, Err: err}
	}
	return nil
}

// callIDs holds the call ids of one request. It has a lock because a model may still stream while it returns.
type callIDs struct {
	mu sync.Mutex
	chat.CallIDs
}

// stream returns Stream with ids set in calls, or nil if Stream is nil.
func (a *Agent) stream(ids *callIDs) func(chat.Delta) {
	if a.Stream == nil {
		return nil
	}
	started := 0 // number of calls so far
	return func(d chat.Delta) {
		if call, ok := d.(chat.CallDelta); ok && call.Index >= started {
			started = call.Index + 1
			ids.mu.Lock()
			call.ID = ids.Next(call.ID)
			ids.mu.Unlock()
			d = call
		}
		a.Stream(d)
	}
}

// hint says what to do if nothing is wrong with a request but that the assistant has spoken last, "" otherwise.
func (a *Agent) hint(ctx context.Context, err error) string {
	wrong, ok := errors.AsType[*chat.ValidationError](err)
	if !ok || len(wrong.Violations) > 1 || wrong.Violations[0].Rule != chat.RuleLast {
		return ""
	}
	view, err := a.Compactor.Session.View(ctx)
	if said := view.Messages(); err == nil && len(said) > 0 && said[len(said)-1].Role != chat.RoleAssistant {
		return ": place what follows the session in the prompt before it"
	}
	return ": append what the user says, which is not shown if it is blank, before the step"
}

// again calls f, and calls it again after transient failures.
func again[T any](ctx context.Context, a *Agent, f func() (T, error)) (T, error) {
	attempts := a.Attempts
	if attempts <= 0 {
		attempts = 4
	}
	var failedHook error
	got, err := retry.Do(ctx, retry.Policy{Attempts: attempts, Wait: a.Wait, Most: a.MaxWait, Before: func(err error, wait time.Duration) bool {
		if a.OnRetry != nil {
			failedHook = guard(ctx, "Agent.OnRetry", func() { a.OnRetry(err, wait) })
		}
		return failedHook == nil
	}}, f)
	if failedHook != nil {
		err = fmt.Errorf("%w (before another attempt after: %w)", failedHook, err)
	}
	return got, err
}
