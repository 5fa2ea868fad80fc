package summarize

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// Target is a model and the limits of its requests.
type Target struct {
	// Model that answers.
	Model chat.Model
	// Name of the model. Routes and quirks match it, and usage is recorded under it. Empty by default.
	Name string
	// Tokenizer that counts the tokens of its requests. A model that is only asked for summaries defaults to the
	// agent's tokenizer.
	Tokenizer chat.Tokenizer
	// Budget is the most tokens that a prompt may take: its messages, and the tools in it ([elements.Tool]).
	// [sizing.Window.Budget] computes it; set ToolsInPrompt there if tools are in the prompt. A model that is only
	// asked for summaries needs none.
	Budget int
	// ContextWindow is how many tokens the model takes in: messages, tools and answer. Defaults to Budget plus the
	// tokens of Tools, and then the answer is assumed not to count towards it. A model that is only asked for summaries
	// defaults to the agent's.
	ContextWindow int
	// Prices of the model, such as those in [sizing.PublishedPrices]. If they are set, usage entries hold digests of
	// the requests, a measurement predicts what the provider's cache holds of the next one ([Measurement.Foretold]),
	// and events report prompts that break the cache ([EventCacheBreak]). None by default.
	Prices sizing.Prices
	// Tools of the agent, unless they are in the prompt; tools in both places are an error ([ErrTools]). They are
	// declared in requests for summaries that show their calls.
	Tools []chat.Tool
}

// check returns an error if a field that the agent's target needs is missing or out of range.
func (t Target) check() error {
	switch {
	case t.Model == nil:
		return fmt.Errorf("summarize: Target.Model is not set: set the agent's model, or a models.Offline, which needs no network")
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

// Generate asks the model as a [Compactor] does, and checks its behaviour. The error is a [*CallbackError] if the model
// panics, ends its goroutine, has not returned a second after the context ended, or answers with anything but an
// assistant's message. Usage with a number below 0 or above 2³¹-1 counts as not reported.
//
// Request.Stream is called by one goroutine at a time, and not after Generate has returned. If it panics or ends its
// goroutine, the request ends with that error.
func (t Target) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	return t.generate(ctx, 0, req)
}

// generate asks the model, for at most limit; 0 means no limit.
func (t Target) generate(ctx context.Context, limit time.Duration, req chat.Request) (chat.Response, error) {
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
	response, err := call(ctx, name, limit, func(ctx context.Context) (chat.Response, error) {
		r, err := t.Model.Generate(ctx, req)
		if err == nil {
			err = checkAnswer(name, r)
		}
		u := r.Usage
		numbers := []int{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWriteLong}
		if slices.Min(numbers) < 0 || slices.Max(numbers) > math.MaxInt32 {
			r.Usage = chat.Usage{}
		}
		return r, err
	})
	return response, s.end(err)
}

// checkAnswer returns an error for a response that is not a valid message of an assistant.
func checkAnswer(name string, r chat.Response) error {
	if r.Message.Role != chat.RoleAssistant {
		return &CallbackError{name, fmt.Errorf("it answered with a message of the role %q, not %q", r.Message.Role, chat.RoleAssistant)}
	}
	if i := slices.Index(r.Message.Content, nil); i >= 0 {
		return &CallbackError{name, fmt.Errorf("part %d of its answer is nil", i)}
	}
	if i := slices.IndexFunc(r.Message.ToolCalls, func(c chat.ToolCall) bool { return c.Name == "" }); i >= 0 {
		return &CallbackError{name, fmt.Errorf("tool call %d of its answer has no name", i)}
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
			failed = &callback.PanicError{Value: p, Stack: debug.Stack()}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running = false; failed != nil {
			s.closed, s.failed = true, &CallbackError{nameStream, failed}
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
	if named, ok := err.(*CallbackError); ok && s.running { // the model waits for the stream
		if left, ok := named.Err.(*callback.LeftError); ok {
			return &CallbackError{nameStream, left}
		}
	}
	return err
}

// tools returns the tokens of the tool definitions.
func (t Target) tools() int { return counted(t.Tokenizer.CountTools(t.Tools)) }

// declared returns the tools to declare with a prompt in which the given tools are left.
func (t Target) declared(left []chat.Tool) []chat.Tool {
	if len(left) > 0 {
		return left
	}
	return t.Tools
}

func (t Target) window() int {
	if t.ContextWindow > 0 {
		return t.ContextWindow
	}
	return clamp.Sum(t.Budget, t.tools())
}

// size holds the current limits of a prompt and the size of the target's tools, in tokens. Nominal is the budget that the
// target and the policy set; budget may be lower.
type size struct{ budget, nominal, base, tools int }

// size computes the limits of a prompt: the target's budget, lowered by the policy's threshold, by what the session
// remembers of refusals, and to most, unless that is 0. Ratios are of base. inPrompt reports whether tools are in the
// prompt.
func (t Target) size(p Policy, l *ledger.Ledger, inPrompt bool, most int) (size, error) {
	s := size{nominal: t.Budget, base: t.window(), tools: t.tools()}
	ceiling := l.Of(t.Name).Agent
	if ceiling.Attempts == 0 && ceiling.Left > 0 && !ceiling.Once {
		s.base = min(s.base, clamp.Int(math.Ceil(max(1, l.Ratio(t.Name))*float64(ceiling.Refused))))
	}
	base, err := p.Measure.base(s.base, 0, false)
	if err != nil {
		return s, err
	}
	if p.Measure.Threshold != 0 {
		budget, err := p.Measure.base(t.window(), s.tools, inPrompt)
		if err != nil {
			return s, err
		}
		s.nominal = min(s.nominal, budget)
	}
	if p.Measure.LoweredBase {
		s.base = min(base, clamp.Sum(t.Budget, s.tools))
	}
	whole := clamp.Sum(s.nominal, s.tools)
	lowered := ceiling.Size(whole)
	if most > 0 {
		lowered = min(lowered, most)
	}
	if s.budget = s.nominal; lowered < whole {
		s.budget = max(1, lowered-s.tools) // the renderer refuses a budget below 1
	}
	return s, nil
}

// base returns the smaller of the threshold and the window, less the tokens of tools and a margin for them.
func (m Measure) base(window, tools int, inPrompt bool) (int, error) {
	n, err := sizing.Window{Tokens: max(1, window), Threshold: m.Threshold, ToolsInPrompt: inPrompt}.Budget(tools)
	if err != nil {
		return 0, fmt.Errorf("summarize: Policy.Measure.Threshold: %w", err)
	}
	return n, nil
}
