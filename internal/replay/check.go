package replay

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/sizing"
)

// Check compares the cost model with the usage that a session recorded. For each request the model foretells the tokens
// read from the cache, from the usage of the request before it and the time between them.
type Check struct {
	// Requests is the number of requests with recorded usage, except the first and those after a compaction.
	Requests int `json:"requests"`
	// Exact counts the requests whose reads were foretold exactly, Expired those of them whose cache had expired.
	Exact   int `json:"exact"`
	Expired int `json:"expired"`
	// Restarts read nothing although the cache had not expired. Others differ from the forecast in another way.
	Restarts int `json:"restarts"`
	Others   int `json:"others"`
	// Recorded is the cost of all requests by their recorded usage, in dollars. Kept is their cost by the model if the
	// restarts are known, Pinned if there had been none.
	Recorded float64 `json:"recordedDollars"`
	Kept     float64 `json:"keptDollars"`
	Pinned   float64 `json:"pinnedDollars"`
	// MeanError and LargestError are differences of one request between its recorded cost and that of the model with
	// restarts.
	MeanError    float64 `json:"meanErrorDollars"`
	LargestError float64 `json:"largestErrorDollars"`
	// Fixed is the number of tokens in each request that the recording does not have, such as the system prompt and the
	// tools. Factor is how many tokens of the recorded model one of ours is. Both are 0 if unknown.
	Fixed  int     `json:"fixedTokens,omitempty"`
	Factor float64 `json:"factor,omitempty"`

	checked  []checkedRequest
	restarts map[int]bool // by the line of the answer
}

// checkedRequest is a request with recorded usage.
type checkedRequest struct {
	line     int
	time     time.Time
	usage    chat.Usage
	foretold int // tokens read from the cache, without knowing of restarts
	outcome  string

	recorded, kept, pinned float64 // dollars
}

// The outcomes of a checked request.
const (
	outcomeFirst   = "first" // of the session, or after a compaction: nothing is foretold
	outcomeExact   = "exact"
	outcomeExpired = "expired" // exact, and the cache had expired
	outcomeRestart = "restart"
	outcomeOther   = "other"
)

// check compares the cost model with a recording.
func check(r *importer.Recording, prices sizing.Prices) *Check {
	c := &Check{restarts: map[int]bool{}}
	compacted := true // nothing is foretold of the first request either
	kept, pinned := sizing.PromptCache{Prices: prices}, sizing.PromptCache{Prices: prices}
	for _, rec := range r.Path(r.Leaf) {
		if rec.Compaction().Messages != nil {
			compacted = true
		}
		if rec.Usage.Input == 0 {
			continue
		}
		holds := func(cache sizing.PromptCache) int {
			if compacted {
				return 0
			}
			return cache.Holds(sizing.Shared{}, rec.Time)
		}
		asForetold := func(held int) chat.Usage {
			planned := prices.Foretell(sizing.Planned{Input: rec.Usage.Input, Cached: held, Output: rec.Usage.Output})
			planned.CacheWriteLong = min(rec.Usage.CacheWriteLong, planned.CacheWrite)
			return planned
		}
		q := checkedRequest{line: rec.Line, time: rec.Time, usage: rec.Usage, foretold: holds(kept), recorded: prices.Of(rec.Usage).Total()}
		reads := q.foretold
		switch {
		case compacted:
			q.outcome = outcomeFirst
		case q.foretold != rec.Usage.CacheRead && rec.Usage.CacheRead == 0:
			q.outcome, reads = outcomeRestart, 0
			c.restarts[rec.Line] = true
		case q.foretold != rec.Usage.CacheRead:
			q.outcome = outcomeOther
		case kept.Expired(rec.Time):
			q.outcome = outcomeExpired
		default:
			q.outcome = outcomeExact
		}
		q.kept, q.pinned = prices.Of(asForetold(reads)).Total(), prices.Of(asForetold(holds(pinned))).Total()
		c.add(q)
		kept.Sent, kept.Usage = sizing.Sent{Time: rec.Time}, rec.Usage
		pinned.Sent, pinned.Usage = kept.Sent, asForetold(holds(pinned))
		compacted = false
	}
	if len(c.checked) > 0 {
		c.MeanError /= float64(len(c.checked))
	}
	return c
}

