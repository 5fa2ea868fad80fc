package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/summarize/event"
)

// words says in a line for each policy what the runs in one window cost and show.
func words(s *source, runs []*Run) string {
	first := runs[0]
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s requests", s.path, s.recording.Format, number(s.requests))
	if s.model != "" {
		fmt.Fprintf(&b, " to %s", s.model)
	}
	fmt.Fprintf(&b, "\nwindow: %s tokens%s\n", number(first.ContextWindow), origin(s, first.ContextWindow))
	if c := first.Check; c != nil && 2*c.Fixed > first.ContextWindow {
		fmt.Fprintf(&b, "The system prompt and the tools take %s of it, which no policy can save.\n", share(min(c.Fixed, first.ContextWindow), first.ContextWindow))
	}
	return b.String() + dollarsHold(s, runs) + "\n\n" + cmp.Or(allEqual(runs), lines(runs))
}

// origin says where a window comes from.
func origin(s *source, window int) string {
	switch {
	case window != s.window:
		return ""
	case s.known:
		return ", that of " + s.model
	}
	return ", assumed: -window sets another"
}

// dollarsHold says in a line whether the dollars can be trusted, or why there are none.
func dollarsHold(s *source, runs []*Run) string {
	for _, r := range runs {
		switch c := r.Check; {
		case c == nil:
		case c.Failed != "" && r.Bill == nil:
			return "the check failed: no dollars: " + c.Failed + " (-unchecked shows them)"
		case c.Failed != "":
			return "the check failed, so do not trust the dollars: " + c.Failed
		default:
			text := fmt.Sprintf("dollars: the recorded usage costs %s, and %s by the cost model (%+.1f%%)", dollars(c.Recorded), dollars(c.Replayed), 100*(c.Replayed/c.Recorded-1))
			if own := s.ownCost(); own > 0 && math.Abs(c.Recorded/own-1) > 0.02 {
				text += fmt.Sprintf("\nbut its recorder computed %s: other prices, or several models, which -prices does not know", dollars(own))
			}
			return text
		}
	}
	switch {
	case unpriced(s.recording) != "":
		return "no dollars: " + unpriced(s.recording)
	case runs[0].Bill != nil:
		return "dollars: unchecked, because the session has no recorded usage"
	case s.model != "" && unknownPrices(s.session.Table, s.model):
		return fmt.Sprintf("no dollars: the prices of %s are unknown: give them by %s", s.model, pricesExample)
	case s.model == "":
		return "no dollars: the session names no model: give prices by " + pricesExample
	}
	return "no dollars, as asked"
}

// ownCost returns the dollars that the recorder computed for the requests of a session, 0 if it did not for each.
func (s *source) ownCost() (sum float64) {
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if rec.Usage.Input > 0 && rec.Cost == 0 {
			return 0
		}
		sum += rec.Cost
	}
	return sum
}

// allEqual says so if no policy changed anything in a window.
func allEqual(runs []*Run) string {
	largest := 0
	for _, r := range runs {
		if r.Policy == recorded {
			continue
		}
		if len(r.Compactions) > 0 || r.Events[event.Cleared] > 0 || r.LeftOut > 0 || r.Ended != "" {
			return ""
		}
		largest = max(largest, r.Requests.Largest)
	}
	if largest == 0 {
		return ""
	}
	r := runs[len(runs)-1]
	text := fmt.Sprintf("In this window all policies do the same: nothing. The largest request takes %s tokens.\n", number(largest))
	if largest >= 2_000 { // half of it holds the policies' own prompts
		fixed := r.ContextWindow - r.Budget
		text += fmt.Sprintf("Set a smaller one to compare them, such as -window %d.\n", ((fixed+largest)/2+999)/1000*1000)
	} else {
		text += "The session is too small to compare them.\n"
	}
	if r.Bill != nil {
		text += fmt.Sprintf("The session costs %s.\n", dollars(r.Bill.Kept))
	}
	return text
}

// lines returns a line for each policy, the cheapest first, and what the lines mean.
func lines(runs []*Run) string {
	var b strings.Builder
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *Run) int { return cmp.Compare(a.rank(), b.rank()) })
	width := 0
	for _, r := range runs {
		width = max(width, len(r.Policy))
	}
	recalled := false
	for _, r := range runs {
		if r.Policy == recorded && len(runs) > 1 {
			continue
		}
		fmt.Fprintf(&b, "%-*s  %s\n", width, r.Policy, line(r))
		recalled = recalled || r.Recall != nil
	}
	b.WriteByte('\n')
	if runs[0].Bill != nil {
		b.WriteString("Dollars include summaries, and one more request for each answer that needs what its prompt no longer shows.\n")
	}
	if recalled {
		b.WriteString("Needed again are names, paths, numbers and errors that answers repeat and that nothing said since the policy last compacted or\n" +
			"cleared; a summary here is a digest made without a model, which shows less than a real one.\n")
	}
	return b.String()
}

// line says in words what a run costs and shows.
func line(r *Run) string {
	if r.Ended != "" {
		return r.Ended
	}
	var said []string
	if r.Bill != nil {
		said = append(said, money(r))
	} else {
		said = append(said, fmt.Sprintf("sends %s tokens in %s requests", number(r.Requests.Tokens), number(r.Requests.Number)))
	}
	switch n := len(r.Compactions); n {
	case 0:
		said = append(said, "never compacts")
	case 1:
		said = append(said, "compacts once")
	case 2:
		said = append(said, "compacts twice")
	default:
		said = append(said, fmt.Sprintf("compacts %s times", number(n)))
	}
	if out := percent(float64(r.LeftOut) / float64(max(1, r.LeftOut+r.Requests.Tokens))); out != "0%" {
		said = append(said, fmt.Sprintf("cuts %s of what it would send", out))
	}
	if c := r.Recall; c != nil && c.Needed > 0 {
		said = append(said, fmt.Sprintf("shows %s of what answers need again", percent(float64(shown(c))/float64(c.Needed))))
	}
	return strings.Join(said, "; ")
}

// money says what a run saves or costs, beside what was recorded and beside never compacting.
func money(r *Run) string {
	total := r.costs()
	from := func(before float64) string { return fmt.Sprintf("(%s → %s)", dollars(before), dollars(total)) }
	never := r.Bill.Uncompacted
	switch {
	case r.charged > 0 && never > 0:
		return fmt.Sprintf("%s was recorded %s, %s never compacting", strings.Replace(change(total, r.charged)+" what", "more than what", "more than", 1), from(r.charged), change(total, never))
	case never > 0:
		return fmt.Sprintf("%s never compacting %s", change(total, never), from(never))
	}
	return "costs " + dollars(total)
}

// change says how a cost differs from another one, before the name of that.
func change(cost, before float64) string {
	switch share := percent(math.Abs(1 - cost/before)); {
	case share == "0%":
		return "costs as much as"
	case cost > before:
		return fmt.Sprintf("costs %s more than", share)
	default:
		return fmt.Sprintf("saves %s of", share)
	}
}

// percent formats a share without digits after the point.
func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
