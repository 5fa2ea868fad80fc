package replay

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/costsim"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/stepping"
	"github.com/promptree-go/promptree/sizing"
)

// Regret is the cost of a run without its answers, divided by that of the best compactions with summaries and tails as
// large as the run's average. The best compactions clear nothing, so a policy that clears may have a regret below 1.
type Regret struct {
	// Summary and KeptTokens are the averages over the run's compactions, or 4,000 and 20,000 if it has none.
	Summary    int `json:"summaryTokens"`
	KeptTokens int `json:"keptTokens"`
	// Kept is the regret with the restarts of the recording, Pinned without.
	Kept   float64 `json:"kept"`
	Pinned float64 `json:"pinned"`
}

// regretOf compares a run with the optimum. It returns nil if the session has no requests.
func (r *replayer) regretOf(s source, run *Run) *Regret {
	g := &Regret{Summary: usualSummary, KeptTokens: usualKept}
	if n := len(run.Compactions); n > 0 {
		g.Summary, g.KeptTokens = 0, 0
		for _, c := range run.Compactions {
			g.Summary += c.StandIn
			g.KeptTokens += c.KeptTokens
		}
		g.Summary, g.KeptTokens = g.Summary/n, g.KeptTokens/n
	}
	at := costsim.Settings{Prices: r.biller.prices, Summarizer: r.biller.summarizer(), Summary: g.Summary, Kept: g.KeptTokens}
	kept, pinned := r.asNumbers(s, true).Optimum(at), r.asNumbers(s, false).Optimum(at)
	if kept <= 0 || pinned <= 0 {
		return nil
	}
	g.Kept, g.Pinned = (run.Bill.Kept-run.Bill.Output)/kept, (run.Bill.Pinned-run.Bill.Output)/pinned
	return g
}

// setRegret sets the regret of a run with prices, and what its session would have cost without compactions.
func (r *replayer) setRegret(s source, run *Run) {
	if r.biller == nil {
		return
	}
	r.uncompacted(s, run.Bill)
	if ranked(run) {
		run.Regret = r.regretOf(s, run)
	}
}

// uncompacted sets the cost of a session without compactions.
func (r *replayer) uncompacted(s source, bill *Bill) {
	at := costsim.Settings{Prices: r.biller.prices}
	kept, _ := r.asNumbers(s, true).Cost(at, costsim.Never)
	pinned, _ := r.asNumbers(s, false).Cost(at, costsim.Never)
	bill.Uncompacted, bill.PinnedUncompacted = kept+bill.Output, pinned+bill.Output
}

// rule is a rule of compaction that is compared with the optimum.
type rule struct {
	name string
	costsim.Rule
}

func rules(prices sizing.Prices) []rule {
	return []rule{
		{"carry 1", costsim.Carry(prices, 1)}, {"carry 0.7", costsim.Carry(prices, 0.7)}, {"carry 0.5", costsim.Carry(prices, 0.5)},
		{"fixed 80,000", costsim.Fixed(80_000)}, {"fixed 160,000", costsim.Fixed(160_000)},
	}
}

// The compactions of -regret: the tokens of their summaries, and of what they keep.
var summaryTokens, keptTokens = []int{1_000, 4_000, 10_000}, []int{5_000, 20_000}

// usualSummary and usualKept are used for a run without compactions.
const usualSummary, usualKept = 4_000, 20_000

// asNumbers returns a session as numbers, without its compactions. A request is cold if the cache has expired or, with
// restarts, if the recorded request read nothing.
func (r *replayer) asNumbers(s source, restarts bool) costsim.Session {
	numbers := costsim.Session{Head: r.biller.fixed}
	added := 0
	answers := stepping.Answering()
	var last time.Time
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if rec.Type() == entry.TypeCompaction {
			continue
		}
		answered := answers(rec)
		m, shown := rec.Shown()
		if !shown {
			continue
		}
		if answered && (rec.Usage.Input > 0 || !r.biller.usage) {
			numbers.Added = append(numbers.Added, added)
			expired := last.IsZero() || rec.Time.Sub(last) > r.biller.prices.Lifetime
			numbers.Cold = append(numbers.Cold, expired || restarts && r.biller.restarts[rec.Line])
			last, added = rec.Time, 0
		}
		added += r.tokenizer.CountMessage(m)
	}
	return numbers
}

// ruleCost is the cost of a rule on a session, for compactions of one size.
type ruleCost struct {
	session          string
	restarts         string // "kept" or "pinned"
	shape            costsim.Shape
	rule             string
	summary, kept    int
	dollars, optimum float64
}

// regret returns the cost as a multiple of the optimum.
func (c ruleCost) regret() float64 { return c.dollars / c.optimum }

// ofRules returns the cost of each rule on a session. The other fields are those of c.
func (c ruleCost) ofRules(session costsim.Session, at costsim.Settings) (list []ruleCost) {
	c.summary, c.kept, c.optimum = at.Summary, at.Kept, session.Optimum(at)
	for _, rule := range rules(at.Prices) {
		c.rule = rule.name
		c.dollars, _ = session.Cost(at, rule.Rule)
		list = append(list, c)
	}
	return list
}

