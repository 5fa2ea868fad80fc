package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/replay/prefix"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/event"
)

// Costs is the cost of a session's requests, in US dollars.
type Costs struct {
	// Spent is the cost of all requests, Summaries that of the requests for summaries.
	Spent     float64 `json:"dollars"`
	Summaries float64 `json:"summaryDollars"`
	// Whole is the cost that the requests would have had if nothing had been compacted or cleared and the window were
	// unlimited.
	Whole float64 `json:"uncompactedDollars"`
}

// String returns a text such as "$0.12, of which $0.01 for summaries; $0.30 if nothing had been compacted".
func (c Costs) String() string {
	return fmt.Sprintf("$%.4f, of which $%.4f for summaries; $%.4f if nothing had been compacted", c.Spent, c.Summaries, c.Whole)
}

// Meter adds up the cost of requests. It is not safe for concurrent use.
type Meter struct {
	// Prices of the model.
	Prices sizing.Prices

	costs       Costs
	prefix      prefix.Prefix      // the last request
	uncompacted sizing.PromptCache // the last request if nothing had been compacted
	leaf        string             // the last entry that is counted
	messages    int                // tokens of all messages
	overhead    int                // tokens of a request besides the messages of the session
}

// Costs returns the cost of the requests so far.
func (m *Meter) Costs() Costs { return m.costs }

// AddRequest adds a request that was answered at a time. If the provider reported no usage, it is predicted from our
// own count and the part that the request shares with the one before it.
func (m *Meter) AddRequest(ctx context.Context, s *history.Session, t chat.Tokenizer, sent *render.Result, answer chat.Response, tools []chat.Tool, at time.Time) error {
	counted, usage := sent.Tokens+t.CountTools(tools), answer.Usage
	if usage.Input == 0 {
		m.prefix.Tokenizer = t
		n, held := m.prefix.Whole(sent.Messages)
		m.prefix.Send(sent.Messages)
		if held += counted - sent.Tokens; n == 0 || m.uncompacted.Expired(at) {
			held = 0
		}
		usage = m.Prices.Foretell(sizing.Planned{Input: counted, Cached: held, Output: t.CountMessage(answer.Message)})
	}
	m.costs.Spent += m.Prices.Of(usage).Total()

	if err := m.countMessages(ctx, s, t, counted); err != nil {
		return err
	}
	scale := float64(usage.Input) / float64(max(1, counted)) // from our tokens to the provider's
	whole := m.Prices.Foretell(sizing.Planned{
		Input: max(usage.Input, int(scale*float64(m.messages+m.overhead))), Cached: m.uncompacted.Holds(sizing.Shared{}, at), Output: usage.Output,
	})
	m.costs.Whole += m.Prices.Of(whole).Total()
	m.uncompacted = sizing.PromptCache{Prices: m.Prices, Usage: whole, Sent: sizing.Sent{Time: at}}
	return nil
}

// countMessages counts the messages appended since the last request. Before the first request it also works out the
// tokens of a request besides the session, from the counted size of the request.
func (m *Meter) countMessages(ctx context.Context, s *history.Session, t chat.Tokenizer, counted int) error {
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return err
		}
		if e.ID == m.leaf {
			break
		}
		if said, shown := e.Shown(); shown {
			m.messages += t.CountMessage(said)
		}
	}
	if m.leaf == "" {
		view, err := s.View(ctx)
		if err != nil {
			return err
		}
		m.overhead = counted
		for _, shown := range view.Messages() {
			m.overhead -= t.CountMessage(shown)
		}
	}
	m.leaf = s.Leaf()
	return nil
}

// AddEvent adds the cost of a compaction. If no usage was reported, it is that of the summary and of the whole prompt,
// read by a model whose cache holds none of it.
func (m *Meter) AddEvent(e event.Event, t chat.Tokenizer) {
	usage := e.Usage
	if e.Kind == event.Done && usage.Input == 0 {
		usage = chat.Usage{Input: e.TokensBefore, Output: t.CountText(e.Summary)}
	}
	switch e.Kind {
	case event.Done, event.Failed, event.Cancelled, event.Discarded, event.Dropped:
		cost := m.Prices.Of(usage).Total()
		m.costs.Summaries += cost
		m.costs.Spent += cost
	}
}
