// Package agent runs an agent on a session: it renders the prompt, asks the model, answers its calls and appends what is
// said, until the model has finished.
//
//	read, err := agent.Tool("read_file", "Reads a file.", func(_ context.Context, f struct {
//		Path string `json:"path"`
//	}) (string, error) {
//		data, err := root.ReadFile(f.Path)
//		return string(data), err
//	})
//	...
//	worker := &agent.Agent{Compactor: compactor, System: "You answer questions about files.", Tools: []chat.Toolbox{read, recall.Tools{}}}
//	answer, err := worker.Run(ctx, question)
//
// [Agent.Run] appends what the user says and makes steps. After a crash, Run with an empty text goes on where the session
// ends. [Agent.Step] makes one step, for a loop of your own:
//
//   - It renders the prompt, and compacts the session if it must.
//   - It asks the model. After a transient failure it waits and tries again.
//   - If the provider refuses the request, for its size or for what it holds, it asks again as
//     [summarize.Compactor.Recover] says, with another request.
//   - It appends the answer, and the usage that the provider reported.
//   - It answers the calls of its toolboxes ([Agent].Tools), up to eight at once, and appends each result as it ends.
//   - When the turn is over, it compacts the session if the policy says so.
//
// # Tools
//
// A [chat.Toolbox] is a function ([Tool]), or one of recall.Tools, skills.Skills, tools.Deferred and
// [summarize.CompactTool], or a type of yours. What goes wrong in one becomes a failed result, which the model reads:
// an error, a panic, wrong arguments, no return within [Limits].Call. Results of parallel calls are shown in the order
// of the calls. The policy decides whether a large one is shown as a preview (policy.Clear.Preview,
// [history.PreviewRule]), and none takes more than half of the prompt ([history.RoundLimits]).
//
// Tools of the target that no toolbox has are the caller's, such as those that a person must allow first: Run returns
// their calls as [Answer].Open. Append their results, and Run again with an empty text. Append them before that after a
// restart too, because Run answers calls without a result as interrupted: [history.Round.Aborted] returns those of the
// last round of [history.Session.View].
//
// # Typed answers
//
// [Ask] runs the agent and returns its answer as a struct. What else is asked of each answer, such as effort, is the
// target's ([summarize.Target].Shape).
//
// # What a user says meanwhile
//
// A message that is appended while the model answers stands behind the answer and its results, and is answered next.
//
// # Counting
//
// If the target's tokenizer has a method Observe, as that of sizing.Calibrated has, it hears of each answer. If the budget
// changes between steps because it has learnt, set it with [summarize.Compactor.Retarget].
//
// A step costs a render, a request to a model and an append. A compaction costs one or more further requests; see
// package summarize.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	internal "github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/internal/toolbox"
	"github.com/promptree-go/promptree/summarize/policy"
)

// ErrNothingSaid reports that a step was to be made on a session in which nothing was said.
var ErrNothingSaid = errors.New("agent: the session is empty: append what the user says before the step")

// ErrCutOff reports that the calls of two answers in a row were cut off. The results of both say so.
var ErrCutOff = errors.New("agent: two answers in a row were cut off within or after their tool calls: raise Agent.MaxTokens")

// Agent makes the steps of an agent on a session. Set the fields before the first step. Steps must not overlap.
type Agent struct {
	// Compactor renders the prompt. Its target has the model that is asked, and its observers hear of what the agent does. The
	// agent does not close it.
	Compactor *summarize.Compactor
	// Prompt that shows the session. Defaults to System and the conversation, a [history.All] of the compactor's session.
	Prompt elements.Node
	// System prompt of an agent without Prompt. None by default.
	System string
	// Tools that the step declares, beside those of the target and of the prompt, and whose calls it answers. What they take
	// is taken from the target's budget, so that the request stays as large as it may be. A recall.Tools defaults to the
	// compactor's session, which must have been opened with [history.Options].Recall, and to answers of an eighth of the
	// budget, less if the model makes more than two calls at once. A [summarize.CompactTool] defaults to the compactor.
	Tools []chat.Toolbox
	// MaxTokens limits an answer. Defaults to the model's own limit.
	MaxTokens int
	// Temperature of sampling. Defaults to the model's own.
	Temperature *float64
	// Stream, if set, is called with each piece of an answer as it arrives. If an answer fails halfway and is requested
	// again, it streams from the start again; observers hear an event.Retrying in between.
	Stream func(chat.Delta)
	// OnStep, if set, is called after each step of [Agent.Run], when its calls are answered. An error ends the run.
	OnStep func(context.Context, Answer) error
	// Limits of a run and of a call.
	Limits Limits
	// Retry says how often a request is made that fails.
	Retry Retry

	boxes    *toolbox.Boxes
	declared []chat.Tool // of Tools, in the target now
	counted  []chat.Tool // the tools that were counted last
	model    string      // for which they were
	tokens   int         // of counted
	unpriced bool        // it was said that a price is not known
}

