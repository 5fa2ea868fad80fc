package replay

import (
	"math"
	"strings"
)

// costs returns the dollars of a run including its look-backs, and how many edits are look-backs.
func (r *Run) costs() (dollars float64, edits int) {
	return r.Bill.Kept + r.Lookbacks.Dollars, r.Lookbacks.Edits
}

// system returns the name of the policy without its loss.
func (r *Run) system() string {
	name, _, _ := strings.Cut(r.Policy, " ")
	return name
}

// markFront sets Front for each run of a session that is on the Pareto front: no other is at least as good in both
// dollars and look-backs of edits, and better in one. The recorded run has no window and is not compared.
func markFront(runs []*Run) {
	for _, r := range runs {
		r.Front = ranked(r)
		dollars, edits := 0.0, 0
		if r.Front {
			dollars, edits = r.costs()
		}
		for _, other := range runs {
			if !r.Front || !ranked(other) {
				continue
			}
			d, e := other.costs()
			if d <= dollars && e <= edits && (d < dollars || e < edits) {
				r.Front = false
			}
		}
	}
}

// ranked reports whether a run has prices and a policy that reached the end of the session.
func ranked(r *Run) bool { return r.Bill != nil && r.Policy != recorded && r.Ended == "" }

// sumOf adds up the runs of several sessions by policy and window, in the order of the first session.
func sumOf(runs []*Run) (sums []*Run) {
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
			sums = append(sums, &Run{Policy: r.Policy, Window: r.Window})
			if r.Bill != nil {
				sums[i].Bill, sums[i].Lookbacks = &Bill{}, &Lookbacks{}
			}
		}
		sums[i].plus(r)
	}
	markFront(sums)
	return sums
}

// plus adds the figures of a run that [frontSheet] shows.
func (r *Run) plus(other *Run) {
	r.Compactions = append(r.Compactions, other.Compactions...)
	if other.Ended != "" {
		r.Ended = other.Ended
	}
	if other.Bill == nil {
		return
	}
	r.Bill.plus(*other.Bill)
	r.Lookbacks.plus(*other.Lookbacks)
}

// frontSheet returns a table that compares runs.
func frontSheet(runs []*Run) sheet {
	s := sheet{columns: []column{
		{"policy", "policy", ""}, {"windowTokens", "window", ""}, {"compactions", "compactions", ""}, {"totalDollars", "total R", "%.2f"},
		{"pinnedTotalDollars", "total P", "%.2f"}, {"toCheapestOther", "to cheapest other", "%.3f"}, {"editLookbacks", "edits", ""},
		{"identifierLookbacks", "identifiers", ""}, {"carriedShare", "carried", "%.3f"}, {"front", "front", ""},
	}}
	for _, r := range runs {
		total, edits := r.costs()
		s.rows = append(s.rows, []any{
			r.Policy, r.Window, len(r.Compactions), total, r.Bill.Pinned + r.Lookbacks.Dollars, r.toCheapestOther(runs), edits,
			r.Lookbacks.Identifiers, ratio(r.Lookbacks.Carried, r.Lookbacks.NeededLater), r.Front,
		})
	}
	return s
}

// toCheapestOther returns the dollars of the run divided by those of the cheapest policy of another system in the same
// session and window; nil if there is none.
func (r *Run) toCheapestOther(among []*Run) any {
	least := math.Inf(1)
	for _, other := range among {
		if ranked(other) && other.Session == r.Session && other.Window == r.Window && other.system() != r.system() {
			d, _ := other.costs()
			least = min(least, d)
		}
	}
	total, _ := r.costs()
	if !ranked(r) || math.IsInf(least, 1) || least == 0 {
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
