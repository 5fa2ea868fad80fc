package replay

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/replay/internal/stepping"
)

// Result holds the figures of one policy on one session. All tokens are counted by one tokenizer
// ([Session.Tokenizer]), except the TokensBefore of a recorded compaction, which its recorder wrote.
type Result struct {
	// Policy is the name of the policy, or "recorded".
	Policy string `json:"policy"`
	// AnsweredBy is the name of the answering model that the policy was given, "" if unknown.
	AnsweredBy string `json:"answeredBy,omitempty"`
	// ContextWindow is the window that was asked for. Budget is the part of it that the messages may take, without the
	// tokens that the recording does not have. They do not limit the recorded run.
	ContextWindow int `json:"windowTokens"`
	Budget        int `json:"budgetTokens"`
	// RequestsIn counts the requests that the session has, Requests those that were made.
	RequestsIn int      `json:"requestsInSession"`
	Requests   Requests `json:"requests"`
	// Summaries are the requests for summaries, including those that were refused or failed. They are unknown for the
	// recorded run.
	Summaries   Requests        `json:"summaries"`
	Compactions []RunCompaction `json:"compactions"`
	// LeftOut counts the tokens of the history, over all requests, that were neither sent nor summarised: cut, pruned
	// or dropped. DroppedPieces counts the dropped pieces of the prompts.
	LeftOut       int `json:"leftOutTokens"`
	DroppedPieces int `json:"droppedPieces"`
	// Events counts the compactor's events by kind, without [event.Usage].
	Events map[event.Kind]int `json:"events,omitempty"`
	// Bill is nil without prices, and if the check failed.
	Bill *Bill `json:"bill,omitempty"`
	// Recall is nil unless it was asked for or there are prices.
	Recall *Recall `json:"recall,omitempty"`
	// Check compares the cost model with the recorded usage. It is set for the recorded run, if there are prices and
	// usage.
	Check *Check `json:"check,omitempty"`
	// Ended says why the replay ended before the session did, "" if it did not.
	Ended string `json:"ended,omitempty"`
}

// Requests sums up requests.
type Requests struct {
	Number int `json:"number"`
	// Tokens of the requests, with those that the recording does not have, and of the Largest. Cached counts those in a
	// prefix shared with the agent's request before, Answered those of the answers to requests for summaries.
	Tokens   int `json:"tokens"`
	Largest  int `json:"largestTokens"`
	Cached   int `json:"cachedTokens"`
	Answered int `json:"answeredTokens,omitempty"`
}

// RunCompaction describes a compaction of a run.
type RunCompaction struct {
	// Request is the number of the first request after the compaction, Line the line of its recorded answer. After the
	// last request the line is 0.
	Request int `json:"request"`
	Line    int `json:"line"`
	// Reason is the occasion. Background reports whether the summary was made while the agent went on; Request is then
	// the first after it was put in place. Mode is the prompt that was used.
	Reason     policy.Occasion `json:"reason,omitempty"`
	Background bool            `json:"background,omitempty"`
	Mode       string          `json:"mode,omitempty"`
	// Why is the decision in words, with its numbers.
	Why string `json:"why,omitempty"`
	// TokensBefore and TokensAfter are the tokens of the request before and after the compaction, 0 if unknown.
	TokensBefore int `json:"tokensBefore"`
	TokensAfter  int `json:"tokensAfter"`
	// StandIn counts the tokens of the messages that replace the history.
	StandIn int `json:"standInTokens"`
	// Covered counts the messages that are no longer shown word for word, Kept those that still are.
	Covered int `json:"coveredMessages"`
	Kept    int `json:"keptMessages"`
	// KeptTokens counts the tokens of the kept messages.
	KeptTokens int `json:"keptTokens"`
}

