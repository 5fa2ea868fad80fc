package replay

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/costsim"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/stepping"
	"github.com/promptree-go/promptree/sizing"
)

// Regret is what a run cost without its answers, as a multiple of the best compactions with summaries and tails as large as the
// run's were on average. Clearing is no part of those, so that a policy that clears may come to less than 1.
type Regret struct {
	// Summary and KeptTokens are of each compaction; if the run has none, the usual 4,000 and 20,000.
	Summary    int `json:"summaryTokens"`
	KeptTokens int `json:"keptTokens"`
	// Kept is with the restarts of the recording, Pinned without.
	Kept   float64 `json:"kept"`
	Pinned float64 `json:"pinned"`
}

// regretOf holds a run against the optimum. It is nil if nothing was asked.
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
	at := costsim.Settings{Prices: r.biller.prices, Summarizer: r.biller.writer(), Summary: g.Summary, Kept: g.KeptTokens}
	kept, pinned := r.asNumbers(s, true).Optimum(at), r.asNumbers(s, false).Optimum(at)
	if kept <= 0 || pinned <= 0 {
		return nil
	}
	g.Kept, g.Pinned = (run.Bill.Kept-run.Bill.Output)/kept, (run.Bill.Pinned-run.Bill.Output)/pinned
	return g
}

// rate says of a run with prices what its session would have cost otherwise.
func (r *replayer) rate(s source, run *Run) {
	if r.biller == nil {
		return
	}
	r.uncompacted(s, run.Bill)
	if ranked(run) {
		run.Regret = r.regretOf(s, run)
	}
}

// uncompacted fills in what the session of a run would have cost without compactions.
func (r *replayer) uncompacted(s source, bill *Bill) {
	at := costsim.Settings{Prices: r.biller.prices}
	kept, _ := r.asNumbers(s, true).Cost(at, costsim.Never)
	pinned, _ := r.asNumbers(s, false).Cost(at, costsim.Never)
	bill.Uncompacted, bill.PinnedUncompacted = kept+bill.Output, pinned+bill.Output
}

// rule of compaction that is held against the optimum, by its name.
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

// settings of compactions: the tokens of their summaries, and those that they keep.
var summaryTokens, keptTokens = []int{1_000, 4_000, 10_000}, []int{5_000, 20_000}

// usualSummary and usualKept stand for those of a run that did not compact.
const usualSummary, usualKept = 4_000, 20_000

