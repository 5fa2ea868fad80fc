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
	"github.com/promptree-go/promptree/internal/stepping"
	"github.com/promptree-go/promptree/sizing"
)

// pricesNamed returns the prices of a model, or those of a list such as "input=5,read=0.5,write=6.25,output=25,least=4096".
// A lifetime above 0 is the cache's; if it is the longer one of the model, all writes are charged for as such.
func pricesNamed(name string, lifetime time.Duration) (p sizing.Prices, err error) {
	if !strings.Contains(name, "=") {
		p, err = sizing.PublishedPrices().Of(name)
	} else {
		p, err = listedPrices(name)
	}
	switch {
	case err != nil:
		return p, err
	case lifetime < 0:
		return p, fmt.Errorf("-ttl is %v: it is above 0", lifetime)
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

// billerFor makes what prices requests, nil without prices.
func billerFor(prices, summaries string, lifetime time.Duration) (*biller, error) {
	if prices == "" {
		if summaries != "" || lifetime != 0 {
			return nil, errors.New("-summary-prices and -ttl are for -prices, and there are none")
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
			err = fmt.Errorf("it is input, read, write, output or least")
		}
		if err != nil {
			return p, fmt.Errorf("-prices: %q: %w", pair, err)
		}
	}
	return p, nil
}

// scaled counts as another tokenizer does, times a factor: in the tokens of the model that was recorded.
type scaled struct {
	base   chat.Tokenizer
	factor float64
}

func (s scaled) by(n int) int { return int(math.Round(s.factor * float64(n))) }

func (s scaled) CountText(text string) int        { return s.by(s.base.CountText(text)) }
func (s scaled) CountPart(p chat.Part) int        { return s.by(s.base.CountPart(p)) }
func (s scaled) CountMessage(m chat.Message) int  { return s.by(s.base.CountMessage(m)) }
func (s scaled) CountTools(tools []chat.Tool) int { return s.by(s.base.CountTools(tools)) }

// fit fits y = a + b·x by least squares, with a of 0 or more. It is false if there are too few points.
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

// Bill is what the requests of a run would have cost, in dollars, with the restarts of the recording.
type Bill struct {
	// Kept is the total, Pinned what it would be without the restarts.
	Kept   float64 `json:"keptDollars"`
	Pinned float64 `json:"pinnedDollars"`
	// What of Kept is for reads from the cache, writes to it, other input, answers, and summaries.
	Read      float64 `json:"readDollars"`
	Written   float64 `json:"writtenDollars"`
	Input     float64 `json:"inputDollars"`
	Output    float64 `json:"outputDollars"`
	Summaries float64 `json:"summaryDollars"`
	// Uncompacted is what the requests would have cost if nothing had ever been compacted or cleared and the window had no end,
	// and PinnedUncompacted what that would be without the restarts.
	Uncompacted       float64 `json:"uncompactedDollars"`
	PinnedUncompacted float64 `json:"pinnedUncompactedDollars"`
}

// plus adds what another run cost.
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
	summaries sizing.Prices // of the model that writes them
	fixed     int           // tokens of the system prompt and the tools that the recording does not have
	restarts  map[int]bool  // by line
	usage     bool          // the recording has usage, so that an answer without one was called off
	last      time.Time
}

// writer has the prices of the model that writes summaries, if that is not the agent's.
func (b *biller) writer() sizing.Prices {
	if b.summaries == b.prices {
		return sizing.Prices{}
	}
	return b.summaries
}

// request adds a request of so many tokens, of which so many from the first on are as in the one before. It returns what the
// provider would have reported of it, without what the recording does not have.
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

// calls adds what the requests for summaries cost: what they have in common with the agent's last request is read from the
// cache if the same model is asked, and nothing is written.
func (b *biller) calls(bill *Bill, c Calls) {
	cached := c.Cached
	if b.writer() != (sizing.Prices{}) {
		cached = 0
	}
	bill.Summaries = b.summaries.Of(chat.Usage{Input: c.Sent, CacheRead: cached, Output: c.Answered}).Total()
	bill.Kept += bill.Summaries
	bill.Pinned += bill.Summaries
}
