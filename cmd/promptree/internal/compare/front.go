package compare

import (
	"fmt"

	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/summarize/replay"
)

// costs returns the dollars of a run including its look-backs, and how many edits are look-backs.
func (r *Run) costs() (dollars float64, edits int) {
	return r.Bill.Kept + r.lookBacks(), r.Recall.Edits
}

// lookBacks returns the dollars of a run's look-backs. The recorded agent made those that it made.
func (r *Run) lookBacks() float64 {
	if r.Policy == recorded {
		return 0
	}
	return r.Recall.Dollars
}

// account returns the parts of what a run costs, and their sum, nil without dollars.
func (r *Run) account() []inspect.Charge {
	if r.Bill == nil {
		return nil
	}
	total, _ := r.costs()
	return []inspect.Charge{
		{Name: "reads from the cache", Dollars: r.Bill.Read}, {Name: "writes to it", Dollars: r.Bill.Written}, {Name: "other input", Dollars: r.Bill.Input},
		{Name: "answers", Dollars: r.Bill.Output}, {Name: "summaries", Dollars: r.Bill.Summaries}, {Name: "look-backs", Dollars: r.lookBacks()},
		{Name: "total", Dollars: total},
	}
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
		k := key{r.Policy, r.ContextWindow}
		i, ok := places[k]
		if !ok {
			i, places[k] = len(sums), len(sums)
			sum := &Run{Result: &replay.Result{Policy: r.Policy, ContextWindow: r.ContextWindow, Bill: &replay.Bill{}}}
			if r.Recall != nil {
				sum.Recall = &replay.Recall{}
			}
			sums = append(sums, sum)
		}
		sums[i].plus(r)
	}
	for _, sum := range sums {
		if sum.uncharged {
			sum.charged = 0
		}
	}
	markFront(sums)
	return sums
}

// plus adds the figures of a run that [frontTable], [recallText] and [wordsOfSums] show.
func (r *Run) plus(other *Run) {
	r.Compactions = append(r.Compactions, other.Compactions...)
	if other.Ended != "" {
		r.Ended = other.Ended
	}
	r.Requests.Number += other.Requests.Number
	r.charged, r.uncharged = r.charged+other.charged, r.uncharged || other.charged == 0
	if other.Bill == nil {
		r.Bill = nil // the dollars of one session are unknown
	}
	if r.Bill != nil {
		r.Bill.Kept += other.Bill.Kept
		r.Bill.Pinned += other.Bill.Pinned
		r.Bill.Uncompacted += other.Bill.Uncompacted
	}
	if other.Recall != nil {
		addRecall(r.Recall, *other.Recall)
	}
}

// addRecall adds the recall of another run.
func addRecall(r *replay.Recall, other replay.Recall) {
	r.Needed += other.Needed
	r.Tail += other.Tail
	r.Summary += other.Summary
	r.Index += other.Index
	r.OneLookUp += other.OneLookUp
	r.Further += other.Further
	r.NotInLog += other.NotInLog
	r.Answers += other.Answers
	r.Edits += other.Edits
	r.Checkable += other.Checkable
	r.Dollars += other.Dollars
}

// frontTable returns a table that compares runs.
func frontTable(runs []*Run) table {
	t := table{columns: []column{
		{"policy", "of package summarize, or recorded: as the session's own agent compacted it"},
		{"window", "context window in tokens; it does not limit the recorded run"},
		{"compactions", "compactions made"},
		{"total R", "dollars, restarts and look-backs included"},
		{"total P", "dollars without the restarts"},
		{"edits", "answers with an edit of text that the prompt no longer shows"},
		{"answers", "answers with a fact that the prompt no longer shows"},
		{"shown", "share of the needed facts that the prompts show"},
		{"front", "* if no other run is as cheap with as few such edits"},
	}}
	for _, r := range runs {
		total, edits := r.costs()
		c := r.Recall
		t.add(r.Policy, number(r.ContextWindow), number(len(r.Compactions)), fmt.Sprintf("%.2f", total), fmt.Sprintf("%.2f", r.Bill.Pinned+r.lookBacks()),
			number(edits), number(c.Answers), share(shown(c), c.Needed), map[bool]string{true: "*"}[r.Front])
	}
	return t
}

// shown returns how many needed facts a run's requests show.
func shown(c *replay.Recall) int { return c.Tail + c.Summary + c.Index }