// asNumbers returns a session as numbers, without its compactions. With restarts, each request is cold that read nothing in the
// recording too.
func (r *replayer) asNumbers(s source, restarts bool) costsim.Session {
	numbers := costsim.Session{Head: r.biller.fixed}
	added := 0
	answers := stepping.Answering()
	var last time.Time
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if rec.Type() == history.TypeCompaction {
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

// rated is what a rule costs on a session, of which there are several settings.
type rated struct {
	session, restarts string // "kept" or "pinned"
	shape             costsim.Shape
	rule              string
	summary, kept     int
	dollars, optimum  float64
}

func (r rated) times() float64 { return r.dollars / r.optimum }

// rate holds the rules against the optimum.
func (r rated) rate(session costsim.Session, at costsim.Settings) (list []rated) {
	r.summary, r.kept, r.optimum = at.Summary, at.Kept, session.Optimum(at)
	for _, rule := range rules(at.Prices) {
		r.rule = rule.name
		r.dollars, _ = session.Cost(at, rule.Rule)
		list = append(list, r)
	}
	return list
}

// regrets says what rules cost over the best compactions: of each session for each setting, and of synthetic sessions.
func regrets(ctx context.Context, r *replayer, sources []source, o options) (*bytes.Buffer, error) {
	var b bytes.Buffer
	var list []rated
	for _, s := range sources {
		p, err := r.priced(ctx, s)
		if err != nil {
			return nil, err
		}
		if p.check == nil {
			return nil, program.UsageError{Err: fmt.Errorf("%s: -regret goes by recorded usage, and there is none", s.path)}
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
		at := costsim.Settings{Prices: r.biller.prices, Summarizer: r.biller.writer(), Summary: m.summary, Kept: m.kept}
		list = append(list, rated{session: fmt.Sprintf("synthetic %d: %s", i+1, m), shape: m.shape, restarts: "pinned"}.rate(m.Session, at)...)
	}
	if o.format != formatText {
		return &b, ratedSheet(list).write(&b, o.format, true)
	}
	if o.synthetic.sessions > 0 {
		fmt.Fprintf(&b, "%s synthetic sessions, seed %d: times the optimum\n\n", number(o.synthetic.sessions), o.synthetic.seed)
		byShape(list, o.synthetic.shapes).write(&b)
	}
	return &b, nil
}

func (r *replayer) sessionRegrets(s source) (list []rated) {
	for _, restarts := range []bool{true, false} {
		session := r.asNumbers(s, restarts)
		for _, summary := range summaryTokens {
			for _, kept := range keptTokens {
				at := costsim.Settings{Prices: r.biller.prices, Summarizer: r.biller.writer(), Summary: summary, Kept: kept}
				list = append(list, rated{session: s.path, restarts: map[bool]string{true: "kept", false: "pinned"}[restarts]}.rate(session, at)...)
			}
		}
	}
	return list
}

// bySetting has a row for each setting and a column for each rule.
func bySetting(list []rated) grid {
	g := grid{{"restarts", "summary", "kept", "optimum"}}
	for i, r := range list {
		if first := i == 0 || list[i-1].restarts != r.restarts || list[i-1].summary != r.summary || list[i-1].kept != r.kept; first {
			g = append(g, []string{r.restarts, number(r.summary), number(r.kept), dollars(r.optimum)})
		}
		if len(g) == 2 {
			g[0] = append(g[0], r.rule)
		}
		g[len(g)-1] = append(g[len(g)-1], fmt.Sprintf("%.3f", r.times()))
	}
	return g
}

// byShape has a row for each rule: the mean and the worst of all synthetic sessions, and the mean of each shape.
func byShape(list []rated, shapes []costsim.Shape) grid {
	g := grid{{"rule", "mean", "worst"}}
	for _, shape := range shapes {
		g[0] = append(g[0], string(shape))
	}
	g[0] = append(g[0], "the worst is")
	for _, rule := range rules(sizing.Prices{}) {
		var worst rated
		var sum, n float64
		of := map[costsim.Shape][2]float64{}
		for _, r := range list {
			if r.shape == "" || r.rule != rule.name {
				continue
			}
			of[r.shape] = [2]float64{of[r.shape][0] + r.times(), of[r.shape][1] + 1}
			sum, n = sum+r.times(), n+1
			if worst.optimum == 0 || r.times() > worst.times() {
				worst = r
			}
		}
		row := []string{rule.name, fmt.Sprintf("%.3f", sum/n), fmt.Sprintf("%.3f", worst.times())}
		for _, shape := range shapes {
			row = append(row, fmt.Sprintf("%.3f", of[shape][0]/of[shape][1]))
		}
		g = append(g, append(row, fmt.Sprintf("%s, summary %d, kept %d", worst.session, worst.summary, worst.kept)))
	}
	return g
}

// ratedSheet has a row for each session, setting and rule.
func ratedSheet(list []rated) sheet {
	s := sheet{columns: []column{
		{name: "session"}, {name: "shape"}, {name: "restarts"}, {name: "summaryTokens"}, {name: "keptTokens"}, {name: "rule"}, {name: "dollars"},
		{name: "optimumDollars"}, {name: "regret"},
	}}
	for _, r := range list {
		s.rows = append(s.rows, []any{r.session, string(r.shape), r.restarts, r.summary, r.kept, r.rule, r.dollars, r.optimum, r.times()})
	}
	return s
}
