package tiktoken

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/sizing/internal/memo"
)

// printable returns the characters below a limit that are printed or are white space.
func printable(limit rune) []rune {
	var all []rune
	for r := range limit {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			all = append(all, r)
		}
	}
	return all
}

func TestRunsOfAnyLengthCountAsInTiktoken(t *testing.T) {
	t.Parallel()
	all := pairings(t)
	r := rand.New(rand.NewPCG(21, 22))
	ascii, wide := printable(128), printable(unicode.MaxRune)
	for _, unit := range ascii {
		requireOracle(t, all, strings.Repeat(string(unit), 65+r.IntN(200)))
	}
	unit := func() string {
		if r.IntN(4) == 0 {
			return string(wide[r.IntN(len(wide))])
		}
		var b strings.Builder
		for range 1 + r.IntN(2)*r.IntN(5) {
			b.WriteRune(ascii[r.IntN(len(ascii))])
		}
		return b.String()
	}
	for range extremes.Cases(2000) {
		var text strings.Builder
		for range 1 + r.IntN(3) {
			u := unit()
			text.WriteString(strings.Repeat(u, 1+r.IntN(250)/len(u)))
		}
		requireOracle(t, all, text.String())
	}
	for range extremes.Cases(2000) { // of the characters that start the most tokens
		var text strings.Builder
		for range 1 + r.IntN(6) {
			text.WriteString(strings.Repeat(string("-=*#/ \t\n"[r.IntN(8)]), 1+r.IntN(150)))
		}
		requireOracle(t, all, text.String())
	}
}

// The tokens of a long run repeat, so the oracle, which is quadratic, need not count it.
func TestLongRunsHaveTheTokensOfShortOnes(t *testing.T) {
	t.Parallel()
	const block = 3 << 10 // a multiple of the tokens of a long run
	for _, name := range encodings {
		c := newTestCounter(t, name)
		for _, unit := range printable(128) {
			run := func(blocks int) int { return c.CountText(strings.Repeat(string(unit), blocks*block)) }
			each := run(2) - run(1)
			for _, blocks := range []int{3, 17, 64} {
				require.Equal(t, run(1)+(blocks-1)*each, run(blocks), "%s: %d blocks of %q", name, blocks, unit)
			}
		}
	}
}

// BenchmarkRuns counts texts that repeat a unit of a few characters, and reports how fast the slowest is and, beside it,
// prose. With -v it logs the slowest ones. Each loop counts all texts once, so -benchtime 3x is enough.
func BenchmarkRuns(b *testing.B) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(b, err)
	prose := strings.Repeat(string(readme), 16)
	r := rand.New(rand.NewPCG(23, 24))
	ascii, wide := printable(128), printable(unicode.MaxRune)
	var characters, pairs, periods []string
	for _, first := range wide {
		characters = append(characters, string(first))
	}
	for _, first := range ascii {
		for _, second := range ascii {
			pairs = append(pairs, string(first)+string(second))
		}
	}
	for range 10_000 {
		var period strings.Builder
		for range 3 + r.IntN(6) {
			period.WriteRune(ascii[r.IntN(len(ascii))])
		}
		periods = append(periods, period.String())
	}
	for _, kind := range []struct {
		name  string
		units []string
		bytes int // of a text
	}{{"character", characters, 4 << 10}, {"ASCII", characters[:len(ascii)], 64 << 10}, {"pair", pairs, 16 << 10}, {"period", periods, 16 << 10}} {
		for _, name := range []string{"o200k_base", "cl100k_base"} {
			b.Run(kind.name+"/"+name, func(b *testing.B) {
				c := newTestCounter(b, name)
				least := make([]time.Duration, len(kind.units)+1) // the last is the prose's
				measure := func(i int, text string) {
					c.memory = memo.New()
					start := time.Now()
					c.count(text)
					if d := time.Since(start); least[i] == 0 || d < least[i] {
						least[i] = d
					}
				}
				size := func(i int) int { return kind.bytes / len(kind.units[i]) * len(kind.units[i]) }
				for b.Loop() {
					for i, unit := range kind.units {
						measure(i, strings.Repeat(unit, size(i)/len(unit)))
					}
					measure(len(kind.units), prose)
				}
				speed := func(i int) float64 { return float64(size(i)) / float64(least[i].Nanoseconds()) * 1e3 } // in MB/s
				order := make([]int, len(kind.units))
				for i := range order {
					order[i] = i
				}
				slices.SortFunc(order, func(i, j int) int { return cmp.Compare(speed(i), speed(j)) })
				b.ReportMetric(speed(order[0]), "MB/s-slowest")
				b.ReportMetric(speed(order[len(order)/2]), "MB/s-median")
				b.ReportMetric(float64(len(prose))/float64(least[len(kind.units)].Nanoseconds())*1e3, "MB/s-prose")
				for _, i := range order[:10] {
					b.Logf("%q: %.0f MB/s", kind.units[i], speed(i))
				}
			})
		}
	}
}
