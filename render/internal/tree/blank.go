package tree

import (
	"strings"
	"unicode/utf8"
)

// White reports whether a character is white space in JavaScript, which decides what is empty for prompt-tsx: U+FEFF is
// white space; U+0085, U+200B and U+180E are not.
func White(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}

// Blank reports whether a text is empty or only white space.
func Blank(s string) bool {
	if s != "" && ' ' < s[0] && s[0] < utf8.RuneSelf { // most texts
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !White(r) })
}
