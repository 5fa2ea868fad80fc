package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/summarize/policy"
)

// printer prints a run, round by round.
type printer interface {
	round(folderagent.Round)
	end(totals)
}

// totals are the totals of a run.
type totals struct {
	Rounds      int    `json:"rounds"`
	Compactions int    `json:"compactions"`
	Sent        int    `json:"tokensSent"` // over all rounds
	Peak        int    `json:"peakTokens"`
	Budget      int    `json:"budget"`
	Dropped     int    `json:"dropped"` // pieces, over all rounds
	Transcript  string `json:"transcript"`
	Answer      string `json:"answer,omitempty"`
	// Models whose prices the costs are based on.
	Model        string `json:"pricesOf"`
	SummaryModel string `json:"summaryPricesOf"`
	folderagent.Costs
}

func (t *totals) add(r folderagent.Round) {
	t.Rounds = r.Number
	t.Compactions += len(r.Compactions)
	t.Sent += r.Tokens
	t.Peak = max(t.Peak, r.Tokens)
	t.Budget = r.Budget
	t.Dropped += r.Dropped
}

// table prints for people.
type table struct{ w io.Writer }

// The widths of two columns, so that a row fits in 80.
const (
	barWidth = 12
	didWidth = 33
)

func (t table) head(title string) {
	fmt.Fprintf(t.w, "%s\n\n", title)
	fmt.Fprintf(t.w, "%5s  %-*s  %-*s  %15s  %7s\n", "round", didWidth, "did", barWidth, "budget", "tokens", "dropped")
}

func (t table) round(r folderagent.Round) {
	for _, c := range r.Compactions {
		fmt.Fprintf(t.w, "       compacted: %d to %d tokens (%d steps summarised, %d kept, %s)\n",
			c.TokensBefore, c.TokensAfter, c.Covered, c.Kept, c.Mode)
	}
	fmt.Fprintf(t.w, "%5d  %-*s  %s  %7d/%7d  %7d\n", r.Number, didWidth, fit(r.Did), bar(r.Tokens, r.Budget), r.Tokens, r.Budget, r.Dropped)
}

func (t table) end(sum totals) {
	if sum.Answer != "" {
		fmt.Fprintf(t.w, "\n%s\n", sum.Answer)
	}
	fmt.Fprintf(t.w, "\n%d rounds, %d compactions, %d tokens sent, at most %d of %d\ntranscript: %s\n",
		sum.Rounds, sum.Compactions, sum.Sent, sum.Peak, sum.Budget, sum.Transcript)
	if sum.Needed > sum.Budget {
		fmt.Fprintf(t.w, "without compaction the largest prompt has %d tokens: it does not fit in %d\n", sum.Needed, sum.Budget)
	}
	fmt.Fprintf(t.w, "by the prices of %s, summaries by those of %s:\n%v\n", sum.Model, sum.SummaryModel, sum.Costs)
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

// lines prints for machines, one JSON object a line.
type lines struct{ enc *json.Encoder }

type roundLine struct {
	Round       int              `json:"round"`
	Did         string           `json:"did"`
	Tokens      int              `json:"tokens"`
	Budget      int              `json:"budget"`
	Dropped     int              `json:"dropped"`
	Compactions []compactionLine `json:"compactions,omitempty"`
}

type compactionLine struct {
	Before int         `json:"tokensBefore"`
	After  int         `json:"tokensAfter"`
	Mode   policy.Mode `json:"mode"`
}

func (l lines) round(r folderagent.Round) {
	line := roundLine{Round: r.Number, Did: r.Did, Tokens: r.Tokens, Budget: r.Budget, Dropped: r.Dropped}
	for _, c := range r.Compactions {
		line.Compactions = append(line.Compactions, compactionLine{Before: c.TokensBefore, After: c.TokensAfter, Mode: c.Mode})
	}
	_ = l.enc.Encode(line) // a closed pipe ends the program anyway
}

func (l lines) end(sum totals) {
	_ = l.enc.Encode(struct {
		Totals totals `json:"totals"`
	}{sum})
}
