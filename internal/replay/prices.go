package replay

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/stepping"
	"github.com/promptree-go/promptree/sizing"
)

// pricesNamed returns the prices of a model, or those of a list such as "input=5,read=0.5,write=6.25,output=25,least=4096".
// A lifetime above 0 is the cache's; if it is the longer one of the model, writes are charged for as such.
func pricesNamed(name string, lifetime time.Duration) (p sizing.Prices, long bool, err error) {
	if !strings.Contains(name, "=") {
		p, err = sizing.PublishedPrices().Of(name)
	} else {
		p, err = listedPrices(name)
	}
	switch {
	case err != nil:
		return p, false, err
	case lifetime < 0:
		return p, false, fmt.Errorf("-ttl is %v: it is above 0", lifetime)
	case lifetime > 0 && lifetime == p.LongLifetime:
		long = true
	case lifetime > 0:
		p.Lifetime, p.LongLifetime = lifetime, 0
	}
	return p, long, p.Validate()
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
	if b.prices, b.long, err = pricesNamed(prices, lifetime); err != nil {
		return nil, err
	}
	if b.summaries = b.prices; summaries != "" {
		b.summaries, _, err = pricesNamed(summaries, 0)
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

// Check is the model of costs held against the usage that a session recorded. Reads are foretold for each request from the
// usage of the one before it and the time.
type Check struct {
	// Requests whose usage was recorded, but for the first and those after a compaction.
	Requests int `json:"requests"`
	// Exact reads, of which the cache had expired for Expired.
	Exact   int `json:"exact"`
	Expired int `json:"expired"`
	// Restarts read nothing although the cache had not expired; Others read something else than was foretold.
	Restarts int `json:"restarts"`
	Others   int `json:"others"`
	// Recorded is what all requests cost by their usage, in dollars. Kept is what the model makes of them if the restarts are
	// known, and Pinned if there had been none.
	Recorded float64 `json:"recordedDollars"`
	Kept     float64 `json:"keptDollars"`
	Pinned   float64 `json:"pinnedDollars"`
	// Fixed is what a request takes besides what was recorded, such as the system prompt and the tools, in tokens; Factor is
	// how many tokens of the recorded model are one of ours. 0 if they cannot be told.
	Fixed  int     `json:"fixedTokens,omitempty"`
	Factor float64 `json:"factor,omitempty"`
}

// check holds the model against a recording. It also says which requests, by the line of the answer, are restarts.
func check(r *importer.Recording, prices sizing.Prices) (c Check, restarts map[int]bool) {
	restarts = map[int]bool{}
	compacted := true // nothing is known of the first request either
	kept, pinned := sizing.PromptCache{Prices: prices}, sizing.PromptCache{Prices: prices}
	for _, rec := range r.Path(r.Leaf) {
		if rec.Compaction().Messages != nil {
			compacted = true
		}
		u := rec.Usage
		if u.Input == 0 {
			continue
		}
		holds := func(cache sizing.PromptCache) int {
			if compacted {
				return 0
			}
			return cache.Holds(sizing.Shared{}, rec.Time)
		}
		foretold := holds(kept)
		expired := kept.Expired(rec.Time)
		if !compacted {
			c.Requests++
			switch {
			case foretold == u.CacheRead:
				c.Exact++
				if expired {
					c.Expired++
				}
			case u.CacheRead == 0:
				c.Restarts++
				restarts[rec.Line] = true
			default:
				c.Others++
			}
		}
		asForetold := func(held int) chat.Usage {
			planned := prices.Foretell(sizing.Planned{Input: u.Input, Cached: held, Output: u.Output})
			planned.CacheWriteLong = min(u.CacheWriteLong, planned.CacheWrite)
			return planned
		}
		c.Recorded += prices.Of(u).Total()
		c.Pinned += prices.Of(asForetold(holds(pinned))).Total()
		if restarts[rec.Line] {
			foretold = 0
		}
		c.Kept += prices.Of(asForetold(foretold)).Total()
		sent := sizing.Sent{Time: rec.Time}
		kept.Sent, kept.Usage = sent, u
		pinned.Sent, pinned.Usage = sent, asForetold(holds(pinned))
		compacted = false
	}
	return c, restarts
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
}

// biller prices requests as they are sent.
type biller struct {
	prices    sizing.Prices
	summaries sizing.Prices // of the model that writes them
	long      bool          // writes are for the longer lifetime
	fixed     int           // tokens of the system prompt and the tools that the recording does not have
	restarts  map[int]bool  // by line
	usage     bool          // the recording has usage, so that an answer without one was called off
	last      time.Time
}

// lifetime of what is written to the cache.
func (b *biller) lifetime() time.Duration {
	if b.long {
		return b.prices.LongLifetime
	}
	return b.prices.Lifetime
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
	if b.last.IsZero() || step.Time.Sub(b.last) > b.lifetime() {
		common = 0
	}
	b.last = step.Time
	planned := sizing.Planned{Input: tokens + b.fixed, Cached: common, Output: answered, Long: b.long}
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
	usage.CacheWriteLong = min(usage.CacheWriteLong, usage.CacheWrite)
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
