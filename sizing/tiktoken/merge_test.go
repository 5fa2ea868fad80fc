package tiktoken

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/extremes"
)

// mergeByStep merges as defined: the pair of the lowest rank, again and again, while that is below a limit. It returns
// the starts of the tokens, and the end.
func mergeByStep(tokenOf func(string) token, word string, limit uint32) []int {
	starts := make([]int, len(word)+1)
	for i := range starts {
		starts[i] = i
	}
	for {
		lowest, at := limit, -1
		for i := range len(starts) - 2 {
			if t := tokenOf(word[starts[i]:starts[i+2]]); t != noToken && t.rank() < lowest {
				lowest, at = t.rank(), i
			}
		}
		if at < 0 {
			return starts
		}
		starts = slices.Delete(starts, at+1, at+2)
	}
}

func requireMerged(t *testing.T, c *Counter, word string) {
	t.Helper()
	v := c.vocab
	if len(word) < 2 || v.find(word, 0, len(word)) != noToken {
		return
	}
	find := func(s string) token { return v.find(s, 0, len(s)) }
	want := len(mergeByStep(find, word, math.MaxUint32)) - 1
	require.Equal(t, want, (&merger{}).merge(v, word), "%q", word)
	// What was remembered of other words does not change the tokens.
	m := c.mergers.Take()
	require.Equal(t, want, m.merge(v, word), "%q", word)
	c.mergers.Put(m)
}

func TestWordsMergeAsStepByStep(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, name := range encodings {
		c := newTestCounter(t, name)
		tokens, _ := tokensByRank(t, name)
		for _, alphabet := range []string{"ab", "abcesnrt ABC\xe4\xb8\xad", "=-*_ ", "\x00\x01", "\xf0\x9f\x99\x82\x91", "\n\r\t "} {
			for range extremes.Cases(1500) {
				word := make([]byte, 2+r.IntN(10)*r.IntN(10))
				for i := range word {
					word[i] = alphabet[r.IntN(len(alphabet))]
				}
				requireMerged(t, c, string(word))
			}
		}
		for range extremes.Cases(5000) { // of tokens, whole and cut
			var word strings.Builder
			for range 1 + r.IntN(4) {
				token := tokens[r.IntN(len(tokens))]
				word.WriteString(token[r.IntN(1+len(token)/2):])
			}
			requireMerged(t, c, word.String())
		}
	}
}

func FuzzMerge(f *testing.F) {
	for _, word := range []string{"ab", "internationalization", strings.Repeat("ab", 100), "\xff\xfe\xfd", strings.Repeat("=", 300)} {
		f.Add(word)
	}
	all := pairings(f)
	f.Fuzz(func(t *testing.T, word string) {
		if len(word) > 1<<10 {
			t.Skip("step by step is quadratic")
		}
		for _, p := range all {
			requireMerged(t, p.counter, word)
		}
	})
}
