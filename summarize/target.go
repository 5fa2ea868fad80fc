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

// Target is a model, and what a request to it must fit.
type Target struct {
	// Model that answers.
	Model chat.Model
	// Name of the model, for routes, for what some models need, and by which usage is told apart. Not known by default.
	Name string
	// Tokenizer that its requests are measured with. Of a model that is asked for summaries alone it defaults to the
	// agent's.
	Tokenizer chat.Tokenizer
	// Budget is the most tokens that a prompt may take: its messages, and the tools that stand in it ([elements.Tool]).
	// [sizing.Window.Budget] works it out; its ToolsInPrompt is for tools that stand in the prompt. A model that is asked for
	// summaries alone needs none.
	Budget int
	// ContextWindow is how many tokens the model takes in: messages, tools and answer. Defaults to Budget and what the tools
	// take, where an answer is taken to have its room besides; of a model that is asked for summaries alone to the agent's.
	ContextWindow int
	// Prices of the model, such as [sizing.PublishedPrices] has them. If they are set, what was sent is remembered in the
	// session's usage entries by digests, what the provider's cache has of the next request is foretold
	// ([Measurement.Foretold]), and a prompt that breaks the cache is told of ([EventCacheBreak]). Not known by default.
	Prices sizing.Prices
	// Tools that the agent has, if they do not stand in the prompt; both is an error ([ErrTools]). They are declared where a summary is asked
	// for by messages that are full of their calls.
	Tools []chat.Tool
}

// check reports what is missing of the agent's own target.
func (t Target) check() error {
	switch {
	case t.Model == nil:
		return fmt.Errorf("summarize: Target.Model is not set: set the agent's model, or a models.Offline, which needs no network")
	case t.Tokenizer == nil:
		return fmt.Errorf("summarize: Target.Tokenizer is not set: %w", render.ErrNoTokenizer)
	case t.Budget < 1:
		return worded.Errorf(render.ErrBudget, "summarize: Target.Budget is out of range: %d tokens, it is 1 or more, and sizing.Window.Budget works it out", t.Budget)
	case t.ContextWindow < 0:
		return fmt.Errorf("summarize: Target.ContextWindow is %d: it is a number of tokens, or 0", t.ContextWindow)
	}
	if err := t.Prices.Validate(); err != nil {
		return fmt.Errorf("summarize: Target.Prices: %w", err)
	}
	return nil
}

// Generate asks the model as a [Compactor] does, and checks what it does: a model that panics, ends its goroutine, has not
// returned a second after the context ended, or answers with what is not an assistant's message is a [*CallbackError]. Usage with a
// number below 0 or above 2³¹-1 counts as not reported. Stream is called by one goroutine at a time, and not any more
// once Generate has returned. One that panics or ends its goroutine ends the request, and the error is its own.
func (t Target) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	return t.generate(ctx, 0, req)
}

// generate asks the model, for at most limit (0 is without one).
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
			err = answered(name, r)
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

// answered refuses what is not the message of an assistant.
func answered(name string, r chat.Response) error {
	if r.Message.Role != chat.RoleAssistant {
		return &CallbackError{name, fmt.Errorf("it answered with a message of the role %q: an answer is the assistant's", r.Message.Role)}
	}
	if i := slices.Index(r.Message.Content, nil); i >= 0 {
		return &CallbackError{name, fmt.Errorf("part %d of its answer is nil", i)}
	}
	if i := slices.IndexFunc(r.Message.ToolCalls, func(c chat.ToolCall) bool { return c.Name == "" }); i >= 0 {
		return &CallbackError{name, fmt.Errorf("tool call %d of its answer has no name", i)}
	}
	return nil
}

// stream passes the pieces of an answer on, until the answer is there.
type stream struct {
	to     func(chat.Delta)
	cancel context.CancelCauseFunc // of the request

	calling sync.Mutex // held while to is called
	mu      sync.Mutex // guards what follows
	running bool
	over    bool
	failed  error
}

func (s *stream) pass(d chat.Delta) {
	s.calling.Lock()
	defer s.calling.Unlock()
	s.mu.Lock()
	s.running = !s.over
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
			s.over, s.failed = true, &CallbackError{nameStream, failed}
			s.cancel(s.failed)
		}
	}()
	s.to(d)
	failed = nil
}

// end ends the stream with the request, and returns the error of both.
func (s *stream) end(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.failed != nil {
		return s.failed
	}
	if named, ok := err.(*CallbackError); ok && s.running { // which the model waits for
		if left, ok := named.Err.(*callback.LeftError); ok {
			return &CallbackError{nameStream, left}
		}
	}
	return err
}

// tools returns what the tool definitions take, in tokens.
func (t Target) tools() int { return counted(t.Tokenizer.CountTools(t.Tools)) }

// declared returns the tools to be declared with a prompt of which these are left.
func (t Target) declared(left []chat.Tool) []chat.Tool {
	if len(left) > 0 {
		return left
	}
	return t.Tools
}

// window returns the context window, in tokens.
func (t Target) window() int {
	if t.ContextWindow > 0 {
		return t.ContextWindow
	}
	return clamp.Sum(t.Budget, t.tools())
}

// size is what a prompt must fit now, in tokens. Tools are those of the target.
type size struct{ budget, base, tools int }

// size works out what a prompt must fit: the target's budget, lowered by the policy's threshold, by what the provider refused
// and, with each refusal since the last answer, by a buffer. Base is what ratios are of. inPrompt reports that tools stand in the prompt.
func (t Target) size(p Policy, l *ledger.Ledger, inPrompt bool) (size, error) {
	s := size{budget: t.Budget, base: t.window(), tools: t.tools()}
	limit, ratio := l.Limit(t.Name)
	if limit > 0 {
		s.base = min(s.base, limit)
		s.budget = min(s.budget, clamp.Int(float64(limit)/ratio)-s.tools)
	} else if ratio > 1 {
		s.budget = min(s.budget, clamp.Int(float64(clamp.Sum(s.budget, s.tools))/ratio)-s.tools)
	}
	refused := l.Bound(t.Name) // without a word of how much would do
	if l.Attempts > 0 {
		s.budget = clamp.Share(1-p.Overflow.buffer(l.Attempts), s.budget)
		if refused > 0 {
			s.budget = min(s.budget, refused-s.tools-1)
		}
	} else if refused > 0 {
		s.budget = min(s.budget, clamp.Share(1-p.Overflow.buffer(1), refused)-s.tools)
	}
	s.budget = max(min(t.Budget, 1), s.budget) // a budget below 1 is the renderer's to refuse
	base, err := p.Measure.base(s.base, 0, false)
	if err != nil {
		return s, err
	}
	if p.Measure.Threshold != 0 {
		budget, err := p.Measure.base(s.base, s.tools, inPrompt)
		if err != nil {
			return s, err
		}
		s.budget = min(s.budget, budget)
	}
	if p.Measure.LoweredBase {
		s.base = base
	}
	return s, nil
}

// base returns the smaller of the threshold and the window, less what tools take and a margin for them.
func (m Measure) base(window, tools int, inPrompt bool) (int, error) {
	n, err := sizing.Window{Tokens: max(1, window), Threshold: m.Threshold, ToolsInPrompt: inPrompt}.Budget(tools)
	if err != nil {
		return 0, fmt.Errorf("summarize: Policy.Measure.Threshold: %w", err)
	}
	return n, nil
}
