package split

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/stretchr/testify/require"
)

func requireSameWords(t *testing.T, text string) {
	t.Helper()
	for _, splitters := range []struct{ fast, wide func(string, int) int }{{o200k, o200kWide}, {cl100k, cl100kWide}} {
		for i := 0; i < len(text); {
			want := splitters.wide(text, i)
			require.Equal(t, want, splitters.fast(text, i), "at %d of %q", i, text)
			i = want
		}
	}
}

func TestWordsInASCIIAreThoseOfAnyText(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for range 15_000 {
		requireSameWords(t, string([]rune(sizingtest.RandomText(r))))
		var b strings.Builder
		for range r.IntN(16) {
			b.WriteByte("aAbZ s'tlL019  \t\n\r/./(\x00\x7f\xc3"[r.IntN(25)])
		}
		requireSameWords(t, string([]rune(b.String())))
	}
}
