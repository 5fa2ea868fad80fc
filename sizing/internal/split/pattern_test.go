package split

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sizingtest"
)

// wordsOf returns the words of a text.
func wordsOf(p Pattern, text string) (words []string) {
	for i := 0; i < len(text); {
		end := p.Next(text, i)
		words = append(words, text[i:end])
		i = end
	}
	return words
}

// matches returns the matches of an expression in a text, and what is between them.
func matches(t *testing.T, e *regexp2.Regexp, text string) (words []string) {
	all, done := []rune(text), 0
	for m, err := e.FindRunesMatch(all); m != nil; m, err = e.FindNextMatch(m) {
		require.NoError(t, err)
		if m.Index > done {
			words = append(words, string(all[done:m.Index]))
		}
		words = append(words, m.String())
		done = m.Index + m.Length
	}
	if done < len(all) {
		words = append(words, string(all[done:]))
	}
	return words
}

// knownToBoth returns a text without what the tables of the expressions' library do not know, and without long s, which
// it does not match with s.
func knownToBoth(text string) string {
	return strings.Map(func(r rune) rune {
		if r == 'ſ' || r == unicode.ReplacementChar || unicode.Is(unicode.Cn, r) {
			return -1
		}
		return r
	}, string([]rune(text)))
}

func TestWordsAreThoseOfThePublishedExpression(t *testing.T) {
	for expression, p := range published {
		t.Run(expression, func(t *testing.T) {
			// The library knows no possessive quantifiers, which change nothing here, and no intersections.
			e := regexp2.MustCompile(strings.NewReplacer("?+", "?", "]++", "]+",
				`[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`, `(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])`,
				`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`, `(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])`,
			).Replace(expression), regexp2.None)
			r := rand.New(rand.NewPCG(23, 24))
			for range 6000 {
				text := knownToBoth(sizingtest.RandomText(r))
				require.Equal(t, matches(t, e, text), wordsOf(p, text), "%q", text)
			}
		})
	}
}

func TestALongSIsAContractionOfVocabularies(t *testing.T) {
	for _, tt := range []struct {
		p     Pattern
		words []string
	}{
		{llama3, []string{"it", "'ſ", "a", "'ſ", "'s"}},
		{qwen2, []string{"it", "'ſ", "a"}},
		{o200kLongS, []string{"it'ſ", "'ſ", " a'ſ", " '", " b's", "'ſ"}},
	} {
		text := strings.Join(tt.words, "")
		require.Equal(t, tt.words, wordsOf(tt.p, text), "%q", text)
	}
}

// sequences are patterns that are applied one to the words of the other.
func sequences() map[string][]Pattern {
	all := map[string][]Pattern{
		"Digits, GPT-2":       {Digits(true), GPT2},
		"runs of digits":      {Digits(false), GPT2},
		"spaces":              {Spaces, Whole},
		"three of DeepSeek's": {published[`\p{N}{1,3}`], published[`[一-龥぀-ゟ゠-ヿ]+`], {Next: deepSeek, Cut: deepSeekCut}},
		"cl100k":              {Cl100k},
		"o200k":               {O200k},
	}
	for expression, p := range published {
		all[expression] = []Pattern{p}
	}
	return all
}

func split(patterns []Pattern, text string) []string {
	words := wordsOf(patterns[0], text)
	if len(patterns) == 1 {
		return words
	}
	var all []string
	for _, word := range words {
		all = append(all, split(patterns[1:], word)...)
	}
	return all
}

func requireSafeCuts(t *testing.T, name string, patterns []Pattern, text string) (cuts int) {
	t.Helper()
	whole := split(patterns, text)
	before := rune(-1)
	for i, after := range text {
		if before >= 0 && Cuts(patterns, before, after) == Safe {
			cuts++
			if parts := slices.Concat(split(patterns, text[:i]), split(patterns, text[i:])); !slices.Equal(parts, whole) {
				require.Failf(t, "a cut that is not safe", "%s: %q + %q: %q, want %q", name, text[:i], text[i:], parts, whole)
			}
		}
		before = after
	}
	return cuts
}

func TestASafeCutChangesNoWord(t *testing.T) {
	for name, patterns := range sequences() {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(25, 26))
			cuts := 0
			for range 4000 {
				cuts += requireSafeCuts(t, name, patterns, string([]rune(sizingtest.RandomText(r))))
			}
			require.Greater(t, cuts, 1000, "a rule that forbade every cut would be useless")
		})
	}
}

func FuzzCuts(f *testing.F) {
	r := rand.New(rand.NewPCG(27, 28))
	for range 100 {
		f.Add(sizingtest.RandomText(r))
	}
	all := sequences()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<9 {
			t.Skip("each cut splits the whole text")
		}
		text = string([]rune(text))
		for name, patterns := range all {
			require.Equal(t, text, strings.Join(split(patterns, text), ""))
			requireSafeCuts(t, name, patterns, text)
		}
	})
}

func TestPunctuationIsUnicode16s(t *testing.T) {
	if unicode.Version != "15.0.0" {
		t.Skip("Go has other tables now: Unicode", unicode.Version)
	}
	newer := 0
	for r := range rune(unicode.MaxRune + 1) {
		got, want := isPunctuation(r), unicode.In(r, unicode.P, unicode.S)
		if got != want {
			newer++
			require.True(t, got && unicode.Is(unicode.Cn, r), "%U is known to Go and of another class", r)
		}
		require.False(t, got && ClassOf(r) != Symbol, "%U", r)
	}
	require.Equal(t, 757, newer)
}

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

// classByGo returns the class of a character by the tables of package unicode.
func classByGo(r rune) Class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.Is(unicode.Ll, r):
		return lower
	case unicode.Is(unicode.Lu, r) || unicode.Is(unicode.Lt, r):
		return upper
	case unicode.IsLetter(r):
		return caseless
	case unicode.IsMark(r):
		return mark
	case unicode.IsNumber(r):
		return number
	default:
		return Symbol
	}
}

// Go's tables are of Unicode 15, OpenAI's of Unicode 16: characters added in between are unassigned, and so symbols, to
// Go.
func TestClassesAreUnicode16s(t *testing.T) {
	if unicode.Version != "15.0.0" {
		t.Skip("Go has other tables now: Unicode", unicode.Version)
	}
	differ := 0
	for r := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		got, n := at(string(r), 0)
		require.Equal(t, utf8.RuneLen(r), n)
		if want := classByGo(r); got != want {
			differ++
			require.True(t, unicode.Is(unicode.Cn, r), "%U is known to Go and of another class", r)
		}
	}
	require.Equal(t, 5055, differ)
}
