package split

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

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
