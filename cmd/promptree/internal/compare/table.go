package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/replay"
)

// details returns the figures of the runs in one window as tables for people.
func details(runs []*Run, width int) string {
	var b strings.Builder
	for _, r := range runs {
		if r.Check != nil {
			b.WriteString(checkText(r.Check) + "\n")
		}
	}
	fmt.Fprintf(&b, "tokens; messages may take %s of the window\n\n", number(runs[len(runs)-1].Budget))
	totals := table{columns: []column{
		{"policy", "of package summarize, or recorded: as the session's own agent compacted it, which the window does not limit"},
		{"requests", "rendered requests"},
		{"sent", "tokens of all requests"},
		{"cached", "share of them in a prefix shared with the request before"},
		{"peak", "tokens of the largest request"},
		{"compactions", "compactions made"},
		{"calls", "requests for summaries, refused and failed ones included; unknown for recorded, as the next three"},
		{"asked", "tokens of these requests"},
		{"asked cached", "share of them in a prefix shared with the agent's last request"},
		{"answered", "tokens of their answers"},
		{"left out", "tokens of the history, over all requests, neither sent nor summarised"},
		{"dropped", "pieces of the prompts that were dropped, over all requests"},
	}}
	for _, r := range runs {
		q, calls := r.Requests, r.Summaries
		row := []string{
			r.Policy, number(q.Number), number(q.Tokens), share(q.Cached, q.Tokens), number(q.Largest), number(len(r.Compactions)),
			number(calls.Number), number(calls.Tokens), share(calls.Cached, calls.Tokens), number(calls.Answered), number(r.LeftOut), number(r.DroppedPieces),
		}
		if r.Policy == recorded { // the requests for its summaries are unknown
			row[6], row[7], row[8], row[9] = "-", "-", "-", "-"
		}
		totals.add(row...)
	}
	b.WriteString(totals.text(width))
	b.WriteString(bills(runs, width))
	if recall := recallText(runs, width); recall != "" {
		b.WriteString("\n" + recall)
	}
	b.WriteString(compactions(runs, width))
	return b.String()
}

// compactions returns a table with a row for each compaction, and the other events of the compactors.
func compactions(runs []*Run, width int) string {
	var b strings.Builder
	made := table{columns: []column{
		{"compactions", "the policy"},
		{"request", "number of the first request after it"},
		{"line", "of the recording with the answer to that request"},
		{"before", "tokens of the prompt before it"},
		{"after", "tokens of the prompt after it, with what was said since a summary in the background was begun"},
		{"replaced by", "tokens of the messages that stand for the history: summary, index, first messages"},
		{"covered", "messages no longer shown word for word"},
		{"kept", "messages that still are"},
		{"reason", "the occasion; background: while the agent went on"},
		{"mode", "the prompt that was used"},
	}}
	for _, r := range runs {
		for _, c := range r.Compactions {
			made.add(r.Policy, number(c.Request), numberOrDash(c.Line), numberOrDash(c.TokensBefore), numberOrDash(c.TokensAfter), number(c.StandIn),
				number(c.Covered), number(c.Kept), reason(c), c.Mode)
		}
	}
	if len(made.rows) > 0 {
		b.WriteByte('\n')
		b.WriteString(made.text(width))
	}
	for _, r := range runs {
		for _, c := range r.Compactions {
			if c.Why != "" {
				fmt.Fprintf(&b, "\n%s, request %s: %s\n", r.Policy, number(c.Request), c.Why)
			}
		}
		if events := otherEvents(r.Events); events != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", r.Policy, events)
		}
	}
	return b.String()
}

// bills returns a table of what the runs cost, "" without prices.
func bills(runs []*Run, width int) string {
	t := table{columns: []column{
		{"dollars", "the policy"},
		{"read", "part of the total: reads from the cache"},
		{"written", "part of the total: writes to the cache"},
		{"input", "part of the total: other input"},
		{"output", "part of the total: answers"},
		{"summaries", "part of the total: requests for summaries; unknown for recorded"},
		{"look-backs", "part of the total: see recall below; not of recorded, which made its own"},
		{"total", "the sum of these"},
		{"restarts", "part of the total: what recorded restarts cost, after which a request read nothing before the cache had expired"},
		{"of recorded", "total as a share of what the recorded usage costs, recorded summaries left out"},
	}}
	for _, r := range runs {
		if r.Bill == nil {
			return ""
		}
		row := []string{r.Policy}
		for _, part := range r.account() {
			row = append(row, fmt.Sprintf("%.2f", part.Dollars))
		}
		t.add(append(row, fmt.Sprintf("%.2f", r.Bill.Restarts), share(r.costs(), r.charged))...)
	}
	return fmt.Sprintf("\nIf nothing were compacted, in an unlimited window, the session would cost %s.\n\n%s", dollars(runs[0].Bill.Uncompacted), t.text(width))
}

// recallNote says what the summaries of a replay are.
const recallNote = "where the facts stand that answers need again. All summaries but recorded ones are digests made without a model;\n" +
	"those that real models write keep two to four times as much of what leaves the tail."

