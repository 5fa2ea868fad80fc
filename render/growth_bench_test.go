package render_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/treetest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// BenchmarkGrowth prunes trees to a tenth, with a counter that remembers nothing. It reports what that costs in counts of
// the whole text, and the bytes allocated for a chunk, each beside its target, if there is one.
func BenchmarkGrowth(b *testing.B) {
	for _, shape := range treetest.Shapes() {
		for i, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", shape.Name, n), func(b *testing.B) {
				root, c := shape.Make(n), tiktoken.O200k()
				whole, err := render.Render(b.Context(), root, render.Options{Budget: 1 << 30, Tokenizer: c})
				require.NoError(b, err)
				opts := render.Options{Budget: whole.Tokens / 10}
				allocated := inCounts(b, whole.Messages[0].Text(), shape.Counts[i], func(c *tiktoken.Counter) {
					opts.Tokenizer = c
					r, err := render.Render(b.Context(), root, opts)
					if err != nil || r.Tokens > opts.Budget {
						b.Fatal(err, r.Tokens, opts.Budget)
					}
				})
				reportBeside(b, "bytes/chunk", allocated/float64(n), shape.Bytes)
			})
		}
	}
}

// BenchmarkBudgets fits one layout of 3,000 chunks to 50 budgets, and surveys it, with a counter that remembers nothing. It
// reports what that costs in counts of the whole text, layout included, beside its target: fits share no pruning, so each
// may take as long as a count.
func BenchmarkBudgets(b *testing.B) {
	const budgets = 50
	root, c := treetest.Flat(3_000), tiktoken.O200k()
	whole, err := render.Render(b.Context(), root, render.Options{Budget: 1 << 30, Tokenizer: c})
	require.NoError(b, err)
	run := func(name string, target float64, job func(*render.Layout) error) {
		b.Run(name, func(b *testing.B) {
			inCounts(b, whole.Messages[0].Text(), target, func(c *tiktoken.Counter) {
				layout, err := render.Lay(b.Context(), root, render.Options{Budget: whole.Tokens, Tokenizer: c})
				if err == nil {
					err = job(layout)
				}
				if err != nil {
					b.Fatal(err)
				}
			})
		})
	}
	run("fits", budgets, func(layout *render.Layout) (err error) {
		for i := 1; i <= budgets && err == nil; i++ {
			_, err = layout.Fit(b.Context(), whole.Tokens*i/budgets)
		}
		return err
	})
	run("survey", 8, func(layout *render.Layout) error {
		r, err := layout.Fit(b.Context(), whole.Tokens)
		if err == nil {
			_, err = r.Survey(b.Context())
		}
		return err
	})
}

// inCounts measures a job with a counter that remembers nothing, reports its time in counts of a text beside a target, and
// returns the bytes that it allocates.
func inCounts(b *testing.B, text string, target float64, job func(*tiktoken.Counter)) (bytes float64) {
	var counting time.Duration
	var allocated uint64
	for b.Loop() {
		b.StopTimer()
		c := fresh()
		began := time.Now()
		c.CountText(text)
		counting += time.Since(began)
		c = fresh()
		before := allocatedSoFar()
		b.StartTimer()
		job(c)
		b.StopTimer()
		allocated += allocatedSoFar() - before
		b.StartTimer()
	}
	reportBeside(b, "counts", b.Elapsed().Seconds()/counting.Seconds(), target)
	return float64(allocated) / float64(b.N)
}

// fresh returns a counter that remembers nothing, and has the memory for it.
func fresh() *tiktoken.Counter {
	c := tiktoken.O200k()
	c.CountText(strings.Repeat("a text that is long enough to be remembered ", 2))
	return c
}

// reportBeside reports a value and its target, which is not reported if it is 0.
func reportBeside(b *testing.B, unit string, value, target float64) {
	b.ReportMetric(value, unit)
	if target > 0 {
		b.ReportMetric(target, unit+"-target")
	}
}

func allocatedSoFar() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
