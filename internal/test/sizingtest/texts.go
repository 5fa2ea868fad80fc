package sizingtest

import (
	"math/rand/v2"
	"strings"
	"unicode"
)

// Pieces of random texts: what split patterns tell apart, and what surrounds it.
var Pieces = []string{
	"a", "b", "s", "t", "re", "the", "Z", "S", "T", "LL", "HTTP", "é", "É", "ǅ", "ʰ", "ª", "中", "文", "〇", "⺀", "\U00016FF0", "ش", "ก", "ß", "ſ", "か", "ー",
	"\u0301", "\u0308", "\u0e49", "\u200d", "\ufe0f", "'", "'s", "'S", "'re", "'LL", "'x", "'ſ", "’", "1", "23", "456", "½", "٣", "𝟘", "Ⅷ",
	" ", " ", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\u00a0", "\u3000", "\u0085", "\u2028", "\ufeff", "\v",
	".", ",", "/", "//", "!", "(", ")", "{", "}", "_", "-", "\"", "#", "=", "<|endoftext|>", "🙂", "👩‍👧", "𝔘", "𐐀", "𐐨", "𠀀", "。", "、",
	"\xff", "\xc3", "\xed\xa0\x80", "\ufffd", "\x00", "\x1b", "\u0378", "return", "function", "Straße", "internationalization",
}

// RandomText returns a text of up to 23 pieces, which may not be UTF-8.
func RandomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(24) {
		if r.IntN(12) == 0 {
			b.WriteRune(rune(r.IntN(unicode.MaxRune)))
			continue
		}
		b.WriteString(Pieces[r.IntN(len(Pieces))])
	}
	return b.String()
}
