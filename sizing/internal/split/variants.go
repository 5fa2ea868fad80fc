package split

import (
	"strings"
	"unicode/utf8"
)

// longS is an apostrophe and a long s, which the library that reads files matches with their (?i:'s) too; see [contraction].
const longS = "'ſ"

func hasLongS(s string, i int) bool { return strings.HasPrefix(s[i:], longS) }

// cl100kLongS follows the expression of cl100k with a long s.
func cl100kLongS(s string, i int) int {
	if s[i] == '\'' && hasLongS(s, i) {
		return i + len(longS)
	}
	return cl100k(s, i)
}

// o200kOrLongS follows the expression of o200k with a long s.
func o200kOrLongS(s string, i int) int {
	end := o200k(s, i)
	if end < len(s) && s[end] == '\'' && hasLongS(s, end) && endsInLetter(s[i:end]) && end == uncontracted(s, i, end) {
		return end + len(longS)
	}
	return end
}

func endsInLetter(word string) bool {
	r, _ := utf8.DecodeLastRuneInString(word)
	return ClassOf(r)&(letter|mark) != 0
}

// uncontracted returns the end of a word of o200k without the contraction at its end.
func uncontracted(s string, i, end int) int {
	if ascii[s[end-1]]&letter == 0 {
		return end // a contraction ends in a letter, and no word of symbols does
	}
	for n := 2; n <= 3 && i < end-n; n++ {
		if s[end-n] == '\'' {
			return end - n
		}
	}
	return end
}

// noContraction follows the expression of o200k without contractions.
func noContraction(s string, i int) int { return uncontracted(s, i, o200k(s, i)) }

// oneNumber returns the pattern in which a number is a word of its own, \p{N} in place of \p{N}{1,3}.
func oneNumber(next func(string, int) int) func(string, int) int {
	return func(s string, i int) int {
		if c, n := at(s, i); c == number {
			return i + n
		}
		return next(s, i)
	}
}

func oneNumberCut(cut func(before, after rune) Cut) func(before, after rune) Cut {
	return func(before, after rune) Cut {
		if ClassOf(before) == number {
			return Safe
		}
		return cut(before, after)
	}
}

// cl100kMarks follows the expression of cl100k with marks among the letters: [\p{L}\p{M}] in place of \p{L}, and
// [^\s\p{L}\p{M}\p{N}].
func cl100kMarks(s string, i int) int {
	if end := cl100kLongS(s, i); isASCII(s, i, end) {
		return end
	}
	if hasLongS(s, i) {
		return i + len(longS)
	}
	return cl100kWith(s, i, letter|mark)
}

// isASCII reports whether a word and the byte after it are ASCII.
func isASCII(s string, i, end int) bool {
	for _, b := range []byte(s[i:min(end+1, len(s))]) {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func marksCut(before, after rune) Cut {
	next := ClassOf(after)
	switch ClassOf(before) {
	case lower, upper, caseless, mark:
		return safeIf(next&(letter|mark) == 0)
	default:
		return cl100kCut(before, after)
	}
}

// kimiNext follows the expression of o200k without slashes after symbols, in which runs of Han characters are words and
// not letters of others.
func kimiNext(s string, i int) int {
	if end := o200kOrLongS(s, i); ascii[s[end-1]]&letter != 0 && isASCII(s, i, end) {
		return end
	}
	if end := others(s, i, func(r rune) bool { return !isHan(r) }); end > i {
		return end
	}
	_, n := at(s, i)
	letters := run(s, i+n, letter|mark)
	letters = others(s[:letters], i, isHan)
	if end := o200kLetters(s, i, s[:letters]); end > i {
		if hasLongS(s, end) && end == uncontracted(s, i, end) {
			end += len(longS)
		}
		return end
	}
	return unlettered(s, i, rest, false)
}

func kimiCut(before, after rune) Cut {
	next, c := ClassOf(after), ClassOf(before)
	switch {
	case isHan(before): // one that is not a letter may also be among symbols or numbers
		return safeIf(c&letter != 0 && !isHan(after))
	case isHan(after) && next&letter != 0:
		return safeIf(c != space)
	case c == newline:
		return safeIf(next&white == 0)
	default:
		return o200kCut(before, after)
	}
}

// han holds the first and last characters of \p{Han}, of Unicode 16.
var han = [...][2]rune{
	{0x2E80, 0x2E99}, {0x2E9B, 0x2EF3}, {0x2F00, 0x2FD5}, {0x3005, 0x3005}, {0x3007, 0x3007}, {0x3021, 0x3029}, {0x3038, 0x303B},
	{0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xF900, 0xFA6D}, {0xFA70, 0xFAD9}, {0x16FE2, 0x16FE3}, {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF},
	{0x2A700, 0x2B739}, {0x2B740, 0x2B81D}, {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2EBF0, 0x2EE5D}, {0x2F800, 0x2FA1D},
	{0x30000, 0x3134A}, {0x31350, 0x323AF},
}

func isHan(r rune) bool {
	if r < han[0][0] {
		return false
	}
	for _, bounds := range han {
		if r <= bounds[1] {
			return r >= bounds[0]
		}
	}
	return false
}

// tekkenCut is o200kCut without contractions.
func tekkenCut(before, after rune) Cut {
	if after == '\'' && ClassOf(before)&letter != 0 {
		return Safe
	}
	return o200kCut(before, after)
}

// threes splits by \p{N}{1,3}.
func threes(s string, i int) int {
	if end := threeNumbers(s, i); end > i {
		return end
	}
	return run(s, i, ^number)
}

// isNumber reports whether a character is of \p{N}.
func isNumber(r rune) bool { return ClassOf(r) == number }

// digit splits by one number, digits by runs of numbers, as the stage Digits does.
func digit(s string, i int) int {
	if r, n := utf8.DecodeRuneInString(s[i:]); isNumeric(r) {
		return i + n
	}
	return others(s, i, isNumeric)
}

func digits(s string, i int) int {
	if end := others(s, i, func(r rune) bool { return !isNumeric(r) }); end > i {
		return end
	}
	return others(s, i, isNumeric)
}

// isNumeric reports whether a character is a number to the stage Digits, whose tables are of Unicode 17.
func isNumeric(r rune) bool {
	return isNumber(r) || r >= 0x11DE0 && r <= 0x11DE9 || r >= 0x16FF4 && r <= 0x16FF6
}

// others returns the end of the characters from i on before the first that is one of these.
func others(s string, i int, these func(rune) bool) int {
	if n := strings.IndexFunc(s[i:], these); n >= 0 {
		return i + n
	}
	return len(s)
}
