package summarize

import (
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/ledger"
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
	Tokenizer sizing.Tokenizer
	// Budget is the most tokens that a prompt's messages may take. It is not looked at of a model that is asked for summaries
	// alone.
	Budget int
	// ContextWindow is how many tokens the model takes in: messages, tools and answer. Defaults to Budget and what the tools
	// take, where an answer is taken to have its room besides; of a model that is asked for summaries alone to the agent's.
	ContextWindow int
	// Tools that the agent has. They are declared where a summary is asked for by messages that are full of their calls.
	Tools []chat.Tool
}

// check reports what is missing of the agent's own target.
func (t Target) check() error {
	switch {
	case t.Model == nil:
		return fmt.Errorf("summarize: Target.Model is not set: set the agent's model, or a models.Offline, which needs no network")
	case t.Tokenizer == nil:
		return render.ErrNoTokenizer
	case t.ContextWindow < 0:
		return fmt.Errorf("summarize: Target.ContextWindow is %d: it is a number of tokens, or 0", t.ContextWindow)
	}
	return nil
}

// tools is what the tool definitions take, in tokens.
func (t Target) tools() int { return t.Tokenizer.CountTools(t.Tools) }

// window is the context window, in tokens.
func (t Target) window() int {
	if t.ContextWindow > 0 {
		return t.ContextWindow
	}
	return t.Budget + t.tools()
}

// size is what a prompt must fit now, in tokens.
type size struct{ budget, base, tools int }

// size works out what a prompt must fit: the target's budget, lowered by the policy's threshold, by what the provider refused
// and, with each refusal since the last answer, by a buffer. Base is what ratios are of.
func (t Target) size(p Policy, l *ledger.Ledger) (size, error) {
	s := size{budget: t.Budget, base: t.window(), tools: t.tools()}
	limit, ratio := l.Limit(t.Name)
	if limit > 0 {
		s.base = min(s.base, limit)
		s.budget = min(s.budget, int(float64(limit)/ratio)-s.tools)
	} else if ratio > 1 {
		s.budget = min(s.budget, int(float64(s.budget+s.tools)/ratio)-s.tools)
	}
	refused := l.Bound(t.Name) // without a word of how much would do
	if l.Attempts > 0 {
		s.budget = int(float64(s.budget) * (1 - p.Overflow.buffer(l.Attempts)))
		if refused > 0 {
			s.budget = min(s.budget, refused-s.tools-1)
		}
	} else if refused > 0 {
		s.budget = min(s.budget, int(float64(refused)*(1-p.Overflow.buffer(1)))-s.tools)
	}
	s.budget = max(min(t.Budget, 1), s.budget) // a budget below 1 is the renderer's to refuse
	base, err := p.Measure.base(s.base, 0)
	if err != nil {
		return s, err
	}
	if p.Measure.Threshold != 0 {
		budget, err := p.Measure.base(s.base, s.tools)
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

// base is the smaller of the threshold and the window, less what tools take and a margin for them.
func (m Measure) base(window, tools int) (int, error) {
	n, err := sizing.Window{Tokens: max(1, window), Threshold: m.Threshold}.Budget(tools)
	if err != nil {
		return 0, fmt.Errorf("summarize: Policy.Measure.Threshold: %w", err)
	}
	return n, nil
}
