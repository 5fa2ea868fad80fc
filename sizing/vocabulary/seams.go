package vocabulary

import (
	"unicode/utf8"

	"github.com/promptree-go/promptree/sizing/internal/hash"
	"github.com/promptree-go/promptree/sizing/internal/split"
)

// seams are the pairs of characters at which a vocabulary merges tokens. A text that the file does not split can be split
// between any two others: no merge ever crosses there.
type seams struct {
	ascii [utf8.RuneSelf]([2]uint64) // bits, by the first and second character
	slots []uint64
}

func seam(before, after rune) uint64 { return uint64(before)<<32 | uint64(after) + 1 }

func newSeams(set map[uint64]struct{}) *seams {
	s := &seams{slots: make([]uint64, len(set)*2+1)}
	for key := range set {
		before, after := rune(key>>32), rune(uint32(key)-1)
		if before < utf8.RuneSelf && after < utf8.RuneSelf {
			s.ascii[before][after/64] |= 1 << (after % 64)
			continue
		}
		s.slots[s.slot(key)] = key
	}
	return s
}

// slot returns the slot of a pair, or the free one in which it would be.
func (s *seams) slot(key uint64) int {
	i := hash.Slot(hash.Mix(key), len(s.slots))
	for s.slots[i] != 0 && s.slots[i] != key {
		i = hash.Next(i, len(s.slots))
	}
	return i
}

// has reports whether tokens are merged between two characters.
func (s *seams) has(before, after rune) bool {
	if before < 0 || after < 0 {
		return true
	}
	if before < utf8.RuneSelf && after < utf8.RuneSelf {
		return s.ascii[before][after/64]>>(after%64)&1 != 0
	}
	return s.slots[s.slot(seam(before, after))] != 0
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
