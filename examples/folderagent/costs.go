package folderagent

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/event"
)

// Costs is the cost of a session's requests, in US dollars.
type Costs struct {
	// Spent is the cost of all requests, Summaries that of the requests for summaries.
	Spent     float64 `json:"dollars"`
	Summaries float64 `json:"summaryDollars"`
	// Whole is the cost that the requests would have had if nothing had been compacted or cleared and the window were
	// unlimited. Needed is the size of the largest of them then, with its tools, in tokens.
	Whole  float64 `json:"uncompactedDollars"`
	Needed int     `json:"uncompactedTokens"`
}

// String returns a text such as "$0.12, $0.01 of it for summaries". It says what was saved only if something was.
func (c Costs) String() string {
	text := fmt.Sprintf("$%.4f, $%.4f of it for summaries", c.Spent, c.Summaries)
	if c.Whole > c.Spent*1.005 {
		text += fmt.Sprintf("; saved %.0f%% of $%.4f without compaction", 100*(1-c.Spent/c.Whole), c.Whole)
	}
	return text
}

// Forecast predicts the usage of requests that nobody reports: from our own count and the messages that a request
// shares with the one before it. It is not safe for concurrent use.
type Forecast struct {
	Tokenizer chat.Tokenizer
	Prices    sizing.Prices

	last   []chat.Message
	counts []int // of each message in last
	cache  sizing.PromptCache
}

// Usage returns the usage of a request that is answered at a time.
func (f *Forecast) Usage(messages []chat.Message, tools []chat.Tool, answer chat.Message, at time.Time) chat.Usage {
	shared := 0
	for shared < min(len(messages), len(f.last)) && reflect.DeepEqual(messages[shared], f.last[shared]) {
		shared++
	}
	counts := append([]int(nil), f.counts[:shared]...)
	sent := sizing.Planned{Input: f.Tokenizer.CountTools(tools), Output: f.Tokenizer.CountMessage(answer)}
	for i, m := range messages {
		if i == shared && shared > 0 && !f.cache.Expired(at) {
			sent.Cached = sent.Input
		}
		if i >= shared {
			counts = append(counts, f.Tokenizer.CountMessage(m))
		}
		sent.Input += counts[i]
	}
	f.last, f.counts = messages, counts
	usage := f.Prices.Foretell(sent)
	f.cache = sizing.PromptCache{Prices: f.Prices, Usage: usage, Sent: sizing.Sent{Time: at}}
	return usage
}

// Foretold returns a model that reports the predicted usage of each request if its own reports none.
func Foretold(model chat.Model, f *Forecast) chat.Model {
	return chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
		answer, err := model.Generate(ctx, req)
		if err == nil && answer.Usage.Input == 0 {
			answer.Usage = f.Usage(req.Messages, req.Tools, answer.Message, time.Now())
		}
		return answer, err
	})
}

// Meter adds up the cost of requests. It is not safe for concurrent use.
type Meter struct {
	// Prices of the model, and of the one that writes summaries.
	Prices, SummaryPrices sizing.Prices

	costs       Costs
	uncompacted sizing.PromptCache // the last request if nothing had been compacted
	leaf        string             // the last entry that is counted
	messages    int                // tokens of all messages
	overhead    int                // tokens of a request besides the messages of the session
}

// Costs returns the cost of the requests so far.
func (m *Meter) Costs() Costs { return m.costs }

// AddRequest adds a request that was answered at a time. counted is its size by our own count, with its tools, and
// changing that of its end, which no cache holds.
func (m *Meter) AddRequest(ctx context.Context, s *history.Session, t chat.Tokenizer, counted, changing int, usage chat.Usage, at time.Time) error {
	m.costs.Spent += m.Prices.Of(usage).Total()
	if err := m.countMessages(ctx, s, t, counted); err != nil {
		return err
	}
	needed := max(counted, m.messages+m.overhead)
	m.costs.Needed = max(m.costs.Needed, needed)
	scale := float64(usage.Input) / float64(max(1, counted)) // from our tokens to the provider's
	whole := m.Prices.Foretell(sizing.Planned{
		Input: max(usage.Input, int(scale*float64(needed))), Cached: max(0, m.uncompacted.Holds(sizing.Shared{}, at)-int(scale*float64(changing))), Output: usage.Output,
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

// AddEvent adds the cost of a compaction, as the model that wrote the summary reported it.
func (m *Meter) AddEvent(e event.Event) {
	switch e.Kind {
	case event.Done, event.Failed, event.Cancelled, event.Discarded, event.Dropped:
		prices := m.Prices
		if e.Model == Summarizer {
			prices = m.SummaryPrices
		}
		cost := prices.Of(e.Usage).Total()
		m.costs.Summaries += cost
		m.costs.Spent += cost
	}
}
