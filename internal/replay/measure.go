package replay

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Run holds the results of one policy on one session. All tokens are counted by one tokenizer, except the TokensBefore
// of a recorded compaction, which its recorder wrote.
type Run struct {
	Session string          `json:"session"`
	Format  importer.Format `json:"format"`
	// Policy is the name of the policy, or "recorded" for the session as its own agent sent it.
	Policy string `json:"policy"`
	// Model wrote the summaries; "" for the recorded run.
	Model string `json:"model,omitempty"`
	// AnsweredBy is the name of the answering model that the policy was given, "" if unknown.
	AnsweredBy string `json:"answeredBy,omitempty"`
	// Window is the window that was asked for. Budget is the part of it that the messages may take, without the tokens
	// that the recording does not have. They do not limit the recorded run.
	Window int `json:"windowTokens"`
	Budget int `json:"budgetTokens"`
	// Requests counts the rendered requests, RequestsIn those that the session has.
	Requests   int `json:"requests"`
	RequestsIn int `json:"requestsInSession"`
	// Sent counts the tokens of all requests, Cached those in a prefix shared with the request before, Peak those of
	// the largest request.
	Sent   int `json:"sentTokens"`
	Cached int `json:"cachedTokens"`
	Peak   int `json:"peakTokens"`
	// LeftOut counts the tokens of the history, over all requests, that were neither sent nor summarised: cut, pruned
	// or dropped.
	LeftOut int `json:"leftOutTokens"`
	// DroppedPieces counts the dropped pieces of the prompts, over all requests.
	DroppedPieces int `json:"droppedPieces"`
	// Calls are the requests for summaries.
	Calls       Calls        `json:"modelCalls"`
	Compactions []Compaction `json:"compactions"`
	// Events counts the compactor's events by kind, without [event.Usage].
	Events map[string]int `json:"events,omitempty"`
	// Bill is nil without prices.
	Bill *Bill `json:"bill,omitempty"`
	// Recall is nil without -recall and prices.
	Recall *Recall `json:"recall,omitempty"`
	// Front reports whether the run is on the Pareto front of its session: no run in any window is at least as good in
	// both dollars, look-backs included, and look-backs of edits, and better in one.
	Front bool `json:"front,omitempty"`
	// Check compares the cost model with the recorded usage. It is set for the recorded run, if there are prices and
	// usage.
	Check *Check `json:"check,omitempty"`
	// Bundles counts the bundles written.
	Bundles int `json:"bundles,omitempty"`
	// Ended says why the run ended before the session did, "" if it did not.
	Ended string `json:"ended,omitempty"`
}

// Calls sums up the requests for summaries.
type Calls struct {
	Number int `json:"number"`
	// Sent counts the tokens of the requests, Cached those in a prefix shared with the agent's last request, Answered
	// those of the answers.
	Sent     int `json:"sentTokens"`
	Cached   int `json:"cachedTokens"`
	Answered int `json:"answeredTokens"`
}

