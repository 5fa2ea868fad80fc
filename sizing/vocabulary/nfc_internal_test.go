package vocabulary

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing/internal/split"
)

func TestTextsAreComposed(t *testing.T) {
	for _, tt := range []struct{ rule, text, want string }{
		{"nothing", "", ""},
		{"ASCII", "plain", "plain"},
		{"composed already", "naïve Übung й が 한국", "naïve Übung й が 한국"},
		{"a mark", "xe\u0301y", "xéy"},
		{"at the start", "\u0301e\u0301", "\u0301é"},
		{"two marks, in any order", "o\u0302\u0323 o\u0323\u0302", "ộ ộ"},
		{"a mark that blocks another", "a\u0301\u0301", "á\u0301"},
		{"a lower mark between", "a\u0327\u0301", "á\u0327"},
		{"on a composed letter", "é\u0323", "ẹ\u0301"},
		{"a symbol", "=\u0338", "≠"},
		{"another spelling", "\u212b\u2126\u037e\uf900", "ÅΩ;豈"},
		{"not composed by exclusion", "\u0958 \u0915\u093c", "\u0915\u093c \u0915\u093c"},
		{"kana", "か\u3099ハ\u309a", "がパ"},
		{"Hangul", "\u1112\u1161\u11ab \ud558\u11ab", "한 한"},
		{"a trailing consonant after another", "한\u11ab", "한\u11ab"},
		{"more marks than Go's package composes at once", "a" + strings.Repeat("\u0301", 40) + "\u0327", "á\u0327" + strings.Repeat("\u0301", 39)},
		{"marks younger than the reference's tables stay in their order", "a\U00011070\u0327", "a\U00011070\u0327"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := composed(tt.text)
			require.Equal(t, tt.want, got, "%+q", got)
			require.Equal(t, tt.want, composed(got), "once more changes nothing")
		})
	}
}

// What the cuts of a text before it is composed say of the words afterwards rests on this.
func TestComposingKeepsTheClassOfAFirstCharacter(t *testing.T) {
	f := formsOnce()
	for pair, composite := range f.composites {
		if f.standsAlone(pair[0]) {
			require.Equal(t, split.ClassOf(pair[0])&letters != 0, split.ClassOf(composite)&letters != 0, "%U", composite)
			require.Equal(t, split.IsSpace(pair[0]), split.IsSpace(composite), "%U", composite)
		}
		require.NotEqual(t, split.ClassOf('1'), split.ClassOf(composite), "%U: a number", composite)
	}
	for r := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		if f.standsAlone(r) {
			require.Equal(t, string(r), composed(string(r)))
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(composed(string(r)))
		require.True(t, split.ClassOf(last) == split.ClassOf(r) || split.ClassOf(last)&^(letters|split.ClassOf('\u0301')|split.Symbol) == 0, "%U", r)
	}
}

const letters = split.Class(7)
