package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/promptree-go/promptree/examples/folderagent"
)

// table prints a run, round by round, and holds what it came to.
type table struct {
	to                 io.Writer
	err                error // the first of writing
	rounds             []folderagent.Round
	transcript, answer string
	folderagent.Costs
}

func (t *table) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(t.to, format, args...); t.err == nil {
		t.err = err
	}
}

// The widths of two columns, so that a row fits in 80.
const (
	barWidth = 12
	didWidth = 33
)

func (t *table) head(title string) {
	t.printf("%s\n\n%5s  %-*s  %-*s  %15s  %7s\n", title, "round", didWidth, "did", barWidth, "budget", "tokens", "dropped")
}

func (t *table) round(r folderagent.Round) {
	t.rounds = append(t.rounds, r)
	for _, c := range r.Compactions {
		t.printf("       compacted: %d to %d tokens (%d steps summarised, %d kept, %s)\n", c.TokensBefore, c.TokensAfter, c.Covered, c.Kept, c.Mode)
	}
	t.printf("%5d  %-*s  %s  %7d/%7d  %7d\n", r.Number, didWidth, fit(r.Did), bar(r.Tokens, r.Budget), r.Tokens, r.Budget, r.Dropped)
}

func (t *table) end(o options) {
	compactions, sent, peak, budget := 0, 0, 0, 0
	for _, r := range t.rounds {
		compactions, sent, peak, budget = compactions+len(r.Compactions), sent+r.Tokens, max(peak, r.Tokens), r.Budget
	}
	t.printf("\n%s\n\n%d rounds, %d compactions, %d tokens sent, at most %d of %d\ntranscript: %s\n",
		t.answer, len(t.rounds), compactions, sent, peak, budget, t.transcript)
	if t.Needed > budget {
		t.printf("without compaction the largest prompt has %d tokens: it does not fit in %d\n", t.Needed, budget)
	}
	t.printf("by the prices of %s, summaries by those of %s:\n%v\n", o.model, o.summaryModel, t.Costs)
}

// bar returns a bar that is as full as the budget.
func bar(tokens, budget int) string {
	n := min(barWidth, (tokens*barWidth+budget-1)/budget)
	return strings.Repeat("█", n) + strings.Repeat("░", barWidth-n)
}

// fit cuts a text to its column, and escapes line breaks in it.
func fit(s string) string {
	s = folderagent.Visible(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > didWidth {
		return string(r[:didWidth-1]) + "…"
	}
	return s
}
