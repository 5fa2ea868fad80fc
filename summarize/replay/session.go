package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/replay/internal/stepping"
)

// Session is a recorded session and what its requests cost. What all its replays have in common is worked out once, by the
// first: do not change the fields after that. It is safe for concurrent use.
type Session struct {
	// Recording of the session, as package importer reads it.
	Recording *importer.Recording
	// Prices of the model that answered, such as those of [modelinfo.Prices]. None by default: then there are no
	// dollars.
	Prices sizing.Prices
	// Summarizer holds the prices of the model that writes summaries. Defaults to the model that answered, which then
	// reads from the cache what a request for a summary shares with the agent's last one.
	Summarizer sizing.Prices
	// Lifetime says what requests would have cost with another lifetime of the provider's cache. Defaults to the one that
	// each recorded request asked for, else that of Prices. If it is Prices.LongLifetime, writes have the price of long
	// writes. What was recorded is never priced anew.
	Lifetime time.Duration
	// Table has the windows of models. Defaults to [modelinfo.Published].
	Table *modelinfo.Table

	mu    sync.Mutex
	known *basis
}

// basis holds what all replays of a session have in common.
type basis struct {
	tokenizer chat.Tokenizer // counts in the tokens of the recorded model, if it has usage
	fixed     int            // tokens of each request that the recording does not have
	biller    *biller        // nil without prices
	never     Bill           // of the session if nothing is compacted
	model     string         // the last model that the session names
	largest   int            // input that was reported of a request
}

// basis works out what all replays have in common.
func (s *Session) basis(ctx context.Context) (*basis, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil {
		return s.known, nil
	}
	if s.Recording == nil {
		return nil, errors.New("replay: Session.Recording is nil: read one with package importer")
	}
	counter := tiktoken.O200k()
	b := &basis{tokenizer: counter}
	for _, rec := range s.Recording.Path(s.Recording.Leaf) {
		b.model = cmp.Or(modelOf(rec), b.model)
		b.largest = max(b.largest, rec.Usage.Input)
	}
	priced := s.Prices != (sizing.Prices{})
	if priced || b.largest > 0 {
		recorded, err := s.requests(ctx, counter, true)
		if err != nil {
			return nil, err
		}
		factor := b.fit(counter, recorded)
		if priced {
			if err := s.price(ctx, b, counter, recorded, factor); err != nil {
				return nil, err
			}
		}
	}
	s.known = b
	return b, nil
}

// modelOf returns the name of the model that a record names, "" if it names none.
func modelOf(rec importer.Record) string {
	switch b := rec.Body.(type) {
	case entry.ModelChange:
		return b.Model
	case entry.Usage:
		return b.Model
	case entry.Message: // pi and Claude Code name it beside each answer
		var data struct {
			Model   string
			Message struct{ Model string }
		}
		if b.Role == chat.RoleAssistant && json.Unmarshal(b.Data, &data) == nil {
			return cmp.Or(data.Message.Model, data.Model)
		}
	}
	return ""
}

// fit fits the tokens of the requests, as recorded, to the input that was reported, and returns how many tokens of the
// model one of the counter's is.
func (b *basis) fit(counter chat.Tokenizer, recorded []sent) (factor float64) {
	var counted, reported []float64
	for _, q := range recorded {
		if q.step.Usage.Input > 0 {
			counted, reported = append(counted, float64(q.tokens)), append(reported, float64(q.step.Usage.Input))
		}
	}
	if len(counted) == 0 {
		return 1
	}
	fixed, factor := fit(counted, reported)
	b.fixed, b.tokenizer = int(fixed), scaled{counter, factor}
	return factor
}

// price sets the bills of a session with prices.
func (s *Session) price(ctx context.Context, b *basis, counter chat.Tokenizer, recorded []sent, factor float64) error {
	if s.Lifetime < 0 {
		return fmt.Errorf("replay: Session.Lifetime is %v: set 0 or more", s.Lifetime)
	}
	if err := errors.Join(s.Prices.Validate(), s.Summarizer.Validate()); err != nil {
		return fmt.Errorf("replay: prices of the session: %w", err)
	}
	b.biller = &biller{prices: s.Prices, summarizer: s.Summarizer, lifetime: s.Lifetime, fixed: b.fixed}
	if b.biller.summarizer == s.Prices {
		b.biller.summarizer = sizing.Prices{}
	}
	uncompacted, err := s.requests(ctx, counter, false)
	if err != nil {
		return err
	}
	if b.largest > 0 {
		check := check(s.Recording, s.Prices)
		b.biller.check, b.biller.prices = check, check.Prices
		check.Fixed, check.Factor = b.fixed, factor
		check.Replayed = b.biller.billed(factor, recorded).Kept
		check.judge(check.Replayed)
	}
	b.never = b.biller.billed(factor, uncompacted)
	return nil
}

