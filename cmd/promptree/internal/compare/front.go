package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/summarize/replay"
)

// costs returns the dollars of a run including its look-backs.
func (r *Run) costs() float64 { return r.Bill.Kept + r.lookBacks() }

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
	return []inspect.Charge{
		{Name: "reads from the cache", Dollars: r.Bill.Read}, {Name: "writes to it", Dollars: r.Bill.Written}, {Name: "other input", Dollars: r.Bill.Input},
		{Name: "answers", Dollars: r.Bill.Output}, {Name: "summaries", Dollars: r.Bill.Summaries}, {Name: "look-backs", Dollars: r.lookBacks()},
		{Name: "total", Dollars: r.costs()},
	}
}

// rank returns the dollars by which a run is placed. One without dollars, or whose policy did not reach the end of the session,
// comes last.
func (r *Run) rank() float64 {
	if r.Bill == nil || r.Policy == recorded || r.Ended != "" {
		return math.Inf(1)
	}
	return r.costs()
}

// sum holds what a policy costs and shows in a window over several sessions.
type sum struct {
	policy              string
	window, compactions int
	priced              int // sessions with dollars
	dollars, never      float64
	recall              replay.Recall
}

// sumsText returns a table of the sums of several sessions by policy and window, in the order of the first session. Runs that did
// not reach the end of their session are left out.
func sumsText(sessions int, runs []*Run, width int) string {
	var sums []sum
	for _, r := range runs {
		i := slices.IndexFunc(sums, func(s sum) bool { return s.policy == r.Policy && s.window == r.ContextWindow })
		if i < 0 {
			i, sums = len(sums), append(sums, sum{policy: r.Policy, window: r.ContextWindow})
		}
		s := &sums[i]
		if r.Ended != "" {
			continue
		}
		s.compactions += len(r.Compactions)
		if r.Bill != nil {
			s.priced, s.dollars, s.never = s.priced+1, s.dollars+r.costs(), s.never+r.Bill.Uncompacted
		}
		if c := r.Recall; c != nil {
			s.recall.Needed, s.recall.Tail = s.recall.Needed+c.Needed, s.recall.Tail+shown(c)
			s.recall.Edits, s.recall.Answers = s.recall.Edits+c.Edits, s.recall.Answers+c.Answers
		}
	}
	t := table{columns: []column{
		{"policy", "of package summarize, or recorded: as the session's own agent compacted it, which the window does not limit"},
		{"window", "context window in tokens"},
		{"compactions", "compactions made"},
		{"priced", "sessions with dollars whose end the policy reached"},
		{"dollars", "of these sessions, restarts and look-backs included"},
		{"never", "dollars if nothing were compacted, in an unlimited window"},
		{"names", "share of the names, paths, numbers and errors that answers needed again and the prompts showed"},
		{"content", "answers with an edit of text that the prompt no longer shows"},
		{"answers", "answers with a name that the prompt no longer shows"},
	}}
	for _, s := range sums {
		t.add(s.policy, number(s.window), number(s.compactions), number(s.priced), fmt.Sprintf("%.2f", s.dollars), fmt.Sprintf("%.2f", s.never),
			share(s.recall.Tail, s.recall.Needed), number(s.recall.Edits), number(s.recall.Answers))
	}
	return fmt.Sprintf("all %s sessions\n\n%s", number(sessions), t.text(width))
}

// shown returns how many needed facts a run's requests show.
func shown(c *replay.Recall) int { return c.Tail + c.Summary + c.Index }
