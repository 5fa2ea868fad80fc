package openai

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func requireSameWords(t *testing.T, text string) (fast int) {
	t.Helper()
	for _, splitters := range []struct{ ascii, wide func(string, int) int }{{o200kASCII, o200kWide}, {cl100kASCII, cl100kWide}} {
		for i := 0; i < len(text); {
			want := splitters.wide(text, i)
			if end := splitters.ascii(text, i); end != 0 {
				fast++
				require.Equal(t, want, end, "at %d of %q", i, text)
			}
			i = want
		}
	}
	return fast
}

func TestWordsInASCIIAreThoseOfAnyText(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	fast := 0
	for range 30_000 {
		fast += requireSameWords(t, string([]rune(randomText(r))))
	}
	for range 30_000 {
		var b strings.Builder
		for range r.IntN(16) {
			b.WriteByte("aAbZ s'tlL019  \t\n\r/./(\x00\x7f\xc3"[r.IntN(25)])
		}
		fast += requireSameWords(t, string([]rune(b.String())))
	}
	require.Greater(t, fast, 100_000)
}