// sent is a request in an unlimited window. whole of its tokens are in whole messages that the request before began with.
type sent struct {
	step          stepping.Step
	tokens, whole int
	answer        int // tokens of the answer
}

// requests returns the requests of a session, with its own compactions or without any.
func (s *Session) requests(ctx context.Context, t chat.Tokenizer, compactions bool) (list []sent, err error) {
	session := numbered.Replay(numbered.NewClock(s.Recording.Header.Time))
	last := prefix{tokenizer: t}
	for step, err := range stepping.Steps(ctx, s.Recording, session, stepping.Options{Compactions: compactions}) {
		if err != nil {
			return nil, badSession(ctx, err)
		}
		view, err := session.View(ctx)
		if err != nil {
			return nil, err
		}
		request := append([]chat.Message{chat.SystemMessage(stepping.Instructions)}, view.Messages()...)
		whole := last.common(request)
		list = append(list, sent{step: step, tokens: last.send(request), whole: whole, answer: t.CountMessage(step.Answer)})
	}
	return list, nil
}

// badSession returns the error of a session that cannot be replayed.
func badSession(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("replay: the session cannot be replayed: %w", err)
}

// Requests returns the number of requests to the recorded model.
func (s *Session) Requests() int { return stepping.Requests(s.Recording) }

// Check compares the cost model with the usage that was recorded. It is nil without prices or usage.
func (s *Session) Check(ctx context.Context) (*Check, error) {
	b, err := s.basis(ctx)
	if err != nil || b.biller == nil {
		return nil, err
	}
	return b.biller.check, nil
}

// Tokenizer returns the tokenizer of the session's replays, and the number of tokens in each request that the recording
// does not have, such as the system prompt and the tools. If there is usage, both are fitted to it and are tokens of
// the recorded model, else of o200k_base.
func (s *Session) Tokenizer(ctx context.Context) (t chat.Tokenizer, fixed int, err error) {
	b, err := s.basis(ctx)
	if err != nil {
		return nil, 0, err
	}
	return b.tokenizer, b.fixed, nil
}

// Model returns the name of the last model that the session names, "" if it names none, and the context window of that
// model in tokens. known is false if the window is only assumed.
func (s *Session) Model(ctx context.Context) (name string, window int, known bool, err error) {
	b, err := s.basis(ctx)
	if err != nil {
		return "", 0, false, err
	}
	window, known = windowOf(s.Table, b.model, b.largest)
	return b.model, window, known, nil
}

// windowOf returns the most input tokens that a model takes which took a request of a number of tokens, and whether that is
// known and not guessed.
func windowOf(table *modelinfo.Table, model string, largest int) (window int, known bool) {
	window = sizing.DefaultTokens
	if m, err := table.Find(model); err == nil {
		if tokens, err := m.WindowFor(0).Effective(); err == nil {
			window, known = tokens, !m.Guessed()
		}
	}
	if largest > window {
		window, known = max(longWindow, largest), false
	}
	return window, known
}

// longWindow is assumed, in tokens, of a model that took more than its known window: Claude's models of 200,000 take a
// million if a request asks for it.
const longWindow = 1_000_000

// scaled multiplies the counts of a tokenizer by a factor, to count in the tokens of the recorded model.
type scaled struct {
	base   chat.Tokenizer
	factor float64
}

func (s scaled) by(n int) int { return int(math.Round(s.factor * float64(n))) }

func (s scaled) CountText(text string) int        { return s.by(s.base.CountText(text)) }
func (s scaled) CountPart(p chat.Part) int        { return s.by(s.base.CountPart(p)) }
func (s scaled) CountMessage(m chat.Message) int  { return s.by(s.base.CountMessage(m)) }
func (s scaled) CountTools(tools []chat.Tool) int { return s.by(s.base.CountTools(tools)) }

// fit fits y = a + b·x by least squares, with a of 0 or more. With fewer than 8 points, or if no line with b > 0 fits, b
// is 1, and a the mean of what is missing. If a would be below 0, the line goes through the origin.
func fit(x, y []float64) (a, b float64) {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		n++
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	b = 1
	if spread := n*sxx - sx*sx; n >= 8 && spread > 0 && n*sxy > sx*sy {
		b = (n*sxy - sx*sy) / spread
	}
	if a = (sy - b*sx) / max(1, n); a < 0 && sx > 0 {
		a, b = 0, sy/sx
	}
	return max(0, a), b
}
