package write

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Candidate is a model that may be asked for a summary.
type Candidate struct {
	policy.Target
	isAgent bool  // the agent's own model
	err     error // why it is not asked any more

	mu             sync.Mutex
	learnt         entry.Learnt    // of the model, before and by this attempt
	refusals       []entry.Refusal // by this attempt
	answers        int             // the number of requests that it answered
	asked          int             // our count of the largest of them
	limit          int             // context window in tokens
	ratio          float64         // provider's tokens for one of ours
	answerSeparate bool            // the answer does not count towards limit; assumed if the window is not known
}

// newCandidate returns a candidate with what a session remembers of it.
func newCandidate(t policy.Target, own bool, window int, apart bool, l *journal.Ledger) *Candidate {
	c := &Candidate{Target: t, isAgent: own, learnt: l.Of(t.Name), limit: t.ContextWindow, ratio: 1}
	if c.limit <= 0 {
		c.limit, c.answerSeparate = window, apart
	}
	if own {
		c.ratio = max(1, l.Ratio(t.Name))
	}
	if s := c.learnt.Summaries; s.Tries > 0 && s.Left > 0 { // it may be of messages and answer together
		c.limit, c.answerSeparate = min(c.limit, clamp.Int(math.Ceil(c.ratio*float64(s.Tokens)))), false
	}
	return c
}

// size returns the context window in tokens, the ratio of the provider's count to ours, and whether the answer does not
// count towards the window.
func (c *Candidate) size() (limit int, ratio float64, apart bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit, c.ratio, c.answerSeparate
}

// refuse records that the model refused a request for its size.
func (c *Candidate) refuse(r entry.Refusal, remembered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Unit == entry.UnitOutput {
		c.learnt.Refuse(r)
		c.refusals = append(c.refusals, r)
		return
	}
	if r.Limit > c.learnt.Accepted {
		c.limit, c.answerSeparate = min(c.limit, r.Limit), false
	}
	known := c.learnt.Summaries // a request made in parallel may be larger than what was learnt meanwhile
	if known.Attempts == 0 || r.Counted <= known.Size(clamp.Int(float64(c.limit)/c.ratio)) {
		c.learnt.Refuse(r)
	}
	if remembered {
		c.refusals = append(c.refusals, r)
	}
}

// maxOutput returns how many tokens of an answer to ask for, given the nominal number.
func (c *Candidate) maxOutput(nominal int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.learnt.MaxOutput(nominal)
}

// answered records that the model answered a request.
func (c *Candidate) answered(counted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers++
	c.asked = max(c.asked, counted)
	c.learnt.Summarised(1, counted)
}

// giveUp notes why the candidate is not asked again by this attempt.
func (c *Candidate) giveUp(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// lowered reports whether the candidate takes in less than its window because of refusals.
func (c *Candidate) lowered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.learnt.Summaries.Size(math.MaxInt) < math.MaxInt
}

// forget ignores a ceiling within which nothing can be asked, and reports whether there was one.
func (c *Candidate) forget() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refusals) > 0 || c.learnt.Summaries == (entry.Fact{}) {
		return false
	}
	c.learnt.Summaries = entry.Fact{}
	if c.ContextWindow > 0 {
		c.limit = c.ContextWindow
	}
	return true
}

// taught returns the refusals to remember. If the model answered no smaller request, it was not the size, unless the
// model named a limit.
func (c *Candidate) taught() []entry.Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.refusals), func(r entry.Refusal) bool {
		return r.Unit == entry.UnitTokens && c.answers == 0 && r.Limit <= c.learnt.Accepted
	})
}

// room returns how many tokens by our count the messages of a request may take beside tools and an answer.
func (c *Candidate) room(tools, answer int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.limit
	if !c.answerSeparate {
		limit -= answer
	}
	return max(1, c.learnt.Summaries.Size(clamp.Int(float64(limit)/c.ratio))-tools)
}

// Candidates lists the models that may be asked, in order, each once. It emits an event for each name that models,
// which is summarize.Compactor.Models, does not have.
func Candidates(ctx context.Context, models map[string]policy.Target, t policy.Target, p policy.Policy, l *journal.Ledger, emit func(context.Context, event.Event)) ([]*Candidate, error) {
	window, err := guard.Value(ctx, guard.NameTokenizer, func() int { return plan.ContextWindow(t) })
	if err != nil {
		return nil, err
	}
	var list []*Candidate
	add := func(t, agent policy.Target, own bool) {
		if slices.ContainsFunc(list, func(c *Candidate) bool { return c.Name == t.Name && t.Name != "" }) {
			return
		}
		if t.Tokenizer == nil {
			t.Tokenizer = agent.Tokenizer
		}
		list = append(list, newCandidate(t, own, window, agent.ContextWindow <= 0, l))
	}
	for _, name := range plan.Route(p.Ask, t.Name) {
		if other := models[name]; other.Model != nil {
			other.Name = name
			add(other, t, false)
		} else if len(models) > 0 {
			emit(ctx, event.Event{
				Kind: event.ModelUnknown, Asked: event.Asked{Model: name},
				Err: fmt.Errorf("summarize: Policy.Ask names the model %q, which is not in Compactor.Models", name),
			})
		}
	}
	if p.Ask.Cheapest {
		for _, other := range plan.Priced(p.Ask, models, t.Name) {
			add(other, t, false)
		}
	}
	add(t, t, true)
	return list, nil
}

// PromptsOf returns the prompts to try on an occasion, in order.
func PromptsOf(a policy.Ask, on policy.Occasion, background bool) []policy.Prompt {
	return slices.DeleteFunc(slices.Clone(a.Prompts), func(p policy.Prompt) bool {
		return !Allows(a.Mode, p) || p.Background && !background || p.OnDemand && on != policy.OnDemand && a.Mode == policy.ModeAuto
	})
}

// Allows reports whether a prompt may be used if the mode is forced.
func Allows(m policy.Mode, p policy.Prompt) bool {
	return m == policy.ModeAuto || p.Mode == m || p.Forks
}

// SortByPrice sorts candidates by the cost of a summary, the cheapest first.
func SortByPrice(list []*Candidate, agent sizing.Prices, c sizing.Carry, forks bool) {
	cost := func(one *Candidate) float64 {
		c := c
		if c.Summarizer = cmp.Or(one.Prices, agent); one.isAgent && forks {
			c.Summarizer = sizing.Prices{}
		}
		return agent.Summarizing(c)
	}
	slices.SortStableFunc(list, func(a, b *Candidate) int { return cmp.Compare(cost(a), cost(b)) })
}
