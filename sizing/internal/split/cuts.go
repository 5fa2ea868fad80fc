package split

// Where a text may be cut follows from each expression. In that of cl100k, for one, a letter is followed by letters or
// ends a word; a number is followed by numbers or ends one; the characters that are neither, nor white space, are
// followed by their like or line breaks, and may be the prefix of letters; white space may join what follows, unless it
// ends in a line break.

func safeIf(safe bool) Cut {
	if safe {
		return Safe
	}
	return Unsafe
}

func cl100kCut(before, after rune) Cut {
	next := ClassOf(after)
	switch ClassOf(before) {
	case lower, upper, caseless:
		return safeIf(next&letter == 0)
	case number:
		return safeIf(next != number)
	case newline:
		return safeIf(next&white == 0)
	case mark, Symbol:
		return safeIf(next&(number|space) != 0)
	default:
		return Unsafe
	}
}

func o200kCut(before, after rune) Cut {
	next := ClassOf(after)
	switch ClassOf(before) {
	case lower, upper, caseless:
		return safeIf(next&(letter|mark) == 0 && after != '\'')
	case newline:
		return safeIf(next&white == 0 && after != '/')
	default:
		return cl100kCut(before, after)
	}
}

func gpt2Cut(before, after rune) Cut {
	next := ClassOf(after)
	switch ClassOf(before) {
	case mark, Symbol:
		return safeIf(next&rest == 0 && (before != '\'' || next&letter == 0))
	case newline:
		return Unsafe
	default:
		return cl100kCut(before, after)
	}
}

// runCut is the cut of a pattern that parts these characters from all others: between two of them it is inside, and
// between two others the pattern has nothing to say.
func runCut(these func(rune) bool, inside Cut) func(before, after rune) Cut {
	return func(before, after rune) Cut {
		switch b, a := these(before), these(after); {
		case b != a:
			return Safe
		case b:
			return inside
		default:
			return Within
		}
	}
}

func deepSeekCut(before, after rune) Cut {
	next := ClassOf(after)
	switch c := ClassOf(before); {
	case c&(letter|mark) != 0:
		return safeIf(next&(letter|mark) == 0)
	case c == newline:
		return safeIf(next&white == 0)
	case c == Symbol && isPunctuation(before):
		ascii := before < 128 && after < 128
		return safeIf(next != newline && (next != Symbol || !isPunctuation(after)) && (next&letter == 0 || !ascii))
	case c == Symbol: // between words, or the prefix of letters
		return safeIf(next&white != 0 || next == Symbol && isPunctuation(after))
	default:
		return Unsafe
	}
}
