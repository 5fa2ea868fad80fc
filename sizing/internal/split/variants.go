package split

import (
	"strings"
	"unicode/utf8"
)

// Files spell a contraction (?i:'s), which the library that reads them matches with a long s too; see [contraction].
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
