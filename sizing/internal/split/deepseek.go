package split

import (
	_ "embed" // for the table of punctuation
	"sort"
	"unicode/utf8"

	"github.com/promptree-go/promptree/sizing/internal/hash"
)

// punctuationTable holds the characters of \p{P} and \p{S}, of Unicode 16 as the classes: the first of each run of them
// and the first after it, as numbers of 4 bytes.
//
//go:embed tables/punctuation.bin
var punctuationTable string

// isPunctuation reports whether a character is of \p{P} or \p{S}. All of them are of class Symbol, which also holds
// control characters and what is not assigned.
func isPunctuation(r rune) bool {
	// The bounds up to r are counted: an odd number means in a run.
	n := sort.Search(len(punctuationTable)/4, func(i int) bool { return rune(hash.Uint32(punctuationTable, 4*i)) > r })
	return n%2 == 1
}

// isChinese reports whether a character is in DeepSeek's second expression: common ideographs, and kana.
func isChinese(r rune) bool { return r >= 0x3040 && r <= 0x30FF || r >= 0x4E00 && r <= 0x9FA5 }

// chinese splits by runs of these characters.
func chinese(s string, i int) int {
	start := i
	for i < len(s) && s[i] < 0xE3 { // no first byte of theirs
		i++
	}
	if end := others(s, i, isChinese); end > start {
		return end
	}
	return others(s, i, func(r rune) bool { return !isChinese(r) })
}

// deepSeek follows
//
//	[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+
//	[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
//	 ?[\p{P}\p{S}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// What is in none of them is a word too: control characters and numbers that no letters follow.
func deepSeek(s string, i int) int {
	if end := deepSeekWord(s, i); end > i {
		return end
	}
	for {
		_, n := at(s, i)
		if i += n; i == len(s) || deepSeekWord(s, i) > i {
			return i
		}
	}
}

// deepSeekWord returns the end of the match at i, or i if there is none.
func deepSeekWord(s string, i int) int {
	c, n := at(s, i)
	next := i + n
	switch {
	case c&(letter|mark) != 0:
		return run(s, next, letter|mark)
	case c == Symbol && n == 1 && next < len(s) && ascii[s[next]]&letter != 0 && isPunctuation(rune(s[i])):
		return runASCII(s, next, letter)
	case c&(space|number) != 0 || c == Symbol && !punctuationAt(s, i):
		if end := run(s, next, letter|mark); end > next {
			return end
		}
	}
	start := i
	if s[i] == ' ' {
		start++
	}
	end := start
	for {
		c, n := at(s, end)
		if c != Symbol || !punctuationAt(s, end) {
			break
		}
		end += n
	}
	if end > start {
		return run(s, end, newline)
	}
	if c&white != 0 {
		return lines(s, i)
	}
	return i
}

// punctuationAt reports whether the character at i, of class Symbol, is of \p{P} or \p{S}.
func punctuationAt(s string, i int) bool {
	if b := s[i]; b < utf8.RuneSelf {
		return b > ' ' && b < 0x7F
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return isPunctuation(r)
}