// recallText returns a table of where the facts stand that answers need, with dollars if there are prices; "" if that was not measured.
func recallText(runs []*Run, width int) string {
	if len(runs) == 0 || runs[0].Recall == nil {
		return ""
	}
	t := table{columns: []column{
		{"recall", "the policy"},
		{"needed", "facts that answers need and that nothing said since the view last changed; each counts once a change"},
		{"tail", "share that the request shows in what was said"},
		{"summary", "share that only the summary shows"},
		{"index", "share that only the index beside the summary shows"},
		{"one look-up", "share that one search or read of the session shows"},
		{"further", "share that stands in the log, further away"},
		{"not in log", "their number; it must be 0"},
		{"content", "share that is not shown and is no name: in what an edit replaces, or in a file that is written again"},
		{"answers", "answers with a fact that the request does not show"},
		{"per 100", "of these for each 100 requests"},
		{"edits", "answers with an edit whose old text has a line that was said before and is not shown"},
		{"of", "answers with an edit of a line that was said before"},
	}}
	priced := !slices.ContainsFunc(runs, func(r *Run) bool { return r.Bill == nil })
	if priced {
		t.columns = append(t.columns,
			column{"dollars", "of these look-backs: one more request each, the tokens that it brings back, and carrying them until the next compaction"},
			column{"an answer", "dollars for each of the answers"})
	}
	for _, r := range runs {
		c := r.Recall
		row := []string{r.Policy, number(c.Needed), share(c.Tail, c.Needed), share(c.Summary, c.Needed), share(c.Index, c.Needed), share(c.OneLookUp, c.Needed),
			share(c.Further, c.Needed), number(c.NotInLog), share(c.Content, c.Needed), number(c.Answers), each(100*float64(c.Answers), r.Requests.Number, 1), number(c.Edits), number(c.Checkable)}
		if priced {
			row = append(row, fmt.Sprintf("%.2f", c.Dollars), each(c.Dollars, c.Answers, 3))
		}
		t.add(row...)
	}
	return "recall: " + recallNote + "\n\n" + t.text(width)
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

// each formats a sum divided by a number, "-" if the number is 0.
func each(sum float64, n, digits int) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatFloat(sum/float64(n), 'f', digits, 64)
}

// dollars formats dollars: with cents, or with four digits below a dollar.
func dollars(d float64) string {
	if d < 1 {
		return fmt.Sprintf("$%.4f", d)
	}
	return fmt.Sprintf("$%.2f", d)
}

// reason returns the occasion of a compaction, and whether it was made in the background.
func reason(c replay.RunCompaction) string {
	switch {
	case c.Reason == "":
		return "-"
	case c.Background:
		return string(c.Reason) + ", background"
	}
	return string(c.Reason)
}

// otherEvents lists the events that the tables do not show, such as clearings and refused summaries.
func otherEvents(events map[event.Kind]int) string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(events)) {
		switch kind {
		case event.Started, event.Answered, event.Done, event.Ready:
		default:
			list = append(list, fmt.Sprintf("%s %d times", kind, events[kind]))
		}
	}
	return strings.Join(list, ", ")
}

// number formats a number with commas between its thousands.
func number(n int) string {
	if -1000 < n && n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", number(n/1000), max(n%1000, -(n%1000)))
}

// numberOrDash formats a number, and 0, which is unknown, as "-".
func numberOrDash(n int) string {
	if n == 0 {
		return "-"
	}
	return number(n)
}

// share formats a part of a whole in per cent, "-" if the whole is 0.
func share[T int | float64](part, whole T) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// table is a table of text with a legend. Columns of numbers are aligned right, the first column and those of words left.
type table struct {
	columns []column
	rows    [][]string
}

type column struct{ name, meaning string }

func (t *table) add(row ...string) { t.rows = append(t.rows, row) }

// text returns the table, and a line that says what each column is. Columns that do not fit a width are written below the
// others, after the first; 0 is no limit.
func (t table) text(width int) string {
	var b strings.Builder
	widths, legend := make([]int, len(t.columns)), 0
	for i, c := range t.columns {
		widths[i], legend = utf8.RuneCountInString(c.name), max(legend, len(c.name))
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for next := 1; next < len(t.columns); {
		line, last := widths[0], next
		for last < len(widths) && (last == next || width <= 0 || line+2+widths[last] <= width) {
			line += 2 + widths[last]
			last++
		}
		if next > 1 {
			b.WriteByte('\n')
		}
		t.lines(&b, widths, next, last)
		next = last
	}
	b.WriteByte('\n')
	for _, c := range t.columns {
		fmt.Fprintf(&b, "  %-*s  %s\n", legend, c.name, c.meaning)
	}
	return b.String()
}

// lines writes the first column and those from one to another.
func (t table) lines(b *strings.Builder, widths []int, from, to int) {
	head := make([]string, len(t.columns))
	for i, c := range t.columns {
		head[i] = c.name
	}
	for _, row := range append([][]string{head}, t.rows...) {
		pad := func(i int) string { return strings.Repeat(" ", widths[i]-utf8.RuneCountInString(row[i])) }
		line := row[0] + pad(0)
		for i := from; i < to; i++ {
			if t.words(i) {
				line += "  " + row[i] + pad(i)
			} else {
				line += "  " + pad(i) + row[i]
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// words reports whether a column holds anything but numbers below its head.
func (t table) words(column int) bool {
	return slices.ContainsFunc(t.rows, func(row []string) bool { return strings.Trim(row[column], "0123456789,.%-+") != "" })
}
