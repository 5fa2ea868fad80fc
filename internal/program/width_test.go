package program

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLinesAreBrokenAtSpacesWithinTheWidth(t *testing.T) {
	for _, tt := range []struct{ give, want string }{
		{"short\n", "short\n"},
		{"one two three four five", "one two three\nfour five"},
		{"a  one two three four", "a  one two\n   three four"},
		{"  a  one two three four", "  a  one two\n     three\n     four"},
		{"\n\n", "\n\n"},
		{"averylongwordthatfitsnowhere x", "averylongwordthatfitsnowhere\nx"},
		{"äöü äöü äöü äöü", "äöü äöü äöü\näöü"},
	} {
		require.Equal(t, tt.want, Wrap(tt.give, 14), tt.give)
		require.Equal(t, tt.give, Wrap(tt.give, 0))
	}
	for width := 10; width < 100; width++ {
		text := strings.Repeat("frugal   some words of it, and more; ", 9) + "\n"
		wrapped := Wrap(text, width)
		require.Equal(t, strings.Fields(text), strings.Fields(wrapped))
		for line := range strings.Lines(wrapped) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width)
		}
	}
}

func TestTheWidthIsThatOfTheTerminalOrOfColumns(t *testing.T) {
	t.Setenv("COLUMNS", "")
	require.Zero(t, Width(&bytes.Buffer{}), "no terminal, no limit")
	t.Setenv("COLUMNS", "72")
	require.Equal(t, 72, Width(&bytes.Buffer{}))
	require.False(t, IsTerminal(&bytes.Buffer{}))
}