// request measures a request. It returns the step that callers hear of, which with prices has the usage that the provider
// would have reported.
func (r *running) request(ctx context.Context, step stepping.Step, rendered *render.Result) (made Step, err error) {
	tokens, cached := r.meter.sends(rendered.Messages)
	made = Step{Number: step.Number, Line: step.Line, Compactor: r.own, Rendered: rendered, Fixed: r.fixed, Response: chat.Response{Message: step.Answer}}
	to := r.result
	to.Requests.Number = step.Number
	var cost StepCost
	if r.biller != nil {
		answered := step.Usage.Output
		if step.Usage.Input == 0 {
			answered = r.tokenizer.CountMessage(step.Answer)
		}
		made.Response.Usage, cost = r.biller.request(to.Bill, step, tokens, cached, answered)
	}
	to.Requests.Tokens += tokens + r.fixed
	if cached > 0 {
		to.Requests.Cached += cached + r.fixed
	}
	to.Requests.Largest = max(to.Requests.Largest, tokens+r.fixed)
	to.DroppedPieces += len(rendered.Report().Dropped())
	view, err := r.session.View(ctx)
	if err != nil {
		return made, err
	}
	instructions := rendered.Messages[:1:1]
	to.LeftOut += max(0, count(r.tokenizer, append(instructions, view.Messages()...))-tokens)

	if made.Compactions, err = r.newCompactions(ctx, step.Number, step.Line, tokens); err == nil && r.recall != nil {
		shows := func() prompt { return promptOf(rendered.Messages, view.Compacted) }
		dollars := to.Recall.Dollars
		cost.Missed, err = r.recall.answer(ctx, to.Recall, shows, tokens, step.Answer)
		cost.LookBack = to.Recall.Dollars - dollars
	}
	if r.priced() {
		made.Cost = &cost
	}
	return made, err
}

// newCompactions reads the entries since its last call. It measures the compactions among them and returns them. number,
// line and tokens are those of the request after them; line and tokens are 0 after the last request.
func (r *running) newCompactions(ctx context.Context, number, line, tokens int) (made []entry.Entry, err error) {
	leaf := r.session.Leaf()
	entries := r.session.PathTo(ctx, leaf)
	if r.leaf != "" {
		entries = r.session.Abandoned(ctx, leaf, r.leaf) // what follows r.leaf
	}
	r.leaf = leaf
	done := r.meter.taken()
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if r.recall != nil {
			r.recall.add(e)
		}
		if e.Type() != entry.TypeCompaction {
			continue
		}
		c, err := r.compaction(ctx, e)
		if err != nil {
			return nil, err
		}
		i := len(made)
		if made = append(made, e); i < len(done) {
			c.Reason, c.Background, c.Why = done[i].Reason, done[i].Background, done[i].Why
			c.TokensBefore += r.fixed
		}
		if c.Request, c.Line = number, line; c.TokensAfter == 0 {
			c.TokensAfter = tokens
		}
		if c.TokensAfter > 0 {
			c.TokensAfter += r.fixed
		}
		r.result.Compactions = append(r.result.Compactions, c)
	}
	return made, nil
}

// compaction measures one compaction.
func (r *running) compaction(ctx context.Context, e entry.Entry) (RunCompaction, error) {
	before, err := r.session.ViewAt(ctx, e.Parent)
	if err != nil {
		return RunCompaction{}, err
	}
	after, err := r.session.ViewAt(ctx, e.ID)
	if err != nil {
		return RunCompaction{}, err
	}
	shown := after.Messages()
	kept := len(shown) - len(after.Compacted)
	c := e.Compaction()
	return RunCompaction{
		Mode: c.Mode, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter, StandIn: count(r.tokenizer, c.Messages),
		Covered: len(before.Messages()) - len(before.Compacted) - kept, Kept: kept, KeptTokens: count(r.tokenizer, shown[len(after.Compacted):]),
	}, nil
}

func count(t chat.Tokenizer, messages []chat.Message) (tokens int) {
	for _, message := range messages {
		tokens += t.CountMessage(message)
	}
	return tokens
}
