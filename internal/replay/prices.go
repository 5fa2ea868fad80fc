package replay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/sizing"
)

// pricesNamed returns the prices of a model, or those of a list such as
// "input=5,read=0.5,write=6.25,output=25,least=4096". A lifetime above 0 replaces that of the model's cache. If it is
// the model's long lifetime, all writes have the price of long writes.
func pricesNamed(name string, lifetime time.Duration) (p sizing.Prices, err error) {
	if !strings.Contains(name, "=") {
		if p, err = sizing.PublishedPrices().Of(name); err != nil {
			err = fmt.Errorf("the prices of model %q are unknown: give them as input=3,read=0.3,write=3.75,output=15, in dollars a million tokens", name)
		}
	} else {
		p, err = listedPrices(name)
	}
	switch {
	case err != nil:
		return p, err
	case lifetime < 0:
		return p, fmt.Errorf("-ttl is %v: set a time above 0", lifetime)
	case lifetime > 0 && lifetime == p.LongLifetime:
		for _, r := range []*sizing.Rates{&p.Rates, &p.LongRates} {
			r.CacheWrite = cmp.Or(r.CacheWriteLong, r.CacheWrite)
		}
	}
	if lifetime > 0 {
		p.Lifetime, p.LongLifetime = lifetime, 0
	}
	return p, p.Validate()
}

// billerFor returns the biller that the flags ask for, nil without prices.
func billerFor(prices, summaries string, lifetime time.Duration) (*biller, error) {
	if prices == "" {
		if summaries != "" || lifetime != 0 {
			return nil, errors.New("-summary-prices and -ttl need -prices: set -prices")
		}
		return nil, nil
	}
	b := &biller{}
	var err error
	if b.prices, err = pricesNamed(prices, lifetime); err != nil {
		return nil, err
	}
	if b.summaries = b.prices; summaries != "" {
		b.summaries, err = pricesNamed(summaries, 0)
	}
	return b, err
}

func listedPrices(list string) (sizing.Prices, error) {
	p := sizing.Prices{Lifetime: 5 * time.Minute}
	rates := map[string]*float64{"input": &p.Input, "read": &p.CacheRead, "write": &p.CacheWrite, "output": &p.Output}
	for _, pair := range strings.Split(list, ",") {
		name, value, _ := strings.Cut(pair, "=")
		var err error
		if rate := rates[name]; rate != nil {
			*rate, err = strconv.ParseFloat(value, 64)
		} else if name == "least" {
			p.LeastCached, err = strconv.Atoi(value)
		} else {
			err = errors.New("the names are input, read, write, output and least")
		}
		if err != nil {
			return p, fmt.Errorf("-prices: %q: %w", pair, err)
		}
	}
	return p, nil
}

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

// fit fits y = a + b·x by least squares, with a of 0 or more. ok is false if there are too few points, or no line with
// b > 0 fits.
func fit(x, y []float64) (a, b float64, ok bool) {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		n++
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	if spread := n*sxx - sx*sx; n < 8 || spread <= 0 {
		return 0, 0, false
	} else if b = (n*sxy - sx*sy) / spread; b <= 0 {
		return 0, 0, false
	}
	if a = (sy - b*sx) / n; a < 0 {
		a, b = 0, sy/sx
	}
	return a, b, true
}

// Bill holds the cost of a run's requests in dollars, with the restarts of the recording.
type Bill struct {
	// Kept is the total, Pinned the total without the restarts.
	Kept   float64 `json:"keptDollars"`
	Pinned float64 `json:"pinnedDollars"`
	// The parts of Kept: reads from the cache, writes to it, other input, answers, and summaries.
	Read      float64 `json:"readDollars"`
	Written   float64 `json:"writtenDollars"`
	Input     float64 `json:"inputDollars"`
	Output    float64 `json:"outputDollars"`
	Summaries float64 `json:"summaryDollars"`
	// Uncompacted is the cost of the requests if nothing were compacted or cleared in an unlimited window,
	// PinnedUncompacted the same without the restarts.
	Uncompacted       float64 `json:"uncompactedDollars"`
	PinnedUncompacted float64 `json:"pinnedUncompactedDollars"`
}

