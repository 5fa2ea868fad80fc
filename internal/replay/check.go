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
	// MeanError and LargestError are of one request, between what it cost and what the model makes of it with the restarts.
	MeanError    float64 `json:"meanErrorDollars"`
	LargestError float64 `json:"largestErrorDollars"`
	// Fixed is what a request takes besides what was recorded, such as the system prompt and the tools, in tokens; Factor is
	// how many tokens of the recorded model are one of ours. 0 if they cannot be told.
	Fixed  int     `json:"fixedTokens,omitempty"`
	Factor float64 `json:"factor,omitempty"`

	held     []held
	restarts map[int]bool // by the line of the answer
}

// held is a request that the model was held against.
type held struct {
	line     int
	time     time.Time
	usage    chat.Usage
	foretold int // read from the cache, without knowing of restarts
	what     string

	recorded, kept, pinned float64 // dollars
}

// What the model made of a request.
const (
	heldFirst   = "first" // of the session, or after a compaction: nothing is foretold
	heldExact   = "exact"
	heldExpired = "expired" // exact, and the cache had expired
	heldRestart = "restart"
	heldOther   = "other"
)

// check holds the model against a recording.
func check(r *importer.Recording, prices sizing.Prices) *Check {
	c := &Check{restarts: map[int]bool{}}
	compacted := true // nothing is known of the first request either
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
		h := held{line: rec.Line, time: rec.Time, usage: rec.Usage, foretold: holds(kept), recorded: prices.Of(rec.Usage).Total()}
		reads := h.foretold
		switch {
		case compacted:
			h.what = heldFirst
		case h.foretold != rec.Usage.CacheRead && rec.Usage.CacheRead == 0:
			h.what, reads = heldRestart, 0
			c.restarts[rec.Line] = true
		case h.foretold != rec.Usage.CacheRead:
			h.what = heldOther
		case kept.Expired(rec.Time):
			h.what = heldExpired
		default:
			h.what = heldExact
		}
		h.kept, h.pinned = prices.Of(asForetold(reads)).Total(), prices.Of(asForetold(holds(pinned))).Total()
		c.add(h)
		kept.Sent, kept.Usage = sizing.Sent{Time: rec.Time}, rec.Usage
		pinned.Sent, pinned.Usage = kept.Sent, asForetold(holds(pinned))
		compacted = false
	}
	if len(c.held) > 0 {
		c.MeanError /= float64(len(c.held))
	}
	return c
}

// add counts a request.
func (c *Check) add(h held) {
	c.held = append(c.held, h)
	if h.what != heldFirst {
		c.Requests++
	}
	switch h.what {
	case heldExact:
		c.Exact++
	case heldExpired:
		c.Exact++
		c.Expired++
	case heldRestart:
		c.Restarts++
	case heldOther:
		c.Others++
	}
	c.Recorded += h.recorded
	c.Kept += h.kept
	c.Pinned += h.pinned
	wrong := math.Abs(h.kept - h.recorded)
	c.MeanError += wrong
	c.LargestError = max(c.LargestError, wrong)
}

// text says how far the model can be trusted.
func (c *Check) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "recorded usage costs %s. The model of costs foretells %s of %s requests to the token (the cache had expired for %s), %s restarted, %s read something else.\n",
		dollars(c.Recorded), number(c.Exact), number(c.Requests), number(c.Expired), number(c.Restarts), number(c.Others))
	fmt.Fprintf(&b, "With the restarts (R) it comes to %s (%+.2f%%; a request is off by $%.5f on average, by $%.4f at most), pinned (P), without them, to %s.\n",
		dollars(c.Kept), 100*(c.Kept/c.Recorded-1), c.MeanError, c.LargestError, dollars(c.Pinned))
	if c.Factor > 0 {
		fmt.Fprintf(&b, "Tokens are the recorded model's: %.3f of %s, and %s a request that the recording does not have.\n", c.Factor, encoding, number(c.Fixed))
	}
	return b.String()
}

// sheet shows each request.
func (c *Check) sheet(session string) sheet {
	s := sheet{columns: []column{
		{"session", "session", ""}, {"request", "request", ""}, {"line", "line", ""}, {"time", "time", ""}, {"inputTokens", "input", ""}, {"outputTokens", "output", ""},
		{"readTokens", "read", ""}, {"foretoldTokens", "foretold", ""}, {"what", "what", ""},
		{"recordedDollars", "recorded", "%.4f"}, {"keptDollars", "R", "%.4f"}, {"pinnedDollars", "P", "%.4f"}, {"errorDollars", "R - recorded", "%+.4f"},
	}}
	for i, h := range c.held {
		s.rows = append(s.rows, []any{
			session, i + 1, h.line, h.time.UTC().Format(time.RFC3339), h.usage.Input, h.usage.Output, h.usage.CacheRead, h.foretold, h.what,
			h.recorded, h.kept, h.pinned, h.kept - h.recorded,
		})
	}
	return s
}
