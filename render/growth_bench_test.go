package render_test

import (
	"fmt"
	"runtime"
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
				text, opts := whole.Messages[0].Text(), render.Options{Budget: whole.Tokens / 10, Tokenizer: c}
				var counting time.Duration
				var allocated uint64
				for b.Loop() {
					b.StopTimer()
					c.Forget()
					began := time.Now()
					c.CountText(text)
					counting += time.Since(began)
					c.Forget()
					before := allocatedSoFar()
					b.StartTimer()
					r, err := render.Render(b.Context(), root, opts)
					b.StopTimer()
					allocated += allocatedSoFar() - before
					if err != nil || r.Tokens > opts.Budget {
						b.Fatal(err, r.Tokens, opts.Budget)
					}
					b.StartTimer()
				}
				reportBeside(b, "counts", b.Elapsed().Seconds()/counting.Seconds(), shape.Counts[i])
				reportBeside(b, "bytes/chunk", float64(allocated)/float64(b.N)/float64(n), shape.Bytes)
			})
		}
	}
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
