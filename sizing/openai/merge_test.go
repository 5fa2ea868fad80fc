package openai

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	tiktoken_loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/require"
)

// mergeByStep is merging as it is defined: the pair of the lowest rank, again and again.
func mergeByStep(v *vocab, word string) int {
	starts := make([]int, len(word)+1)
	for i := range starts {
		starts[i] = i
	}
	for {
		lowest, at := uint32(math.MaxUint32), -1
		for i := range len(starts) - 2 {
			if t := v.find(word, starts[i], starts[i+2]-starts[i]); t != noToken && t.rank() < lowest {
				lowest, at = t.rank(), i
			}
		}
		if at < 0 {
			return len(starts) - 1
		}
		starts = append(starts[:at+1], starts[at+2:]...)
	}
}

func requireMerged(t *testing.T, c *Counter, word string) {
	t.Helper()
	v := c.encoding.vocab
	if len(word) < 2 || v.find(word, 0, len(word)) != noToken {
		return
	}
	want := mergeByStep(v, word)
	require.Equal(t, want, (&merger{}).merge(v, word), "%q", word)
	if len(word) <= maxShortWord {
		require.Equal(t, want, v.mergeShort(word), "%q", word)
	}
	// What stands around a word has no part in its tokens, nor whether they are remembered.
	for range 2 {
		require.Equal(t, want, c.countWord("<"+word+">", 1, len(word)+1))
	}
}

func TestWordsMergeAsStepByStep(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, name := range encodings {
		c := newTestCounter(t, name)
		v := c.encoding.vocab
		for _, alphabet := range []string{"ab", "abcesnrt ABC\xe4\xb8\xad", "=-*_ ", "\x00\x01", "\xf0\x9f\x99\x82\x91", "\n\r\t "} {
			for range 1500 {
				word := make([]byte, 2+r.IntN(10)*r.IntN(10))
				for i := range word {
					word[i] = alphabet[r.IntN(len(alphabet))]
				}
				requireMerged(t, c, string(word))
			}
		}
		for range 5000 { // of tokens, whole and cut
			var word strings.Builder
			for range 1 + r.IntN(4) {
				token := v.tokenOf(r.Uint32N(uint32(len(v.halves))))
				word.WriteString(v.bytesOf(token.rank(), token.len())[r.IntN(1+token.len()/2):])
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

func TestTablesAreTiktokens(t *testing.T) {
	for _, name := range encodings {
		ranks, err := tiktoken_loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		require.NoError(t, err)
		v := newTestCounter(t, name).encoding.vocab
		size := 0
		for token, rank := range ranks {
			require.Equal(t, newToken(uint32(rank), len(token)), v.find(token, 0, len(token)), "%s: %q", name, token)
			size += len(token)
		}
		require.Len(t, v.text, size, "there are no others")
	}
}

func TestLongestTokenIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, name := range encodings {
		v := newTestCounter(t, name).encoding.vocab
		for range 5000 {
			token := v.tokenOf(r.Uint32N(uint32(len(v.halves))))
			text := v.bytesOf(token.rank(), token.len()) + randomText(r) + "."
			n := 2 + r.IntN(len(text))
			want := noToken
			for k := min(n-1, len(text)); want == noToken; k-- {
				want = v.find(text, 0, k)
			}
			require.Equal(t, want, v.below(text, 0, min(n, len(text)+1)), "%s: below %d bytes of %q", name, n, text)
		}
	}
}

func TestDamagedTableIsAnError(t *testing.T) {
	for _, size := range []int{0, 3, 100, 300, 1000, len(r50kTable) - 1} {
		_, err := newVocab(r50kTable[:size])
		require.ErrorIs(t, err, errTable, "%d bytes", size)
	}
}
