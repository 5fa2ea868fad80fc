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
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/sizing"
)

// pricesNamed returns the prices of a model, or those of a list such as
// "input=5,read=0.5,write=6.25,output=25,least=4096", which a flag gives.
func pricesNamed(flag, name string) (p sizing.Prices, err error) {
	if strings.Contains(name, "=") {
		p, err = listedPrices(flag, name)
	} else if p, err = sizing.PublishedPrices().Of(name); err != nil {
		err = fmt.Errorf("the prices of model %q are unknown: give them by %s input=3,read=0.3,write=3.75,output=15, in dollars a million tokens", name, flag)
	}
	return p, cmp.Or(err, p.Validate())
}

// billerFor returns the biller that the flags ask for, nil without prices.
func billerFor(prices, summaries string, lifetime time.Duration) (*biller, error) {
	if prices == "" {
		if summaries != "" || lifetime != 0 {
			return nil, errors.New("-summary-prices and -ttl need -prices: set -prices")
		}
		return nil, nil
	}
	if lifetime < 0 {
		return nil, fmt.Errorf("-ttl is %v: set a time above 0", lifetime)
	}
	b := &biller{lifetime: lifetime}
	var err error
	if b.prices, err = pricesNamed("-prices", prices); err != nil {
		return nil, err
	}
	if b.summaries = b.prices; summaries != "" {
		b.summaries, err = pricesNamed("-summary-prices", summaries)
	}
	return b, err
}

func listedPrices(flag, list string) (sizing.Prices, error) {
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
			return p, fmt.Errorf("%s: %q: %w", flag, pair, err)
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
	lifetime  time.Duration // of the cache, in place of those that the recording asked for; 0 for these
	fixed     int           // tokens of the system prompt and the tools, which the recording does not have
	check     *Check        // of the recording, nil if it has no usage

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
	if b.check != nil && step.Usage.Input == 0 {
		return chat.Usage{}
	}
	if common > 0 {
		common += b.fixed
	}
	expired := step.Time.Sub(b.sent) > b.kept
	if !b.begun { // the cache may hold the system prompt of another session
		common, expired = step.Usage.CacheRead, false
	}
	b.writes(step)
	pinned, kept := !expired, !expired
	if b.check != nil {
		common -= common % b.check.step
		kept = !b.check.restarts[step.Line] && (kept || b.lifetime == 0 && b.check.outlived[step.Line])
	}
	bill.Pinned += b.prices.Of(b.usage(tokens, common, answered, pinned)).Total()
	usage := b.usage(tokens, common, answered, kept)
	cost := b.prices.Of(usage)
	bill.Kept += cost.Total()
	bill.Read += cost.CacheRead
	bill.Written += cost.CacheWrite
	bill.Input += cost.Input
	bill.Output += cost.Output
	usage.Input -= b.fixed
	fixed := min(b.fixed, usage.CacheRead)
	usage.CacheRead, usage.CacheWrite = usage.CacheRead-fixed, max(0, usage.CacheWrite-b.fixed+fixed)
	usage.CacheWriteLong = min(usage.CacheWriteLong, usage.CacheWrite)
	return usage
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
func (r *replayer) setUncompacted(run *Run) {
	if run.Bill != nil && r.never != nil {
		run.Bill.Uncompacted, run.Bill.PinnedUncompacted = r.never.Kept, r.never.Pinned
	}
}