// Retry says how often a request is made, and how often a prompt is rendered that needs a summary to fit, while the failure
// is transient ([*chat.TransientError]). Observers hear an event.Retrying before each wait.
type Retry struct {
	// Attempts in all. Defaults to 4.
	Attempts int
	// Wait is the time before the second attempt. It doubles with each further attempt, and is at least the time that
	// the provider asks for. Defaults to 2 seconds. MaxWait is its upper limit; if a provider asks for more, the step
	// fails. Defaults to 30 seconds.
	Wait, MaxWait time.Duration
}

// Answer holds the outcome of a step.
type Answer struct {
	// Response of the model. If Step returned an error, it holds the part that had arrived.
	Response chat.Response
	// Result is the rendered prompt, or nil if none was rendered.
	Result *render.Result
	// Entry is the id of the answer's entry in the session, or "" if the answer was not appended. It is set together
	// with an error if the context ended, or the session failed, after the append.
	Entry string
	// Open holds the calls that the caller answers: all but those of [Agent].Tools. Results holds the entries of the results
	// of those, in the order in which they ended.
	Open    []chat.ToolCall
	Results []entry.Entry
	// Refusals is the number of times that the provider refused the request for its size or for what it holds.
	Refusals int
	// GoOn reports whether to make another step although no call is open: the step has answered all calls, the user said
	// something meanwhile, or the policy appended a message in the user's place after the turn.
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
// The calls of an answer that was cut off or filtered are not handed out: the step answers each with a failed result
// that says so, and GoOn is set. If the answer before it was one too, the error is [ErrCutOff] as well.
//
// An answer that says nothing ([*chat.EmptyError]) is asked for once more if that may help. If it says nothing again,
// the turn is over: no message is appended, the observers of the compactor hear of it (event.Empty), and the error is
// nil.
//
// What a user said meanwhile, in this process or another, is placed behind the answer ([history.Session.AddBehind]). If
// somebody else said something, the answer is not appended, and the error is a [*storage.ConflictError].
//
// If the model, Stream or the tokenizer panics, ends its goroutine, or has not returned a second after the context
// ended, the error is a [*chat.CallbackError].
func (a *Agent) Step(ctx context.Context) (answer Answer, err error) {
	defer func() {
		if a.Compactor != nil && a.Compactor.Session != nil {
			err = a.Compactor.Session.Redacted(ctx, err)
		}
	}()
	prompt, err := a.begin(ctx)
	if err != nil {
		return answer, err
	}
	shown, err := a.request(ctx, prompt, &answer)
	write, done := callback.Outlive(ctx) // append even if the context ends now
	defer done()
	if _, empty := errors.AsType[*chat.EmptyError](err); empty && ctx.Err() == nil {
		if err = a.wasEmpty(write, answer); err == nil {
			answer.GoOn, err = a.endTurn(ctx, prompt, shown)
		}
		return answer, err
	}
	if err != nil {
		return answer, err
	}
	added, err := a.place(write, shown, answer)
	if err != nil {
		return answer, fmt.Errorf("agent: appending the answer: %w", err)
	}
	answer.Entry = added.ID
	calls := answer.Response.Message.ToolCalls
	switch {
	case len(calls) == 0:
		answer.GoOn, err = a.endTurn(ctx, prompt, answer.Entry)
		return answer, err
	case cutOff(answer.Response):
		answer.Results, err = a.answerCut(write, added, calls)
	default:
		answer.Open, answer.Results, err = a.answerCalls(ctx, calls)
	}
	answer.GoOn = err == nil && len(answer.Open) == 0
	return answer, err
}

// begin returns the prompt of a step, once what comes before its request is done.
func (a *Agent) begin(ctx context.Context) (elements.Node, error) {
	if a.Compactor == nil {
		return nil, errors.New("agent: Agent.Compactor is not set: set the compactor that renders the prompt")
	}
	if s := a.Compactor.Session; s != nil { // else the compactor returns the error
		if said, err := s.SaidSince(ctx, ""); err != nil {
			return nil, err
		} else if !said {
			return nil, ErrNothingSaid
		}
	}
	prompt, err := a.offer(ctx)
	if err == nil {
		err = a.boxes.BeforeStep(ctx)
	}
	return prompt, err
}

// request renders the prompt and asks the model, with a smaller request each time one is refused as too large. It returns
// the session's leaf that the prompt shows.
func (a *Agent) request(ctx context.Context, prompt elements.Node, answer *Answer) (leaf string, err error) {
	var refused error
	for ; ; answer.Refusals++ {
		result, err := a.render(ctx, prompt, refused)
		if refused != nil && errors.Is(err, refused) { // nothing was tried
			if _, tried := errors.AsType[*summarize.RecoveryError](err); !tried {
				return leaf, fmt.Errorf("agent: asking the model: %w", refused)
			}
		}
		if err != nil {
			return leaf, err
		}
		answer.Result = result
		leaf = cmp.Or(a.Compactor.Shown(result), a.Compactor.Session.Leaf())
		if answer.Response, refused = a.ask(ctx, result); refused == nil {
			return leaf, nil
		}
		_, inCallback := errors.AsType[*chat.CallbackError](refused)
		switch {
		case ctx.Err() != nil && !inCallback:
			return leaf, context.Cause(ctx)
		case inCallback || !summarize.Recoverable(refused):
			return leaf, fmt.Errorf("agent: asking the model: %w", refused)
		}
	}
}

// wasEmpty reports an answer that says nothing, and appends its usage.
func (a *Agent) wasEmpty(ctx context.Context, answer Answer) error {
	usage := answer.Response.Usage
	a.Compactor.Emit(ctx, event.Event{Kind: event.Empty, Asked: event.Asked{Model: a.Compactor.Current().Name, Usage: usage}})
	if usage == (chat.Usage{}) {
		return nil
	}
	if _, err := a.Compactor.Session.Add(ctx, entry.Entry{Body: a.Compactor.Usage(answer.Result, answer.Response, "")}); err != nil {
		return fmt.Errorf("agent: appending the usage of an empty answer: %w", err)
	}
	return nil
}

// endTurn compacts after a turn if the policy says so, and reports whether there is more to answer: what was said since an
// entry, or what the policy says.
func (a *Agent) endTurn(ctx context.Context, prompt elements.Node, since string) (goOn bool, err error) {
	goOn, err = a.Compactor.AfterTurn(ctx, prompt)
	if err != nil && ctx.Err() != nil {
		return goOn, context.Cause(ctx)
	} // if the prompt does not fit now, the next step returns the error
	said, err := a.Compactor.Session.SaidSince(ctx, since)
	return goOn || said && err == nil, nil
}

// placing is how often something is added while other processes write.
const placing = 5

// place adds an answer and its usage behind the entry up to which the model was asked, and returns the answer's entry.
func (a *Agent) place(ctx context.Context, leaf string, answer Answer) (entry.Entry, error) {
	said := entry.Entry{Body: entry.Message{Message: answer.Response.Message}}
	usage := entry.Entry{Body: a.Compactor.Usage(answer.Result, answer.Response, "")}
	added, err := a.refreshed(ctx, func() ([]entry.Entry, error) { return a.Compactor.Session.AddBehind(ctx, leaf, said, usage) })
	if err != nil {
		return entry.Entry{}, err
	}
	return added[0], nil
}

// add adds messages, behind what other processes say meanwhile.
func (a *Agent) add(ctx context.Context, messages ...chat.Message) ([]entry.Entry, error) {
	entries := make([]entry.Entry, len(messages))
	for i, m := range messages {
		entries[i].Body = entry.Message{Message: m}
	}
	return a.refreshed(ctx, func() ([]entry.Entry, error) { return a.Compactor.Session.Add(ctx, entries...) })
}

// refreshed calls f, and calls it again once the session has read what other processes said.
func (a *Agent) refreshed(ctx context.Context, f func() ([]entry.Entry, error)) (added []entry.Entry, err error) {
	for range placing {
		added, err = f()
		if _, conflict := errors.AsType[*storage.ConflictError](err); !conflict || a.Compactor.Session.Refresh(ctx) != nil {
			break
		}
	}
	return added, err
}

// answerCalls has the toolboxes answer calls, and appends each result as it ends. It returns the calls that none of
// them has.
func (a *Agent) answerCalls(ctx context.Context, calls []chat.ToolCall) (open []chat.ToolCall, results []entry.Entry, err error) {
	write, done := callback.Outlive(ctx)
	defer done()
	open, err = a.boxes.AnswerAll(ctx, calls, func(call chat.ToolCall, result chat.Message) error {
		added, err := a.add(write, result)
		if err != nil && write.Err() == nil { // it may be the result that the session refuses
			added, err = a.add(write, chat.FailedResult(call.ID, "The result cannot be kept: "+err.Error()))
		}
		results = append(results, added...)
		if err != nil {
			return fmt.Errorf("agent: appending the result of a call of %s: %w", call.Name, err)
		}
		return nil
	})
	return open, results, err
}

// notRun is the result of each call of an answer that was cut off.
const notRun = "Not run: the answer was cut off before it was complete, so no tool call in it was run. Make the call again, in smaller parts if its arguments are long."

// cutOff reports whether the calls of an answer may be incomplete, or others missing.
func cutOff(r chat.Response) bool {
	return len(r.Message.ToolCalls) > 0 && (r.StopReason == chat.StopMaxTokens || r.StopReason == chat.StopFiltered)
}

// answerCut appends a failed result for each call of an answer that was cut off. The error is [ErrCutOff] if the message
// before the answer is such a result too.
func (a *Agent) answerCut(ctx context.Context, answer entry.Entry, calls []chat.ToolCall) ([]entry.Entry, error) {
	again := false
	for e, err := range a.Compactor.Session.Back(ctx, answer.Parent) {
		if err != nil {
			return nil, err
		}
		if m, is := e.Body.(entry.Message); is {
			again = m.Role == chat.RoleTool && m.Text() == notRun
			break
		}
	}
	var results []chat.Message
	for _, call := range calls {
		results = append(results, chat.FailedResult(call.ID, notRun))
	}
	added, err := a.add(ctx, results...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("agent: appending the results of calls that were cut off: %w", err)
	case again:
		return added, ErrCutOff
	}
	return added, nil
}

// offer has the target declare the agent's tools. It returns the prompt, with a check that it shows what they need.
func (a *Agent) offer(ctx context.Context) (elements.Node, error) {
	session, target := a.Compactor.Session, a.Compactor.Current()
	prompt := a.Prompt
	if prompt == nil {
		nodes := elements.Nodes{}
		if strings.TrimSpace(a.System) != "" {
			nodes = append(nodes, elements.Message(elements.Props{Required: true}, chat.SystemMessage(a.System)))
		}
		prompt = append(nodes, history.All{Session: session})
	}
	if a.boxes == nil {
		a.boxes = toolbox.New(a.Tools, a.Compactor, a.Limits.Call)
	}
	if session == nil || target.Tokenizer == nil { // the compactor returns the error
		return prompt, nil
	}
	var needed []any
	if session.Recall() {
		needed = append(needed, marks.Needs{Tool: history.ReadTool, Text: "agent: the session was opened with history.Options.Recall, so marks in prompts name the tool " +
			history.ReadTool + ", which is not declared: add recall.Tools to Agent.Tools, or open the session without Recall"})
	}
	if len(a.Tools)+len(a.declared)+len(needed) == 0 {
		return prompt, nil
	}
	own, err := a.count(ctx, target, target.Tools)
	if err != nil {
		return nil, err
	}
	// The budget and the tokens of the tools are as many in all, whatever is declared.
	declared, check, err := a.boxes.Declared(ctx, elements.Sizing{PromptBudget: target.Budget + own, Tokenizer: target.Tokenizer}, needed...)
	if err != nil {
		return nil, fmt.Errorf("agent: Agent.Tools: %w", err)
	}
	tools := slices.DeleteFunc(slices.Clone(target.Tools), func(t chat.Tool) bool {
		return slices.ContainsFunc(slices.Concat(a.declared, declared), func(d chat.Tool) bool { return d.Name == t.Name })
	})
	tools = append(tools, declared...)
	if !reflect.DeepEqual(tools, target.Tools) {
		all, err := a.count(ctx, target, tools)
		if err != nil {
			return nil, err
		}
		if target.Budget+own <= all {
			return nil, fmt.Errorf("agent: the tools take %d tokens: %w", all, &render.BudgetExceededError{Budget: target.Budget + own, Needed: all + 1})
		}
		target.Tools, target.Budget = tools, target.Budget+own-all
		if err := a.Compactor.Retarget(ctx, target); err != nil {
			return nil, fmt.Errorf("agent: declaring Agent.Tools: %w", err)
		}
	}
	a.declared = declared
	return elements.Nodes{prompt, check}, nil
}

// count returns the tokens of tools. Those of the same tools as before are not counted again, so that a tokenizer that
// learns does not move the budget.
func (a *Agent) count(ctx context.Context, target policy.Target, tools []chat.Tool) (int, error) {
	if target.Name == a.model && len(tools) == len(a.counted) && reflect.DeepEqual(tools, a.counted) {
		return a.tokens, nil
	}
	var tokens int
	err := guard(ctx, internal.NameTokenizer, func() { tokens = target.Tokenizer.CountTools(tools) })
	if err == nil {
		a.counted, a.model, a.tokens = tools, target.Name, tokens
	}
	return tokens, err
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
	req := chat.Request{
		Messages: result.Messages, Tools: plan.Declared(target, result.Tools), Shape: target.Shape,
		MaxTokens: a.Compactor.MaxOutput(ctx, a.MaxTokens), Temperature: a.Temperature,
	}
	if err := chat.ValidateRequest(req); err != nil {
		return chat.Response{}, fmt.Errorf("the prompt cannot be sent: %w%s", err, a.hint(ctx, err))
	}
	req.OnRepair = func(repairs []chat.Repair) {
		e := event.Event{Kind: event.Repaired}
		for _, r := range repairs {
			e.Mended = append(e.Mended, r.String())
		}
		a.Compactor.Emit(ctx, e)
	}
	empty := false // an answer was
	return again(ctx, a, func() (chat.Response, error) {
		var ids callIDs
		req.Stream = a.stream(&ids)
		response, err := summarize.Generate(ctx, target, req)
		ids.mu.Lock()
		response.Message.ToolCalls = ids.Calls(response.Message.ToolCalls)
		ids.mu.Unlock()
		if said, is := errors.AsType[*chat.EmptyError](err); is {
			if empty {
				return response, said // asking once more is enough
			}
			empty = true
		}
		if learns, ok := target.Tokenizer.(interface {
			Observe(chat.Request, chat.Response)
		}); ok && err == nil {
			err = guard(ctx, internal.NameTokenizer, func() { learns.Observe(req, response) })
		}
		return response, err
	})
}

// guard calls a function of the caller. If it panics, ends its goroutine or does not return, the error names it.
func guard(ctx context.Context, name string, f func()) error {
	if err := callback.Do(ctx, func(context.Context) error { f(); return nil }); err != nil {
		return internal.Failed(name, err)
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
	attempts := cmp.Or(max(0, a.Retry.Attempts), 4)
	dropped := false // the connection was
	return retry.Do(ctx, retry.Policy{Attempts: attempts, Wait: a.Retry.Wait, Most: a.Retry.MaxWait, Before: func(err error, wait time.Duration) bool {
		if a.Compactor.Oversized(ctx, err, dropped) { // a smaller request may help
			return false
		}
		dropped = dropped || summarize.Recoverable(err)
		a.Compactor.Emit(ctx, event.Event{Kind: event.Retrying, Asked: event.Asked{Model: a.Compactor.Current().Name, Wait: wait}, Err: err})
		return true
	}}, f)
}
