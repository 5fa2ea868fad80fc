package replay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/replay/internal/stepping"
)

// Check compares the cost model with the usage that a session recorded. For each request the model foretells the tokens
// read from the cache, from the usage of the request before it and the time between them.
type Check struct {
	// Requests is the number of requests with recorded usage, except the first and those after a compaction.
	Requests int `json:"requests"`
	// Exact counts the requests whose reads were foretold exactly, or to the step in which the provider counts them.
	// Expired counts those of them whose cache had expired, Outlived those whose cache was kept for longer than the
	// provider promises.
	Exact    int `json:"exact"`
	Expired  int `json:"expired"`
	Outlived int `json:"outlived"`
	// Restarts read nothing although the cache had not expired. Others differ from the forecast in another way.
	Restarts int `json:"restarts"`
	Others   int `json:"others"`
	// Untimed counts requests of which the recording does not say how long after the one before they were sent. The cache
	// is taken to have lasted, unless such a request read nothing.
	Untimed int `json:"untimed,omitempty"`
	// Long is the share of the tokens written to the cache that were written for the longer of its lifetimes.
	Long float64 `json:"longWrites"`
	// NoCache reports whether the usage has no cache figures although the prices have a cache, as some proxies report
	// it. Nothing can be checked then.
	NoCache bool `json:"noCacheFigures,omitempty"`
	// Recorded is the cost of all requests by their recorded usage, in dollars. Kept is their cost by the model, which
	// knows where the cache was kept and where it was lost. Replayed is the cost of the recorded run of a replay, 0 if there
	// was none.
	Recorded float64 `json:"recordedDollars"`
	Replayed float64 `json:"replayedDollars,omitempty"`
	Kept     float64 `json:"keptDollars"`
	// MeanError and LargestError are differences of one request between its recorded cost and that of the model with
	// restarts.
	MeanError    float64 `json:"meanErrorDollars"`
	LargestError float64 `json:"largestErrorDollars"`
	// Fixed is the number of tokens in each request that the recording does not have, such as the system prompt and the
	// tools. Factor is how many tokens of the recorded model one of ours is. Both are 0 if unknown.
	Fixed  int     `json:"fixedTokens,omitempty"`
	Factor float64 `json:"factor,omitempty"`

	// Prices are those of the session, with the cache that the recording shows.
	Prices sizing.Prices `json:"-"`

	// Failed says why dollars of this session cannot be trusted, "" if they can.
	Failed string `json:"failed,omitempty"`

	// Step is the number of tokens of which the reads are multiples: 128 or 64 if the provider counts them so, else 1.
	Step int `json:"stepTokens"`

	// Checked are the requests with recorded usage, in their order.
	Checked []Checked `json:"-"`

	outcomes map[string]string // by the id of the answer
}

// tolerance is the largest error of the cost model, as a share of what the recorded usage costs. Policies differ by a fifth
// and more of the bill; beyond a quarter of that the error could be the difference.
const tolerance = 0.05

// Checked is a request with recorded usage.
type Checked struct {
	// Record of the answer.
	Record importer.Record
	// Foretold is the usage by the cost model, which knows where the cache was kept and where it was lost.
	Foretold chat.Usage
	// Outcome says in a word how it was foretold: "first" (of the session, or after a compaction: nothing is foretold),
	// "exact", "expired" and "outlived" (exact too), "restart" or "other".
	Outcome string
}

// The outcomes of a checked request.
const (
	outcomeFirst    = "first" // of the session, or after a compaction: nothing is foretold
	outcomeExact    = "exact"
	outcomeExpired  = "expired"  // exact, and the cache had expired
	outcomeOutlived = "outlived" // exact, but the cache should have expired
	outcomeRestart  = "restart"
	outcomeOther    = "other"
)

// check compares the cost model with a recording. The lifetime of what a request wrote to the cache is the one that its
// usage says.
func check(r *importer.Recording, prices sizing.Prices) *Check {
	recorded, path := r.Path(r.Leaf), stepping.Path(r)
	prices = fitted(path, prices)
	c := &Check{Step: 1, Prices: prices, outcomes: map[string]string{}}
	c.caching(path, prices)
	cache := sizing.PromptCache{Prices: prices}
	compacted := true // nothing is foretold of the first request either
	for i, rec := range path {
		if rec.Compaction().Messages != nil {
			compacted = true
		}
		if rec.Usage.Input == 0 || rec.Usage.CacheUnknown {
			continue
		}
		q := Checked{Record: recorded[i], Outcome: outcomeFirst}
		if len(c.Checked) > 0 && !rec.Time.After(cache.Sent.Time) {
			c.Untimed++
		}
		reads := rec.Usage.CacheRead
		if !compacted {
			q.Outcome, reads = c.outcome(cache, rec)
		}
		if q.Foretold = rec.Usage; !c.NoCache {
			q.Foretold = prices.Foretell(sizing.Planned{Input: rec.Usage.Input, Cached: reads, Output: rec.Usage.Output})
			q.Foretold.CacheWriteLong = min(rec.Usage.CacheWriteLong, q.Foretold.CacheWrite)
		}
		c.Checked = append(c.Checked, q)
		cache.Sent, cache.Usage = sizing.Sent{Time: rec.Time}, rec.Usage
		compacted = false
	}
	c.sum()
	c.judge(c.Kept)
	return c
}

