package split

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

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

var pieces = []string{
	"a", "b", "s", "t", "re", "the", "Z", "S", "T", "LL", "HTTP", "é", "É", "ǅ", "ʰ", "ª", "中", "文", "〇", "⺀", "\U00016FF0", "ش", "ก", "ß", "ſ", "か", "ー",
	"\u0301", "\u0308", "\u0e49", "\u200d", "\ufe0f", "'", "'s", "'S", "'re", "'LL", "'x", "'ſ", "’", "1", "23", "456", "½", "٣", "𝟘", "Ⅷ",
	" ", " ", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\u00a0", "\u3000", "\u0085", "\u2028", "\ufeff", "\v",
	".", ",", "/", "//", "!", "(", ")", "{", "}", "_", "-", "\"", "#", "=", "<|endoftext|>", "🙂", "👩‍👧", "𝔘", "𐐀", "𐐨", "𠀀", "。", "、",
	"\ufffd", "\x00", "\x1b", "\u0378", "return", "function", "Straße", "internationalization",
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(24) {
		if r.IntN(12) == 0 {
			b.WriteRune(rune(r.IntN(unicode.MaxRune)))
			continue
		}
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func TestWordsInASCIIAreThoseOfAnyText(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for range 15_000 {
		requireSameWords(t, string([]rune(randomText(r))))
		var b strings.Builder
		for range r.IntN(16) {
			b.WriteByte("aAbZ s'tlL019  \t\n\r/./(\x00\x7f\xc3"[r.IntN(25)])
		}
		requireSameWords(t, string([]rune(b.String())))
	}
}
