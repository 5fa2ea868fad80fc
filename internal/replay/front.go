package replay

import "fmt"

// withoutDollars removes what cannot be trusted if the check failed.
func (r *Run) withoutDollars() {
	r.Bill = nil
	if r.Recall != nil {
		r.Recall.Dollars = 0
	}
}

// costs returns the dollars of a run including its look-backs, and how many edits are look-backs.
func (r *Run) costs() (dollars float64, edits int) {
	return r.Bill.Kept + r.Recall.Dollars, r.Recall.Edits
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
			sums[i].Bill = &Bill{}
			if r.Recall != nil {
				sums[i].Recall = &Recall{}
			}
		}
		sums[i].plus(r)
	}
	markFront(sums)
	return sums
}

// plus adds the figures of a run that [frontTable] and [recallText] show.
func (r *Run) plus(other *Run) {
	r.Compactions = append(r.Compactions, other.Compactions...)
	if other.Ended != "" {
		r.Ended = other.Ended
	}
	r.Requests += other.Requests
	if other.Bill == nil {
		r.Bill = nil // the dollars of one session are unknown
	}
	if r.Bill != nil {
		r.Bill.plus(*other.Bill)
	}
	if other.Recall != nil {
		r.Recall.plus(*other.Recall)
	}
}

// frontTable returns a table that compares runs.
func frontTable(runs []*Run) grid {
	g := grid{{"policy", "window", "compactions", "total R", "total P", "edits", "answers", "shown", "front"}}
	for _, r := range runs {
		total, edits := r.costs()
		c := r.Recall
		g = append(g, []string{
			r.Policy, number(r.Window), number(len(r.Compactions)), fmt.Sprintf("%.2f", total), fmt.Sprintf("%.2f", r.Bill.Pinned+r.Recall.Dollars),
			number(edits), number(r.Recall.Answers), share(c.Tail+c.Summary+c.Index, c.Needed), map[bool]string{true: "*"}[r.Front],
		})
	}
	return g
}
