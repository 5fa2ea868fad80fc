package replay

import (
	"cmp"
	"math"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/replay/internal/stepping"
)

// Bill holds the cost of a run's requests in dollars, with the restarts of the recording.
type Bill struct {
	// Kept is the total.
	Kept float64 `json:"keptDollars"`
	// The parts of Kept: reads from the cache, writes to it, other input, answers, and summaries.
	Read      float64 `json:"readDollars"`
	Written   float64 `json:"writtenDollars"`
	Input     float64 `json:"inputDollars"`
	Output    float64 `json:"outputDollars"`
	Summaries float64 `json:"summaryDollars"`
	// Restarts is what of Kept the restarts of the recording cost: requests that read nothing before the cache had expired.
	Restarts float64 `json:"restartDollars"`
	// Uncompacted is the cost of the requests if nothing were compacted or cleared in an unlimited window.
	Uncompacted float64 `json:"uncompactedDollars"`
}

// biller prices requests as they are sent.
type biller struct {
	prices     sizing.Prices
	summarizer sizing.Prices // of the model that writes summaries, the zero value if it is the agent's
	lifetime   time.Duration // of the cache, in place of those that the recording asked for; 0 for these
	fixed      int           // tokens of the system prompt and the tools, which the recording does not have
	check      *Check        // of the recording, nil if it has no usage

	begun bool          // a request was sent
	sent  time.Time     // of the last request
	long  float64       // share of the latest writes that were for the longer lifetime
	kept  time.Duration // how long the cache keeps the last request
}

// planning returns the prices that a policy is given: of the lifetime that the requests ask for.
func (b *biller) planning() sizing.Prices {
	p, lifetime := b.prices, b.lifetime
	if lifetime == 0 && b.check != nil && b.check.Long > 0.5 {
		lifetime = p.LongLifetime
	}
	if lifetime == 0 {
		return p
	}
	if lifetime == p.LongLifetime {
		for _, r := range []*sizing.Rates{&p.Rates, &p.LongRates} {
			r.CacheWrite = cmp.Or(r.CacheWriteLong, r.CacheWrite)
		}
	}
	p.Lifetime, p.LongLifetime = lifetime, 0
	return p
}

// request adds a request to the bill. common of its tokens are in a prefix shared with the request before, answered are
// the tokens of the answer. It returns the usage that the provider would have reported, and the cost.
func (b *biller) request(bill *Bill, step stepping.Step, tokens, common, answered int) (chat.Usage, StepCost) {
	if b.check != nil && step.Usage.Input == 0 {
		return chat.Usage{}, StepCost{}
	}
	if common > 0 {
		common += b.fixed
	}
	after := step.Time.Sub(b.sent)
	expired := after > b.kept
	if !b.begun { // the cache may hold the system prompt of another session
		common, expired = step.Usage.CacheRead, false
	}
	b.writes(step)
	kept := !expired
	if b.check != nil {
		common -= common % b.check.Step
		outcome := b.check.outcomes[step.ID]
		kept = outcome != outcomeRestart && (kept || b.lifetime == 0 && outcome == outcomeOutlived)
	}
	usage := b.usage(tokens, common, answered, kept)
	cost := b.prices.Of(usage)
	bill.Kept += cost.Total()
	bill.Read += cost.CacheRead
	bill.Written += cost.CacheWrite
	bill.Input += cost.Input
	bill.Output += cost.Output
	c := StepCost{Dollars: cost.Total()}
	if common > 0 && !kept {
		c.Lost = Lost{Tokens: common, Expired: expired, After: after, Dollars: c.Dollars - b.prices.Of(b.usage(tokens, common, answered, true)).Total()}
		if !expired {
			bill.Restarts += c.Lost.Dollars
		}
	}
	return usage, c
}

// StepCost is what one request cost, in dollars. The costs of all requests and of the requests for summaries add up to
// [Bill].Kept and [Recall].Dollars.
type StepCost struct {
	// Dollars of the request, with the restarts of the recording.
	Dollars float64
	// Lost says what the provider had dropped from its cache.
	Lost Lost
	// Missed are the facts that the answer needed and that the request does not show, and LookBack is the cost of looking
	// up what it missed, and of carrying what was looked up before.
	Missed   []string
	LookBack float64
}

// Lost is a prefix that a provider no longer had in its cache.
type Lost struct {
	// Tokens of the prefix, 0 if nothing was lost, and the Dollars that this cost.
	Tokens  int
	Dollars float64
	// Expired reports whether the cache's lifetime was over, After the request before; otherwise the recording had a
	// restart.
	Expired bool
	After   time.Duration
}

// writes records when a request is sent and for how long the cache keeps it.
func (b *biller) writes(step stepping.Step) {
	b.begun, b.sent, b.kept = true, step.Time, b.prices.Lifetime
	switch written := step.Usage.CacheWrite; {
	case b.lifetime > 0 && b.lifetime == b.prices.LongLifetime:
		b.long = 1
	case b.lifetime > 0:
		b.kept = b.lifetime
	case written > 0:
		b.long = float64(step.Usage.CacheWriteLong) / float64(written)
	}
	if b.long > 0 {
		b.kept = max(b.kept, b.prices.LongLifetime)
	}
}

// usage returns the usage that the provider would report for a request, with what the recording does not have. The
// cache holds the common tokens, or nothing.
func (b *biller) usage(tokens, common, answered int, held bool) chat.Usage {
	planned := sizing.Planned{Input: tokens + b.fixed, Output: answered}
	if held {
		planned.Cached = common
	}
	u := b.prices.Foretell(planned)
	u.CacheWriteLong = int(math.Round(b.long * float64(u.CacheWrite)))
	return u
}

// summaries adds the cost of the requests for summaries. The prefix that they share with the agent's last request is read
// from the cache if they go to the same model. Nothing is written to the cache.
func (b *biller) summaries(bill *Bill, r Requests) {
	prices, cached := b.prices, r.Cached
	if b.summarizer != (sizing.Prices{}) {
		prices, cached = b.summarizer, 0
	}
	bill.Summaries = prices.Of(chat.Usage{Input: r.Tokens, CacheRead: cached, Output: r.Answered}).Total()
	bill.Kept += bill.Summaries
}

// billed returns the cost of requests, whose tokens are those of o200k_base, each of which is a factor of the model's.
func (b biller) billed(factor float64, list []sent) (bill Bill) {
	by := scaled{factor: factor}.by
	for _, q := range list {
		answered := q.step.Usage.Output
		if q.step.Usage.Input == 0 {
			answered = by(q.answer)
		}
		b.request(&bill, q.step, by(q.tokens), by(q.whole), answered)
	}
	return bill
}
