package folderagent

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/replay"
)

// Costs is the cost of a session's requests, in US dollars.
type Costs struct {
	// Spent is the cost of all requests, Summaries that of the requests for summaries.
	Spent, Summaries float64
	// Whole is the cost that the requests would have had if nothing had been compacted or cleared and the window were
	// unlimited, 0 if that is not known. Needed is the size of the largest of them then, with its tools, in tokens.
	Whole  float64
	Needed int
}

// String returns a text such as "$0.12, $0.01 of it for summaries". It says what was saved only if something was.
func (c Costs) String() string {
	text := fmt.Sprintf("$%.4f, $%.4f of it for summaries", c.Spent, c.Summaries)
	if c.Whole > c.Spent*1.005 {
		text += fmt.Sprintf("; saved %.0f%% of $%.4f without compaction", 100*(1-c.Spent/c.Whole), c.Whole)
	}
	return text
}

// Costs returns what the session has cost, by the usage in its file, with the summaries since the watch was attached. Package
// replay works out what it would have cost without compaction, unless the context has ended.
func (w *Watch) Costs(ctx context.Context) (Costs, error) {
	w.mu.Lock()
	costs := Costs{Spent: w.summaries, Summaries: w.summaries}
	w.mu.Unlock()
	prices := w.compactor.Current().Prices
	file, err := os.Open(w.compactor.Session.Path())
	if err != nil {
		return costs, err
	}
	defer file.Close()
	recording, err := importer.Read(file)
	if err != nil {
		return costs, err
	}
	for _, rec := range recording.Path(recording.Leaf) {
		costs.Spent += prices.Of(rec.Usage).Total()
	}
	if costs.Spent == 0 || ctx.Err() != nil {
		return costs, nil
	}
	session := &replay.Session{Recording: recording, Prices: prices}
	never, err := replay.Run(ctx, session, policy.Policy{Off: true}, replay.Options{ContextWindow: math.MaxInt32, Unchecked: true})
	if err != nil {
		return costs, err
	}
	costs.Whole, costs.Needed = never.Bill.Kept, never.Requests.Largest
	return costs, nil
}

// Foretold returns a model that predicts the usage of each request if its own reports none: from our own count and the
// messages that a request shares with the one before it. It is not safe for concurrent use.
func Foretold(model chat.Model, t chat.Tokenizer, prices sizing.Prices) chat.Model {
	var cache sizing.PromptCache // of the last request
	return chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
		answer, err := model.Generate(ctx, req)
		if err == nil && answer.Usage.Input == 0 {
			now := time.Now()
			sent := sizing.NewSent(now, t, req.Messages, req.Tools)
			answer.Usage = prices.Foretell(sizing.Planned{
				Input: sent.Compare(nil, nil).All, Output: t.CountMessage(answer.Message),
				Cached: cache.Holds(cache.Sent.Compare(req.Messages, req.Tools), now),
			})
			cache = sizing.PromptCache{Prices: prices, Usage: answer.Usage, Sent: sent}
		}
		return answer, err
	})
}