// Compaction describes a compaction of a run.
type Compaction struct {
	// Request is the number of the first request after the compaction, Line the line of its recorded answer. After the
	// last request the line is 0.
	Request int `json:"request"`
	Line    int `json:"line"`
	// Reason is the occasion. Background reports whether the summary was made while the agent went on; Request is then
	// the first after it was put in place. Mode is the prompt that was used.
	Reason     policy.Occasion `json:"reason,omitempty"`
	Background bool            `json:"background,omitempty"`
	Mode       string          `json:"mode,omitempty"`
	// TokensBefore and TokensAfter are the tokens of the prompt before and after the compaction, 0 if unknown.
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

// measuring measures a run request by request.
type measuring struct {
	session   *history.Session
	tokenizer chat.Tokenizer
	meter     *meter
	run       *Run
	biller    *biller           // nil without prices
	recall    *recallFinder     // nil without -recall and prices
	latest    string            // the last measured compaction
	taken     func() []finished // the compactions that finished since the last call
}

// request measures a request. It returns the compactions that were made before it and, with prices, the usage that the
// provider would have reported.
func (m *measuring) request(ctx context.Context, step stepping.Step, rendered *render.Result) (made []placed, usage chat.Usage, err error) {
	whole := m.meter.whole(rendered.Messages)
	tokens, cached := m.meter.sends(rendered.Messages)
	r := m.run
	r.Requests = step.Number
	if m.biller != nil {
		answered := step.Usage.Output
		if step.Usage.Input == 0 {
			answered = m.tokenizer.CountMessage(step.Answer)
		}
		usage = m.biller.request(r.Bill, step, tokens, whole, answered)
	}
	r.Sent += tokens
	r.Cached += cached
	r.Peak = max(r.Peak, tokens)
	r.DroppedPieces += len(rendered.Report().Dropped())
	view, err := m.session.View(ctx)
	if err != nil {
		return nil, usage, err
	}
	all := m.count(view.Messages())
	for _, message := range rendered.Messages {
		if message.Role == chat.RoleSystem {
			all += m.tokenizer.CountMessage(message)
		}
	}
	r.LeftOut += max(0, all-tokens)

	if made, err = m.newCompactions(ctx, step.Number, step.Line, tokens); err != nil || m.recall == nil {
		return made, usage, err
	}
	for e, err := range m.session.PathTo(ctx, "") {
		if err != nil {
			return made, usage, err
		}
		m.recall.add(e)
	}
	return made, usage, m.recall.answer(ctx, r.Recall, promptOf(rendered.Messages, view.Compacted), tokens, step.Answer)
}

// placed is a compaction in the session, and the requests for its summary, if known.
type placed struct {
	entry entry.Entry
	asked []exchange
}

// newCompactions measures the compactions since its last call and returns them. number, line and tokens are those of
// the request after them; line and tokens are 0 after the last request.
func (m *measuring) newCompactions(ctx context.Context, number, line, tokens int) ([]placed, error) {
	entries, err := m.newEntries(ctx)
	if err != nil {
		return nil, err
	}
	done := m.taken()
	made := make([]placed, len(entries))
	for i, e := range entries {
		c, err := m.compaction(ctx, e)
		if err != nil {
			return nil, err
		}
		made[i].entry = e
		if i < len(done) {
			made[i].asked = done[i].asked
			c.Reason, c.Background = done[i].event.Reason, done[i].event.Background
		}
		if c.Request, c.Line = number, line; c.TokensAfter == 0 {
			c.TokensAfter = tokens
		}
		m.run.Compactions = append(m.run.Compactions, c)
	}
	return made, nil
}

// newEntries returns the compactions on the path since its last call.
func (m *measuring) newEntries(ctx context.Context) ([]entry.Entry, error) {
	latest, ok, err := m.session.Latest(ctx, entry.TypeCompaction)
	if err != nil || !ok || latest.ID == m.latest {
		return nil, err
	}
	var list []entry.Entry
	for e, err := range m.session.PathTo(ctx, latest.ID) {
		if err != nil {
			return nil, err
		}
		if e.Type() == entry.TypeCompaction {
			list = append(list, e)
		}
		if e.ID == m.latest {
			list = nil
		}
	}
	m.latest = latest.ID
	return list, nil
}

// compaction measures one compaction.
func (m *measuring) compaction(ctx context.Context, e entry.Entry) (Compaction, error) {
	before, err := m.session.ViewAt(ctx, e.Parent)
	if err != nil {
		return Compaction{}, err
	}
	after, err := m.session.ViewAt(ctx, e.ID)
	if err != nil {
		return Compaction{}, err
	}
	shown := after.Messages()
	kept := len(shown) - len(after.Compacted)
	c := e.Compaction()
	return Compaction{
		Mode: c.Mode, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter, StandIn: m.count(c.Messages),
		Covered: len(before.Messages()) - len(before.Compacted) - kept, Kept: kept, KeptTokens: m.count(shown[len(after.Compacted):]),
	}, nil
}

func (m *measuring) count(messages []chat.Message) (tokens int) {
	for _, message := range messages {
		tokens += m.tokenizer.CountMessage(message)
	}
	return tokens
}
