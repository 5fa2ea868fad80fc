package replay

import (
	"math"
	"strings"
)

// allSessions is the session's name in a row that sums up all sessions.
const allSessions = "all sessions"

// cell holds the results of one policy in one window, on one session or on all.
type cell struct {
	*Run
}

// costs returns the dollars of a cell including its look-backs, and how many edits are look-backs.
func (c cell) costs() (dollars float64, edits int) {
	return c.Bill.Kept + c.Lookbacks.Dollars, c.Lookbacks.Edits
}

// system returns the name of the policy without its loss.
func (c cell) system() string {
	name, _, _ := strings.Cut(c.Policy, " ")
	return name
}

// markFront sets Front for each run of a session that is on the Pareto front: no other is at least as good in both
// dollars and look-backs of edits, and better in one. The recorded run has no window and is not compared.
func markFront(runs []*Run) {
	for _, r := range runs {
		r.Front = ranked(r)
		dollars, edits := 0.0, 0
		if r.Front {
			dollars, edits = cell{Run: r}.costs()
		}
		for _, other := range runs {
			if !r.Front || !ranked(other) {
				continue
			}
			d, e := cell{Run: other}.costs()
			if d <= dollars && e <= edits && (d < dollars || e < edits) {
				r.Front = false
			}
		}
	}
}

// ranked reports whether a run has prices and a policy that reached the end of the session.
func ranked(r *Run) bool { return r.Bill != nil && r.Policy != recorded && r.Ended == "" }

// sumOf adds up the runs of several sessions by policy and window, in the order of the first session.
func sumOf(runs []*Run) (sums []cell) {
	type key struct {
		policy string
		window int
	}
	places := map[key]int{}
	for _, r := range runs {
		k := key{r.Policy, r.Window}
		i, ok := places[k]
		if !ok {
			i, places[k] = len(sums), len(sums)
			sums = append(sums, cell{Run: &Run{Session: allSessions, Policy: r.Policy, Window: r.Window}})
			if r.Bill != nil {
				sums[i].Bill, sums[i].Lookbacks = &Bill{}, &Lookbacks{}
			}
		}
		sums[i].plus(r)
	}
	var all []*Run
	for _, s := range sums {
		all = append(all, s.Run)
	}
	markFront(all)
	return sums
}

func (c *cell) plus(r *Run) {
	c.Requests += r.Requests
	c.RequestsIn += r.RequestsIn
	c.Sent += r.Sent
	c.Cached += r.Cached
	c.Peak = max(c.Peak, r.Peak)
	c.Compactions = append(c.Compactions, r.Compactions...)
	if r.Ended != "" {
		c.Ended = r.Ended
	}
	if r.Bill == nil {
		return
	}
	c.Bill.plus(*r.Bill)
	c.Lookbacks.plus(*r.Lookbacks)
}

func cellsOf(runs []*Run) []cell {
	cells := make([]cell, len(runs))
	for i, r := range runs {
		cells[i] = cell{Run: r}
	}
	return cells
}

// columns of a table of cells.
var columns = []column{
	{"session", "session", ""}, {"policy", "policy", ""}, {"windowTokens", "window", ""}, {"requests", "requests", ""}, {"compactions", "compactions", ""},
	{"sentTokens", "sent", ""}, {"cachedTokens", "cached", ""},
	{"keptDollars", "R", "%.2f"}, {"pinnedDollars", "P", "%.2f"},
	{"readDollars", "read", "%.2f"}, {"writtenDollars", "written", "%.2f"}, {"inputDollars", "input", "%.2f"}, {"outputDollars", "output", "%.2f"},
	{"summaryDollars", "summaries", "%.2f"}, {"uncompactedDollars", "uncompacted", "%.2f"}, {"lookbackDollars", "look-backs", "%.2f"},
	{"totalDollars", "total R", "%.2f"}, {"pinnedTotalDollars", "total P", "%.2f"}, {"toCheapestOther", "to cheapest other", "%.3f"},
	{"editLookbacks", "edits", ""}, {"identifierLookbacks", "identifiers", ""}, {"shownShare", "shown", "%.3f"}, {"carriedShare", "carried", "%.3f"},
	{"front", "front", ""}, {"ended", "ended", ""},
}

// cellSheet returns a sheet with a row for each cell.
func cellSheet(cells []cell) sheet {
	s := sheet{columns: columns}
	for _, c := range cells {
		s.rows = append(s.rows, c.row(cells))
	}
	return s
}

func (c cell) row(among []cell) []any {
	row := []any{c.Session, c.Policy, c.Window, c.Requests, len(c.Compactions), c.Sent, c.Cached}
	if c.Bill == nil {
		return append(append(row, make([]any, len(columns)-len(row)-1)...), c.ended())
	}
	total, edits := c.costs()
	l := c.Lookbacks
	return append(row, c.Bill.Kept, c.Bill.Pinned, c.Bill.Read, c.Bill.Written, c.Bill.Input, c.Bill.Output, c.Bill.Summaries, c.Bill.Uncompacted, l.Dollars,
		total, c.Bill.Pinned+l.Dollars, c.toCheapestOther(among), edits, l.Identifiers, ratio(l.Shown, l.Needed), ratio(l.Carried, l.NeededLater), c.Front, c.ended())
}

// notInText lists the columns that the text format leaves out, because its other tables have them.
var notInText = []string{
	"session", "requests", "sentTokens", "cachedTokens", "keptDollars", "pinnedDollars", "readDollars", "writtenDollars", "inputDollars", "outputDollars",
	"summaryDollars", "uncompactedDollars", "lookbackDollars", "shownShare", "ended",
}

func (c cell) ended() any {
	if c.Ended == "" {
		return nil
	}
	return c.Ended
}

// toCheapestOther returns the dollars of the cell divided by those of the cheapest policy of another system in the same
// session and window; nil if there is none.
func (c cell) toCheapestOther(among []cell) any {
	least := math.Inf(1)
	for _, other := range among {
		if ranked(other.Run) && other.Session == c.Session && other.Window == c.Window && other.system() != c.system() {
			d, _ := other.costs()
			least = min(least, d)
		}
	}
	total, _ := c.costs()
	if !ranked(c.Run) || math.IsInf(least, 1) || least == 0 {
		return nil
	}
	return total / least
}

func ratio(part, whole int) any {
	if whole == 0 {
		return nil
	}
	return float64(part) / float64(whole)
}
