package tiktoken

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/extremes"
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
