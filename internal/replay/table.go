package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/summarize/event"
)

// text returns the runs of one session as a table for people.
func text(runs []*Run) string {
	if len(runs) == 0 {
		return ""
	}
	first := runs[0]
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s requests\n", first.Session, first.Format, number(first.RequestsIn))
	fmt.Fprintf(&b, "window %s tokens, of which messages may take %s; summaries: %s; answers: %s\n\n",
		number(first.Window), number(first.Budget),
		firstName(runs, func(r *Run) string { return r.Model }), firstName(runs, func(r *Run) string { return r.AnsweredBy }))

	totals := grid{{"policy", "requests", "sent", "cached", "peak", "compactions", "model calls", "asked", "asked cached", "answered", "left out", "pieces dropped"}}
	for _, r := range runs {
		row := []string{
			r.Policy, number(r.Requests), number(r.Sent), share(r.Cached, r.Sent), number(r.Peak), number(len(r.Compactions)),
			number(r.Calls.Number), number(r.Calls.Sent), share(r.Calls.Cached, r.Calls.Sent), number(r.Calls.Answered), number(r.LeftOut), number(r.DroppedPieces),
		}
		if r.Policy == recorded { // the requests for its summaries are unknown
			row[6], row[7], row[8], row[9] = "-", "-", "-", "-"
		}
		totals = append(totals, row)
	}
	totals.write(&b)

	b.WriteString(bills(runs))
	if recall := recallText("recall", runs, false); recall != "" {
		b.WriteString("\n" + recall)
	}
	made := grid{{"compactions", "request", "line", "before", "after", "stand-in", "covered", "kept", "reason", "mode"}}
	for _, r := range runs {
		for _, c := range r.Compactions {
			made = append(made, []string{
				r.Policy, number(c.Request), numberOrDash(c.Line), numberOrDash(c.TokensBefore), numberOrDash(c.TokensAfter), number(c.StandIn),
				number(c.Covered), number(c.Kept), reason(c), c.Mode,
			})
		}
	}
	if len(made) > 1 {
		b.WriteByte('\n')
		made.write(&b)
	}
	for _, r := range runs {
		if events := otherEvents(r.Events); events != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", r.Policy, events)
		}
	}
	written := 0
	for _, r := range runs {
		written += r.Bundles
	}
	if written > 0 {
		fmt.Fprintf(&b, "\n%s bundles written\n", number(written))
	}
	for _, r := range runs {
		if r.Ended != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", r.Policy, r.Ended)
		}
	}
	return b.String()
}

// bills returns tables of what the runs cost, after the check of the cost model; "" without prices.
func bills(runs []*Run) string {
	var b strings.Builder
	var recordedDollars float64
	for _, r := range runs {
		if r.Check != nil {
			recordedDollars = r.Check.Recorded
			b.WriteString("\n" + r.Check.text())
		}
	}
	if bill := runs[0].Bill; bill != nil && bill.Uncompacted > 0 {
		fmt.Fprintf(&b, "\nIf nothing were compacted, in an unlimited window, the session would cost %s with the restarts, %s without.\n",
			dollars(bill.Uncompacted), dollars(bill.PinnedUncompacted))
	}
	costs := grid{{"dollars", "total", "pinned", "read", "written", "input", "output", "summaries", "of recorded"}}
	for _, r := range runs {
		if r.Bill == nil {
			return b.String()
		}
		row := []string{r.Policy}
		for _, sum := range []float64{r.Bill.Kept, r.Bill.Pinned, r.Bill.Read, r.Bill.Written, r.Bill.Input, r.Bill.Output, r.Bill.Summaries} {
			row = append(row, fmt.Sprintf("%.2f", sum))
		}
		costs = append(costs, append(row, share(r.Bill.Kept, recordedDollars)))
	}
	b.WriteByte('\n')
	costs.write(&b)
	return b.String()
}

// recallNote says what the summaries of a replay are.
const recallNote = "where the facts stand that answers need again. All summaries but recorded ones are digests made without a model;\n" +
	"those that real models write keep two to four times as much of what leaves the tail."

