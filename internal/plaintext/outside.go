package plaintext

import (
	"regexp"
	"strings"
	"unicode"
)

// mark matches the start of what reads as a mark of something left out, such as [... 12 tokens cut here: …] and
// [result left out here: …].
var mark = regexp.MustCompile(`\[(\.\.\. |[^\[\]\n]{0,200} left out here)`)

// Outside returns a text from files, tools or servers such that it neither opens nor closes a tag of promptree's own,
// and holds no mark that names a handle: both get a backslash. Line ends become line feeds; other control characters and bytes
// that are not UTF-8 are removed.
func Outside(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t', r == '\uFEFF':
			return -1
		}
		return r
	}, text)
	return mark.ReplaceAllString(NoInstructions(Untagged(text)), `\[$1`)
}