// regrets compares the cost of rules with the optimum, on each session and on synthetic ones, and returns the output.
func regrets(ctx context.Context, r *replayer, sources []source, o options) (*bytes.Buffer, error) {
	var b bytes.Buffer
	var list []ruleCost
	for _, s := range sources {
		p, err := r.priced(ctx, s)
		if err != nil {
			return nil, err
		}
		if p.check == nil {
			return nil, program.UsageError{Err: fmt.Errorf("%s: -regret needs recorded usage, and the session has none", s.path)}
		}
		of := p.sessionRegrets(s)
		list = append(list, of...)
		if o.format == formatText {
			fmt.Fprintf(&b, "%s: times the optimum\n\n", s.path)
			bySetting(of).write(&b)
			b.WriteByte('\n')
		}
	}
	for i, m := range o.synthetic.all() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		at := costsim.Settings{Prices: r.biller.prices, Summarizer: r.biller.summarizer(), Summary: m.summary, Kept: m.kept}
		c := ruleCost{session: fmt.Sprintf("synthetic %d: %s", i+1, m), shape: m.shape, restarts: "pinned"}
		list = append(list, c.ofRules(m.Session, at)...)
	}
	if o.format != formatText {
		return &b, ruleSheet(list).write(&b, o.format, true)
	}
	if o.synthetic.sessions > 0 {
		fmt.Fprintf(&b, "%s synthetic sessions, seed %d: times the optimum\n\n", number(o.synthetic.sessions), o.synthetic.seed)
		byShape(list, o.synthetic.shapes).write(&b)
	}
	return &b, nil
}

// sessionRegrets returns the cost of each rule on a session, with and without restarts and for each size of
// compactions.
func (r *replayer) sessionRegrets(s source) (list []ruleCost) {
	for _, restarts := range []bool{true, false} {
		session := r.asNumbers(s, restarts)
		c := ruleCost{session: s.path, restarts: map[bool]string{true: "kept", false: "pinned"}[restarts]}
		for _, summary := range summaryTokens {
			for _, kept := range keptTokens {
				at := costsim.Settings{Prices: r.biller.prices, Summarizer: r.biller.summarizer(), Summary: summary, Kept: kept}
				list = append(list, c.ofRules(session, at)...)
			}
		}
	}
	return list
}

// bySetting returns a grid with a row for each size of compactions and a column for each rule.
func bySetting(list []ruleCost) grid {
	g := grid{{"restarts", "summary", "kept", "optimum"}}
	for i, c := range list {
		if first := i == 0 || list[i-1].restarts != c.restarts || list[i-1].summary != c.summary || list[i-1].kept != c.kept; first {
			g = append(g, []string{c.restarts, number(c.summary), number(c.kept), dollars(c.optimum)})
		}
		if len(g) == 2 {
			g[0] = append(g[0], c.rule)
		}
		g[len(g)-1] = append(g[len(g)-1], fmt.Sprintf("%.3f", c.regret()))
	}
	return g
}

// byShape returns a grid with a row for each rule: the mean and the worst of all synthetic sessions, and the mean of
// each shape.
func byShape(list []ruleCost, shapes []costsim.Shape) grid {
	g := grid{{"rule", "mean", "worst"}}
	for _, shape := range shapes {
		g[0] = append(g[0], string(shape))
	}
	g[0] = append(g[0], "the worst is")
	for _, rule := range rules(sizing.Prices{}) {
		var worst ruleCost
		var sum, n float64
		ofShape := map[costsim.Shape][2]float64{} // the sum, and the number of sessions
		for _, c := range list {
			if c.shape == "" || c.rule != rule.name {
				continue
			}
			ofShape[c.shape] = [2]float64{ofShape[c.shape][0] + c.regret(), ofShape[c.shape][1] + 1}
			sum, n = sum+c.regret(), n+1
			if worst.optimum == 0 || c.regret() > worst.regret() {
				worst = c
			}
		}
		row := []string{rule.name, fmt.Sprintf("%.3f", sum/n), fmt.Sprintf("%.3f", worst.regret())}
		for _, shape := range shapes {
			row = append(row, fmt.Sprintf("%.3f", ofShape[shape][0]/ofShape[shape][1]))
		}
		g = append(g, append(row, fmt.Sprintf("%s, summary %d, kept %d", worst.session, worst.summary, worst.kept)))
	}
	return g
}

// ruleSheet returns a sheet with a row for each session, size of compactions and rule.
func ruleSheet(list []ruleCost) sheet {
	s := sheet{columns: []column{
		{name: "session"}, {name: "shape"}, {name: "restarts"}, {name: "summaryTokens"}, {name: "keptTokens"}, {name: "rule"}, {name: "dollars"},
		{name: "optimumDollars"}, {name: "regret"},
	}}
	for _, c := range list {
		s.rows = append(s.rows, []any{c.session, string(c.shape), c.restarts, c.summary, c.kept, c.rule, c.dollars, c.optimum, c.regret()})
	}
	return s
}
