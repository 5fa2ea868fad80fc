package vocabulary

import (
	"unicode/utf8"

	"github.com/promptree-go/promptree/sizing/internal/split"
)

// seams are the pairs of characters at which a vocabulary merges tokens. A text that the file does not split can be split
// between any two others: no merge ever crosses there.
type seams struct {
	ascii  [utf8.RuneSelf]([2]uint64) // bits, by the first and second character
	others map[[2]rune]bool
}

func (s *seams) add(before, after rune) {
	if before < utf8.RuneSelf && after < utf8.RuneSelf {
		s.ascii[before][after/64] |= 1 << (after % 64)
	} else {
		s.others[[2]rune{before, after}] = true
	}
}

// has reports whether tokens are merged between two characters.
func (s *seams) has(before, after rune) bool {
	switch {
	case before < 0 || after < 0:
		return true
	case before < utf8.RuneSelf && after < utf8.RuneSelf:
		return s.ascii[before][after/64]>>(after%64)&1 != 0
	default:
		return s.others[[2]rune{before, after}]
	}
}

func (s *seams) next(text string, i int) int {
	before, n := utf8.DecodeRuneInString(text[i:])
	for i += n; i < len(text); i += n {
		var after rune
		after, n = rune(text[i]), 1
		if after >= utf8.RuneSelf {
			after, n = utf8.DecodeRuneInString(text[i:])
		}
		if !s.has(before, after) {
			break
		}
		before = after
	}
	return i
}

func (s *seams) cut(before, after rune) split.Cut {
	if s.has(before, after) {
		return split.Unsafe
	}
	return split.Safe
}

func (s *seams) pattern() split.Pattern { return split.Pattern{Next: s.next, Cut: s.cut} }
