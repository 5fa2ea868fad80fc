package replay

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/costsim"
	"github.com/promptree-go/promptree/sizing"
)

// rules that are held against the optimum, by their names.
func rules(prices sizing.Prices) ([]string, []costsim.Rule) {
	return []string{"carry 1", "carry 0.7", "carry 0.5", "fixed 80,000", "fixed 160,000"},
		[]costsim.Rule{costsim.Carry(prices, 1), costsim.Carry(prices, 0.7), costsim.Carry(prices, 0.5), costsim.Fixed(80_000), costsim.Fixed(160_000)}
}

// settings of compactions: the tokens of their summaries, and those that they keep.
var summaryTokens, keptTokens = []int{1_000, 4_000, 10_000}, []int{5_000, 20_000}

// asNumbers is a session as numbers, without its compactions. With restarts, each request is cold that read nothing in the
// recording too.
func (r *replayer) asNumbers(s source, restarts bool) costsim.Session {
	numbers := costsim.Session{Head: r.biller.fixed}
	added := 0
	var last time.Time
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		m, shown := rec.Shown()
		if !shown || rec.Type() == history.TypeCompaction {
			continue
		}
		if m.Role == chat.RoleAssistant && rec.Usage.Input > 0 {
			numbers.Added = append(numbers.Added, added)
			expired := last.IsZero() || rec.Time.Sub(last) > r.biller.lifetime()
			numbers.Cold = append(numbers.Cold, expired || restarts && r.biller.restarts[rec.Line])
			last, added = rec.Time, 0
		}
		added += r.tokenizer.CountMessage(m)
	}
	return numbers
}

// regrets prints what rules cost over the best compactions: of each session for each setting, and of synthetic sessions.
func regrets(ctx context.Context, r *replayer, sources []source, o options, stdout io.Writer) error {
	var b strings.Builder
	for _, s := range sources {
		p, err := r.priced(ctx, s)
		if err != nil {
			return err
		}
		if p.check == nil {
			return usageError{fmt.Errorf("%s: -regret goes by recorded usage, and there is none", s.path)}
		}
		fmt.Fprintf(&b, "%s: times the optimum\n\n", s.path)
		p.sessionRegrets(s).write(&b)
		b.WriteByte('\n')
	}
	if o.synthetic > 0 {
		fmt.Fprintf(&b, "%s synthetic sessions, seed %d: times the optimum\n\n", number(o.synthetic), o.seed)
		table, err := syntheticRegrets(ctx, r.biller.prices, o.synthetic, o.seed)
		if err != nil {
			return err
		}
		table.write(&b)
	}
	_, err := io.WriteString(stdout, b.String())
	return err
}

func (r *replayer) sessionRegrets(s source) grid {
	names, all := rules(r.biller.prices)
	table := grid{append([]string{"restarts", "summary", "kept", "optimum"}, names...)}
	for _, restarts := range []bool{true, false} {
		session := r.asNumbers(s, restarts)
		for _, summary := range summaryTokens {
			for _, kept := range keptTokens {
				at := costsim.Settings{Prices: r.biller.prices, Summarizer: r.biller.writer(), Summary: summary, Kept: kept}
				best := session.Optimum(at)
				row := []string{map[bool]string{true: "kept", false: "pinned"}[restarts], number(summary), number(kept), dollars(best)}
				for _, rule := range all {
					cost, _ := session.Cost(at, rule)
					row = append(row, fmt.Sprintf("%.3f", cost/best))
				}
				table = append(table, row)
			}
		}
	}
	return table
}

// syntheticRegrets goes through sessions of all shapes, 16 to 800 requests of 100 to 3,000 tokens, none, 3% or 10% of them
// cold, and all settings.
func syntheticRegrets(ctx context.Context, prices sizing.Prices, sessions int, seed uint64) (grid, error) {
	random := rand.New(rand.NewPCG(seed, 1))
	names, all := rules(prices)
	sum, worst, worstOf := make([]float64, len(all)), make([]float64, len(all)), make([]string, len(all))
	for i := range sessions {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		shape := costsim.Shapes[i%len(costsim.Shapes)]
		requests, mean, cold := 16+random.IntN(785), 100+random.IntN(2901), []float64{0, 0.03, 0.1}[random.IntN(3)]
		session := costsim.Synthetic(shape, random.Uint64(), requests, mean, cold)
		at := costsim.Settings{Prices: prices, Summary: summaryTokens[random.IntN(3)], Kept: keptTokens[random.IntN(2)]}
		best := session.Optimum(at)
		for j, rule := range all {
			cost, _ := session.Cost(at, rule)
			is := cost / best
			sum[j] += is
			if is > worst[j] {
				worst[j] = is
				worstOf[j] = fmt.Sprintf("%s, %d requests of %d tokens, %.0f%% cold, summary %d, kept %d", shape, requests, mean, 100*cold, at.Summary, at.Kept)
			}
		}
	}
	table := grid{{"rule", "mean", "worst", "which is"}}
	for j, name := range names {
		table = append(table, []string{name, fmt.Sprintf("%.3f", sum[j]/float64(sessions)), fmt.Sprintf("%.3f", worst[j]), worstOf[j]})
	}
	return table, nil
}
