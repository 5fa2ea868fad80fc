package write

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

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
	isAgent  bool            // the agent's own model
	err      error           // why it is not asked any more
	learnt   entry.Learnt    // of the model, before and by this attempt
	held     []entry.Held    // what its requests leave out
	filtered []entry.Held    // messages that filters refuse, its own or others'
	refusals []entry.Refusal // by this attempt
	answers  int             // the number of requests that it answered
	asked    int             // our count of the largest of them
	doubted  bool            // since then it refused one about as large
	refused  int             // the number of requests that it refused since, as far as they are made smaller
	window   int             // context window in tokens
	ratio    float64         // provider's tokens for one of ours
	apart    bool            // the answer does not count towards window; assumed if that is not known
}

// refuse records that the model refused a request for its size. If it answered one about as large, or with as many bytes, the
// first time may be a mistake.
func (c *Candidate) refuse(r entry.Refusal) {
	known := r.Unit == entry.UnitTokens && r.Limit == 0 && r.Counted <= c.asked+c.asked/4 || r.Unit == entry.UnitBytes && r.Counted <= c.learnt.Body
	if known && !c.doubted {
		c.doubted = true
		return
	}
	r.Model, r.Server, r.Summary = c.Name, plan.Server(c.Target), true
	c.refusals = append(c.refusals, r)
	// A request made in parallel may be larger than what was learnt meanwhile.
	if r.Unit != entry.UnitTokens || c.learnt.Summaries.Attempts == 0 || r.Counted <= c.most(0) {
		c.learnt.Refuse(r)
	}
}

// answered records that the model answered a request.
func (c *Candidate) answered(counted int) {
	c.answers++
	c.asked, c.doubted, c.refused = max(c.asked, counted), false, 0
	c.learnt.Summarized(1, counted)
}

// forget ignores the limits that refusals taught, and reports whether there were any.
func (c *Candidate) forget() bool {
	was := c.learnt
	c.learnt.Summaries, c.learnt.Bytes = entry.Fact{}, entry.Fact{}
	return c.learnt != was
}

// limit returns the context window, or the ceiling that was learnt if that is smaller, in tokens by the provider's count,
// and reports whether the answer does not count towards it.
func (c *Candidate) limit() (tokens int, apart bool) {
	if s := c.learnt.Summaries; s.Tries > 0 && s.Left > 0 { // it may be of messages and answer together
		return min(c.window, clamp.Int(math.Ceil(c.ratio*float64(s.Tokens)))), false
	}
	return c.window, c.apart
}

// most returns how many tokens by our count a request may take beside an answer.
func (c *Candidate) most(answer int) int {
	limit, apart := c.limit()
	if !apart {
		limit -= answer
	}
	return c.learnt.Summaries.Size(clamp.Int(float64(limit) / c.ratio))
}

// Candidates lists the models that may be asked ([plan.Writers]), with what a session remembers of them. It emits an event
// for each name that models, which is summarize.Compactor.Models, does not have.
func Candidates(ctx context.Context, models map[string]policy.Target, agent policy.Target, p policy.Policy, l *journal.Ledger, emit func(context.Context, event.Event)) ([]*Candidate, error) {
	window, err := guard.Value(ctx, guard.NameTokenizer, func() int { return plan.ContextWindow(agent) })
	if err != nil {
		return nil, err
	}
	writers, unknown := plan.Writers(p.Ask, models, agent)
	for _, name := range unknown {
		emit(ctx, event.Event{
			Kind: event.ModelUnknown, Asked: event.Asked{Model: name},
			Err: fmt.Errorf("summarize: Policy.Ask names the model %q, which is not in Compactor.Models", name),
		})
	}
	filtered := slices.DeleteFunc(slices.Clone(l.Held), func(h entry.Held) bool { return h.Part != plan.Whole || h.Shown() })
	var list []*Candidate
	for _, t := range writers {
		c := &Candidate{
			Target: t, isAgent: t.Name == agent.Name, learnt: plan.Learnt(l.Remembered, t), held: l.HeldFor(t.Name, plan.Server(t)),
			filtered: filtered, window: t.ContextWindow, ratio: 1,
		}
		c.Tokenizer = cmp.Or(c.Tokenizer, agent.Tokenizer)
		if c.window <= 0 {
			c.window, c.apart = window, agent.ContextWindow <= 0
		}
		if c.isAgent {
			c.ratio = max(1, l.Ratio(t.Name))
		}
		list = append(list, c)
	}
	return list, nil
}

// PromptsOf returns the prompts to try for a plan, in order.
func PromptsOf(prompts []policy.Prompt, j entry.Plan) []policy.Prompt {
	m := policy.Mode(j.Mode)
	return slices.DeleteFunc(slices.Clone(prompts), func(p policy.Prompt) bool {
		allowed := m == policy.ModeAuto || p.Mode == m || p.Forks
		return !allowed || p.Background && !j.Background || p.OnDemand && j.Occasion != string(policy.OnDemand) && m == policy.ModeAuto
	})
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