// plus adds the cost of another run.
func (b *Bill) plus(other Bill) {
	b.Kept += other.Kept
	b.Pinned += other.Pinned
	b.Read += other.Read
	b.Written += other.Written
	b.Input += other.Input
	b.Output += other.Output
	b.Summaries += other.Summaries
	b.Uncompacted += other.Uncompacted
	b.PinnedUncompacted += other.PinnedUncompacted
}

// biller prices requests as they are sent.
type biller struct {
	prices    sizing.Prices
	summaries sizing.Prices // of the model that writes summaries
	fixed     int           // tokens of the system prompt and the tools, which the recording does not have
	restarts  map[int]bool  // by line
	usage     bool          // the recording has usage, so an answer without usage was cancelled
	last      time.Time     // of the last request
}

// summarizer returns the prices of the model that writes summaries, the zero value if they are the agent's.
func (b *biller) summarizer() sizing.Prices {
	if b.summaries == b.prices {
		return sizing.Prices{}
	}
	return b.summaries
}

// request adds a request to the bill. common of its tokens are in a prefix shared with the request before, answered are
// the tokens of the answer. It returns the usage that the provider would have reported, less the tokens that the
// recording does not have.
func (b *biller) request(bill *Bill, step stepping.Step, tokens, common, answered int) chat.Usage {
	if b.usage && step.Usage.Input == 0 {
		return chat.Usage{}
	}
	if common > 0 {
		common += b.fixed
	}
	if b.last.IsZero() || step.Time.Sub(b.last) > b.prices.Lifetime {
		common = 0
	}
	b.last = step.Time
	planned := sizing.Planned{Input: tokens + b.fixed, Cached: common, Output: answered}
	bill.Pinned += b.prices.Of(b.prices.Foretell(planned)).Total()
	if b.restarts[step.Line] {
		planned.Cached = 0
	}
	usage := b.prices.Foretell(planned)
	cost := b.prices.Of(usage)
	bill.Kept += cost.Total()
	bill.Read += cost.CacheRead
	bill.Written += cost.CacheWrite
	bill.Input += cost.Input
	bill.Output += cost.Output
	usage.Input -= b.fixed
	fixed := min(b.fixed, usage.CacheRead)
	usage.CacheRead, usage.CacheWrite = usage.CacheRead-fixed, max(0, usage.CacheWrite-b.fixed+fixed)
	return usage
}

// calls adds the cost of the requests for summaries. The prefix that they share with the agent's last request is read
// from the cache if they go to the same model. Nothing is written to the cache.
func (b *biller) calls(bill *Bill, c Calls) {
	cached := c.Cached
	if b.summarizer() != (sizing.Prices{}) {
		cached = 0
	}
	bill.Summaries = b.summaries.Of(chat.Usage{Input: c.Sent, CacheRead: cached, Output: c.Answered}).Total()
	bill.Kept += bill.Summaries
	bill.Pinned += bill.Summaries
}

// setUncompacted sets what the session of a run with prices would have cost without compactions.
func (r *replayer) setUncompacted(s source, run *Run) {
	if r.biller == nil {
		return
	}
	run.Bill.Uncompacted = r.uncompacted(s, true) + run.Bill.Output
	run.Bill.PinnedUncompacted = r.uncompacted(s, false) + run.Bill.Output
}

// uncompacted returns the cost of a session without compactions and answers. A request is cold if the cache has expired
// or, with restarts, if the recorded request read nothing.
func (r *replayer) uncompacted(s source, restarts bool) (dollars float64) {
	input, cached := r.biller.fixed, 0
	answers := stepping.Answering()
	var last time.Time
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if rec.Type() == entry.TypeCompaction {
			continue
		}
		answered := answers(rec)
		m, shown := rec.Shown()
		if !shown {
			continue
		}
		if answered && (rec.Usage.Input > 0 || !r.biller.usage) {
			if expired := rec.Time.Sub(last) > r.biller.prices.Lifetime; expired || restarts && r.biller.restarts[rec.Line] {
				cached = 0
			}
			dollars += r.biller.prices.Of(r.biller.prices.Foretell(sizing.Planned{Input: input, Cached: cached})).Total()
			cached, last = input, rec.Time
		}
		input += r.tokenizer.CountMessage(m)
	}
	return dollars
}