// fitted returns prices with the cache that a recording shows. A provider that reported reads and never a write caches by
// itself, whatever the prices are: a write costs what input does, no prefix that it served is too small, and since it
// promises no lifetime, the cache lasts as long as the longest gap over which at least half of a request was read.
func fitted(path []importer.Record, p sizing.Prices) sizing.Prices {
	implicit, last := p, importer.Record{}
	for _, rec := range path {
		switch u := rec.Usage; {
		case u.CacheWrite > 0:
			return p
		case rec.Compaction().Messages != nil:
			last = importer.Record{}
		case u.Input > 0:
			if gap := rec.Time.Sub(last.Time); u.CacheRead > 0 && 2*u.CacheRead >= last.Usage.Input && !last.Time.IsZero() {
				implicit.Lifetime = max(implicit.Lifetime, gap)
			}
			if u.CacheRead > 0 {
				implicit.LeastCached = min(implicit.LeastCached, u.CacheRead)
				implicit.CacheWrite, implicit.CacheWriteLong, implicit.LongLifetime = 0, 0, 0
				implicit.LongRates.CacheWrite, implicit.LongRates.CacheWriteLong = 0, 0
			}
			last = rec
		}
	}
	return implicit
}

// caching sets what the usage of all requests says about the provider's cache.
func (c *Check) caching(path []importer.Record, prices sizing.Prices) {
	read, written, long, requests := 0, 0, 0, 0
	for _, rec := range path {
		if u := rec.Usage; u.Input > 0 {
			requests++
			read, written, long = read+u.CacheRead, written+u.CacheWrite, long+u.CacheWriteLong
		}
	}
	c.NoCache = requests > 1 && read+written == 0 && prices.Lifetime > 0
	if written > 0 {
		c.Long = float64(long) / float64(written)
	}
	for _, step := range []int{64, 128} { // DeepSeek counts reads in steps of 64 tokens, OpenAI of 128
		other := func(rec importer.Record) bool { return rec.Usage.Input > 0 && rec.Usage.CacheRead%step != 0 }
		if read > 0 && !slices.ContainsFunc(path, other) {
			c.Step = step
		}
	}
}

// holds returns the tokens that a cache holds of the next request, as the provider reports them.
func (c *Check) holds(cache sizing.PromptCache, at time.Time) int {
	held := cache.Holds(sizing.Shared{}, at)
	return held - held%c.Step
}

// outcome returns the outcome of a request, and its reads if it is known where the cache was lost and where it was kept.
func (c *Check) outcome(cache sizing.PromptCache, rec importer.Record) (outcome string, reads int) {
	read, foretold := rec.Usage.CacheRead, c.holds(cache, rec.Time)
	lasting := cache
	lasting.Sent.Time = rec.Time // as if the request before had just been sent
	switch expired := cache.Expired(rec.Time); {
	case read == foretold && expired:
		return outcomeExpired, read
	case read == foretold:
		return outcomeExact, read
	case read == 0:
		return outcomeRestart, 0
	case expired && read == c.holds(lasting, rec.Time):
		return outcomeOutlived, read
	}
	return outcomeOther, foretold
}

// judge sets Failed if the cost by the model is not what the recorded usage costs.
func (c *Check) judge(modelled float64) {
	off := modelled/c.Recorded - 1
	switch {
	case c.Failed != "":
	case c.NoCache:
		c.Failed = "the recorded usage has no cache figures, so what it cost is unknown"
	case c.Recorded > 0 && math.Abs(off) > tolerance:
		c.Failed = fmt.Sprintf("the recorded usage costs $%.4g, and $%.4g by the cost model (%+.1f%%)", c.Recorded, modelled, 100*off)
	}
}

// sum sets the numbers and the costs of the checked requests.
func (c *Check) sum() {
	requests := map[string]int{} // by outcome
	for _, q := range c.Checked {
		c.outcomes[q.Record.ID] = q.Outcome
		requests[q.Outcome]++
		recorded, kept := c.Prices.Of(q.Record.Usage).Total(), c.Prices.Of(q.Foretold).Total()
		c.Recorded += recorded
		c.Kept += kept
		off := math.Abs(kept - recorded)
		c.MeanError += off
		c.LargestError = max(c.LargestError, off)
	}
	c.MeanError /= float64(max(1, len(c.Checked)))
	c.Expired, c.Outlived = requests[outcomeExpired], requests[outcomeOutlived]
	c.Restarts, c.Others = requests[outcomeRestart], requests[outcomeOther]
	c.Exact = requests[outcomeExact] + c.Expired + c.Outlived
	c.Requests = c.Exact + c.Restarts + c.Others
}
