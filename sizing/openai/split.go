package openai

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is what a splitter needs to know of a character. Classes are bits, so that a set of them is a sum.
type class uint8

const (
	lower    class = 1 << iota // \p{Ll}
	upper                      // \p{Lu} and \p{Lt}
	caseless                   // \p{Lm} and \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	space                      // \s, but for the two line breaks
	newline                    // \r and \n
	symbol                     // everything else

	letter = lower | upper | caseless // \p{L}
	white  = space | newline          // \s
	rest   = symbol | mark            // [^\s\p{L}\p{N}]
	head   = upper | caseless | mark  // what a word of o200k may start with
	tail   = lower | caseless | mark  // and what it may end with
)

// splitter cuts texts into words as the regular expressions of OpenAI's tiktoken do, each quoted where it is followed.
// Every method gives the end of the word that starts at i.
type splitter struct {
	classes [0x10000]class // of the characters below U+10000
}

// newSplitter makes the one splitter there is when it is first asked for.
var newSplitter = sync.OnceValue(func() *splitter {
	s := &splitter{}
	for i := range s.classes {
		s.classes[i] = symbol
	}
	for _, group := range groups {
		for _, r := range group.table.R16 {
			for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
				s.classes[c] = group.class
			}
		}
	}
	s.classes['\r'], s.classes['\n'] = newline, newline
	return s
})

// groups are the classes as Unicode has them. No character is in two.
var groups = [...]struct {
	table *unicode.RangeTable
	class class
}{
	{unicode.Ll, lower}, {unicode.Lu, upper}, {unicode.Lt, upper}, {unicode.Lm, caseless}, {unicode.Lo, caseless},
	{unicode.M, mark}, {unicode.N, number}, {unicode.White_Space, space},
}

// at is the class of the character at i and its length in bytes; no class at the end of the text.
func (sp *splitter) at(s string, i int) (class, int) {
	if i >= len(s) {
		return 0, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		return sp.classes[c], 1
	}
	return sp.wide(s, i)
}

func (sp *splitter) wide(s string, i int) (class, int) {
	r, n := utf8.DecodeRuneInString(s[i:])
	return sp.class(r), n
}

// class is the class of a character. What is none counts as U+FFFD.
func (sp *splitter) class(r rune) class {
	if uint32(r) < uint32(len(sp.classes)) {
		return sp.classes[r]
	}
	for _, group := range groups {
		if unicode.Is(group.table, r) {
			return group.class
		}
	}
	return symbol
}

// run is the end of the characters from i on that are of these classes.
func (sp *splitter) run(s string, i int, set class) int {
	for i < len(s) {
		c, n := class(0), 1
		if b := s[i]; b < utf8.RuneSelf {
			c = sp.classes[b]
		} else {
			c, n = sp.wide(s, i)
		}
		if c&set == 0 {
			break
		}
		i += n
	}
	return i
}

// cl100k follows
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func (sp *splitter) cl100k(s string, i int) int {
	if end := i + contraction(s, i); end > i {
		return end
	}
	c, n := sp.at(s, i)
	start := i
	if c&(space|rest) != 0 {
		start += n
	}
	if c&(newline|number) == 0 {
		if end := sp.run(s, start, letter); end > start {
			return end
		}
	}
	if c == number {
		return sp.threeNumbers(s, i)
	}
	if end := sp.symbols(s, i); end > i {
		return sp.run(s, end, newline)
	}
	return sp.lines(s, i)
}

// o200k follows
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func (sp *splitter) o200k(s string, i int) int {
	c, n := sp.at(s, i)
	if c&(newline|number) == 0 {
		start := i
		if c&(space|rest) != 0 {
			start += n
		}
		end, whole := sp.cased(s, start)
		if c == mark && !whole {
			end = i + n // the mark is no prefix then but a word, by the first line
		}
		if end > start || c == mark {
			return end + contraction(s, end)
		}
	}
	if c == number {
		return sp.threeNumbers(s, i)
	}
	if end := sp.symbols(s, i); end > i {
		for end < len(s) && (s[end] == '\r' || s[end] == '\n' || s[end] == '/') {
			end++
		}
		return end
	}
	return sp.lines(s, i)
}

// cased is the end of the letters from i on that the first line of o200k matches, and true; else of those that the
// second line matches, and false. It is i where there are none.
func (sp *splitter) cased(s string, i int) (end int, whole bool) {
	lastTail := i // the end of the last character that may end a word, among those that may start one
	for end = i; ; {
		c, n := sp.at(s, end)
		if c == lower {
			return sp.run(s, end, tail), true
		}
		if c&head == 0 {
			break
		}
		end += n
		if c&tail != 0 {
			lastTail = end
		}
	}
	if lastTail > i {
		return lastTail, true
	}
	return end, false
}

// gpt3 follows
//
//	's|'t|'re|'ve|'m|'ll|'d
//	 ?\p{L}+
//	 ?\p{N}+
//	 ?[^\s\p{L}\p{N}]+
//	\s+(?!\S)
//	\s+
func (sp *splitter) gpt3(s string, i int) int {
	if n := contraction(s, i); n > 0 && lowerCase(s[i:i+n]) {
		return i + n
	}
	start := i
	if s[i] == ' ' {
		start++
	}
	for _, set := range [...]class{letter, number, rest} {
		if end := sp.run(s, start, set); end > start {
			return end
		}
	}
	end := sp.run(s, i, white)
	if _, last := utf8.DecodeLastRuneInString(s[i:end]); end < len(s) && end-last > i {
		end -= last
	}
	return end
}

// contraction is the length of the 's, 't, 're, 've, 'm, 'll or 'd at i, in upper or lower case, or 0.
func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return 0
	}
	const toLower = 'a' - 'A'
	switch first := s[i+1] | toLower; first {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v', 'l':
		second := byte('e')
		if first == 'l' {
			second = 'l'
		}
		if i+2 < len(s) && s[i+2]|toLower == second {
			return 3
		}
	}
	return 0
}

func lowerCase(contraction string) bool {
	return contraction[1] >= 'a' && contraction[len(contraction)-1] >= 'a'
}

// threeNumbers is \p{N}{1,3}, of which the first is there.
func (sp *splitter) threeNumbers(s string, i int) int {
	for range 3 {
		c, n := sp.at(s, i)
		if c != number {
			break
		}
		i += n
	}
	return i
}

// symbols is ` ?[^\s\p{L}\p{N}]+`, or i where that does not match.
func (sp *splitter) symbols(s string, i int) int {
	start := i
	if s[i] == ' ' {
		start++
	}
	if end := sp.run(s, start, rest); end > start {
		return end
	}
	return i
}

// lines is \s*[\r\n]+, else \s+(?!\S), else \s+: white space up to its last line break; else all of it but the last
// character, which goes to what follows; else that one.
func (sp *splitter) lines(s string, i int) int {
	end, last, line := i, i, i
	for {
		c, n := sp.at(s, end)
		if c&white == 0 {
			break
		}
		last = end
		end += n
		if c == newline {
			line = end
		}
	}
	switch {
	case line > i:
		return line
	case end < len(s) && last > i:
		return last
	default:
		return end
	}
}
