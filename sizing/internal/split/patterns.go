package split

import "unicode/utf8"

// The splitters cut texts into words as the regular expressions of OpenAI's tiktoken do; each quotes the expression
// that it follows. Every function returns the end of the word that starts at i.

// Valid returns a text with U+FFFD for each byte that is not UTF-8.
func Valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// at returns the class of the character at i and its length in bytes; class 0 at the end of the text.
func at(s string, i int) (Class, int) {
	if i >= len(s) {
		return 0, 0
	}
	if c := ascii[s[i]]; c != 0 {
		return c, 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return ClassOf(r), n
}

// run returns the end of the run of characters from i on that are of these classes.
func run(s string, i int, set Class) int { return runOf(s, runASCII(s, i, set), set, len(s)) }

// runOf is run for at most that many characters.
func runOf(s string, i int, set Class, most int) int {
	for ; most > 0 && i < len(s); most-- {
		c, n := ascii[s[i]], 1
		if c == 0 {
			c, n = at(s, i)
		}
		if c&set == 0 {
			break
		}
		i += n
	}
	return i
}

// cl100kWide follows
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func cl100kWide(s string, i int) int { return cl100kWith(s, i, letter) }

// cl100kWith follows the expression of cl100k with other letters. Symbols are what is in no other class then.
func cl100kWith(s string, i int, letters Class) int {
	if end := i + contraction(s, i); end > i {
		return end
	}
	symbols := rest &^ letters
	c, n := at(s, i)
	start := i
	if c&(space|symbols) != 0 {
		start += n
	}
	if c&(newline|number) == 0 {
		if end := run(s, start, letters); end > start {
			return end
		}
	}
	return unlettered(s, i, symbols, false)
}

// o200kWide follows
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func o200kWide(s string, i int) int {
	if end := o200kLetters(s, i, s); end > i {
		return end
	}
	return unlettered(s, i, rest, true)
}

// o200kLetters matches the first two lines of o200k, and returns i if they do not match. The letters are those of a
// text that starts as s does and may end before it.
func o200kLetters(s string, i int, letters string) int {
	c, n := at(s, i)
	if c&(newline|number) != 0 {
		return i
	}
	start := i
	if c&(space|rest) != 0 {
		start += n
	}
	end, whole := cased(letters, start)
	if c == mark && !whole {
		end = i + n // then the mark is not a prefix but a word, by the first line
	}
	if end > start || c == mark {
		return end + contraction(s, end)
	}
	return i
}

// cased returns the end of the letters from i on that the first line of o200k matches, and true; else the end of those
// that the second line matches, and false. The end is i if there are none.
func cased(s string, i int) (end int, whole bool) {
	lastTail := i // the end of the last character that may both start and end a word
	for end = i; ; {
		c, n := at(s, end)
		if c == lower {
			return run(s, end, tail), true
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

// gpt2 follows
//
//	's|'t|'re|'ve|'m|'ll|'d
//	 ?\p{L}+
//	 ?\p{N}+
//	 ?[^\s\p{L}\p{N}]+
//	\s+(?!\S)
//	\s+
func gpt2(s string, i int) int {
	if n := contraction(s, i); n > 0 && lowerCase(s[i:i+n]) {
		return i + n
	}
	start := i
	if s[i] == ' ' {
		start++
	}
	for _, set := range [...]Class{letter, number, rest} {
		if end := run(s, start, set); end > start {
			return end
		}
	}
	return spaces(s, i, run(s, i, white))
}

// contraction returns the length of the 's, 't, 're, 've, 'm, 'll or 'd at i, in upper or lower case, or 0. A long s
// (ſ) does not count as s, as in tiktoken-go; in OpenAI's own tiktoken it does.
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

// threeNumbers matches \p{N}{1,3}, and returns i if no number is there.
func threeNumbers(s string, i int) int { return runOf(s, i, number, 3) }

// unlettered returns the end of a word without letters: up to three numbers; symbols, after a space or not, with the line
// breaks after them, and slashes if slashes is set; or white space.
func unlettered(s string, i int, symbols Class, slashes bool) int {
	if end := threeNumbers(s, i); end > i {
		return end
	}
	start := i
	if s[i] == ' ' {
		start++
	}
	end := run(s, start, symbols)
	if end == start {
		return lines(s, i)
	}
	for end < len(s) && (ascii[s[end]] == newline || slashes && s[end] == '/') {
		end++
	}
	return end
}

// lines matches \s*[\r\n]+, else \s+(?!\S), else \s+: white space up to its last line break; else all but its last
// character, which belongs to what follows; else that character.
func lines(s string, i int) int {
	end := run(s, i, white)
	for last := end; last > i; last-- {
		if ascii[s[last-1]] == newline {
			return last
		}
	}
	return spaces(s, i, end)
}

// spaces returns the end of white space up to end: before its last character, which belongs to what follows, unless it
// is alone or nothing follows.
func spaces(s string, i, end int) int {
	if _, last := utf8.DecodeLastRuneInString(s[i:end]); end < len(s) && end-last > i {
		return end - last
	}
	return end
}