// add counts a request. Until the last is added, MeanError is the sum of the errors.
func (c *Check) add(q checkedRequest) {
	c.checked = append(c.checked, q)
	if q.outcome != outcomeFirst {
		c.Requests++
	}
	switch q.outcome {
	case outcomeExact:
		c.Exact++
	case outcomeExpired:
		c.Exact++
		c.Expired++
	case outcomeRestart:
		c.Restarts++
	case outcomeOther:
		c.Others++
	}
	c.Recorded += q.recorded
	c.Kept += q.kept
	c.Pinned += q.pinned
	off := math.Abs(q.kept - q.recorded)
	c.MeanError += off
	c.LargestError = max(c.LargestError, off)
}

// text says for people how far the model can be trusted.
func (c *Check) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Recorded usage costs %s. The cost model foretells the reads of %s of %s requests to the token (the cache had expired for %s); "+
		"%s restarted, %s read something else.\n",
		dollars(c.Recorded), number(c.Exact), number(c.Requests), number(c.Expired), number(c.Restarts), number(c.Others))
	fmt.Fprintf(&b, "By the model they cost %s with the restarts (R) (%+.2f%%; a request is off by $%.5f on average, by $%.4f at most), "+
		"and %s without them, pinned (P).\n",
		dollars(c.Kept), 100*(c.Kept/c.Recorded-1), c.MeanError, c.LargestError, dollars(c.Pinned))
	if c.Factor > 0 {
		fmt.Fprintf(&b, "Tokens are the recorded model's: %.3f for each token of %s, and %s in each request that the recording does not have.\n",
			c.Factor, encoding, number(c.Fixed))
	}
	return b.String()
}

// checkedRow is a request in JSON.
type checkedRow struct {
	Session  string  `json:"session"`
	Request  int     `json:"request"`
	Line     int     `json:"line"`
	Time     string  `json:"time"`
	Input    int     `json:"inputTokens"`
	Output   int     `json:"outputTokens"`
	Read     int     `json:"readTokens"`
	Foretold int     `json:"foretoldTokens"`
	Outcome  string  `json:"outcome"`
	Recorded float64 `json:"recordedDollars"`
	Kept     float64 `json:"keptDollars"`
	Pinned   float64 `json:"pinnedDollars"`
	Error    float64 `json:"errorDollars"`
}

// rows returns a row for each request.
func (c *Check) rows(session string) (rows []checkedRow) {
	for i, q := range c.checked {
		rows = append(rows, checkedRow{
			Session: session, Request: i + 1, Line: q.line, Time: q.time.UTC().Format(time.RFC3339), Input: q.usage.Input, Output: q.usage.Output,
			Read: q.usage.CacheRead, Foretold: q.foretold, Outcome: q.outcome, Recorded: q.recorded, Kept: q.kept, Pinned: q.pinned, Error: q.kept - q.recorded,
		})
	}
	return rows
}

// table returns a table with a row for each request.
func (c *Check) table() grid {
	g := grid{{"request", "line", "time", "input", "output", "read", "foretold", "outcome", "recorded", "R", "P", "R - recorded"}}
	for _, r := range c.rows("") {
		row := []string{number(r.Request), number(r.Line), r.Time, number(r.Input), number(r.Output), number(r.Read), number(r.Foretold), r.Outcome}
		for _, dollars := range []float64{r.Recorded, r.Kept, r.Pinned} {
			row = append(row, fmt.Sprintf("%.4f", dollars))
		}
		g = append(g, append(row, fmt.Sprintf("%+.4f", r.Error)))
	}
	return g
}