// recallText returns a table of where the facts stand that answers need, with the windows if byWindow, and with dollars
// if there are prices; "" if that was not measured.
func recallText(title string, runs []*Run, byWindow bool) string {
	if len(runs) == 0 || runs[0].Recall == nil {
		return ""
	}
	head := []string{"recall"}
	if byWindow {
		head = append(head, "window")
	}
	head = append(head, "needed", "tail", "summary", "index", "one look-up", "further", "not in log", "answers", "per 100", "edits", "of")
	priced := runs[0].Bill != nil
	if priced {
		head = append(head, "dollars", "an answer", "total with", "pinned with")
	}
	g := grid{head}
	for _, r := range runs {
		c, row := r.Recall, []string{r.Policy}
		if byWindow {
			row = append(row, number(r.Window))
		}
		row = append(row, number(c.Needed), share(c.Tail, c.Needed), share(c.Summary, c.Needed), share(c.Index, c.Needed), share(c.OneLookUp, c.Needed),
			share(c.Further, c.Needed), number(c.NotInLog), number(c.Answers), each(100*float64(c.Answers), r.Requests, 1), number(c.Edits), number(c.Checkable))
		if priced {
			row = append(row, fmt.Sprintf("%.2f", c.Dollars), each(c.Dollars, c.Answers, 3), fmt.Sprintf("%.2f", r.Bill.Kept+c.Dollars),
				fmt.Sprintf("%.2f", r.Bill.Pinned+c.Dollars))
		}
		g = append(g, row)
	}
	var b strings.Builder
	b.WriteString(title + ": " + recallNote + "\n\n")
	g.write(&b)
	return b.String()
}

// each formats a sum divided by a number, "-" if the number is 0.
func each(sum float64, n, digits int) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatFloat(sum/float64(n), 'f', digits, 64)
}

func dollars(d float64) string { return fmt.Sprintf("$%.2f", d) }

// firstName returns the first name that is not empty, "-" if all are.
func firstName(runs []*Run, name func(*Run) string) string {
	for _, r := range runs {
		if n := name(r); n != "" {
			return n
		}
	}
	return "-"
}

// reason returns the occasion of a compaction, and whether it was made in the background.
func reason(c Compaction) string {
	switch {
	case c.Reason == "":
		return "-"
	case c.Background:
		return string(c.Reason) + ", background"
	}
	return string(c.Reason)
}

// otherEvents lists the events that the tables do not show, such as clearings and refused summaries.
func otherEvents(events map[string]int) string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(events)) {
		switch event.Kind(kind) {
		case event.Started, event.Answered, event.Done, event.Ready:
		default:
			list = append(list, fmt.Sprintf("%s %d times", kind, events[kind]))
		}
	}
	return strings.Join(list, ", ")
}

// number formats a number with commas between its thousands.
func number(n int) string {
	digits := strconv.Itoa(n)
	var groups []string
	for len(digits) > 3 && digits[len(digits)-4] != '-' {
		groups = append(groups, digits[len(digits)-3:])
		digits = digits[:len(digits)-3]
	}
	groups = append(groups, digits)
	slices.Reverse(groups)
	return strings.Join(groups, ",")
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

// grid is a table of text. Columns of numbers are aligned right, the first column and those of words left.
type grid [][]string

func (g grid) write(b io.StringWriter) {
	widths := make([]int, len(g[0]))
	for _, row := range g {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range g {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				line.WriteString(cell + pad)
			case g.words(i):
				line.WriteString("  " + cell + pad)
			default:
				line.WriteString("  " + pad + cell)
			}
		}
		_, _ = b.WriteString(strings.TrimRight(line.String(), " ") + "\n") // into memory
	}
}

// words reports whether a column holds anything but numbers below its head.
func (g grid) words(column int) bool {
	return slices.ContainsFunc(g[1:], func(row []string) bool { return strings.Trim(row[column], "0123456789,.%-+") != "" })
}
