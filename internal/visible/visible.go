// Package visible makes untrusted text safe to show. It escapes characters that control a terminal, reorder a line or
// are invisible.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a text in which invisible characters are escaped, such as \u202e: control characters except line feeds
// and tabs, marks of writing direction and other format characters, characters that join or hide, and line and
// paragraph separators. A byte that is not UTF-8 is escaped as \xff. Everything else is unchanged, so JSON keeps its
// meaning.
func Text(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Line returns a text as [Text] does, on a single line with white space folded.
func Line(text string) string {
	breaks := func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }
	if strings.ContainsFunc(text, breaks) || strings.Contains(text, "  ") || strings.Trim(text, " ") != text { // most have nothing to fold
		text = strings.Join(strings.Fields(text), " ")
	}
	return Text(text)
}

// hidden reports whether a character is escaped.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7F:
		return false
	case r == '\uFE0E' || r == '\uFE0F': // selects the form of an emoji
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Writer returns a writer that applies [Text] to each text written.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

func (w writer) Write(data []byte) (int, error) {
	if _, err := w.to.Write([]byte(Text(string(data)))); err != nil {
		return 0, err
	}
	return len(data), nil
}
