package tiktoken

import (
	"math"
	"slices"
)

// A word is counted by merging its bytes: of all pairs of neighbours that make a token together, the one of the lowest
// rank becomes one, the first among equals, until no pair makes a token.
//
// That need not be done step by step. Tokens that follow one another are what merging ends with if and only if every two
// neighbours among them are: merging the bytes of the two ends with the two again. So the tokens are looked for from the
// left, the longest first, each a neighbour to the one before; where none fits, the one before was wrong and a shorter
// one takes its place. What bytes up to a place are merged to is one sequence, so no place is tried twice, and time is
// proportional to length.

// merger holds what counting a long word works on, so that it can be used again. The zero value is ready.
type merger struct {
	tokens []token
	dead   []uint64
}

// maxShortWord is the length, in bytes, of the words that are counted without a merger.
const maxShortWord = 64

// mergeShort is the number of tokens of 2 to maxShortWord bytes that are no token.
func (v *vocab) mergeShort(s string) int {
	var (
		tokens [maxShortWord]token
		dead   [maxShortWord/64 + 1]uint64
	)
	return v.merge(s, tokens[:0], dead[:])
}

// merge is the number of tokens of 2 or more bytes that are no token.
func (m *merger) merge(v *vocab, s string) int {
	m.tokens = slices.Grow(m.tokens[:0], len(s))
	m.dead = slices.Grow(m.dead[:0], len(s)/64+1)[:len(s)/64+1]
	clear(m.dead)
	return v.merge(s, m.tokens, m.dead)
}

// merge finds the tokens of a word. There has to be room for len(s) of them, and in dead a bit for each place in s and its end: it
// is set where the bytes up to there have their tokens, but no token after them leads to the end.
func (v *vocab) merge(s string, tokens []token, dead []uint64) int {
	var (
		at   = 0
		last = noToken
		next = v.below(s, 0, len(s)+1)
	)
	for {
		end := at + next.len()
		if dead[end/64]>>(end%64)&1 == 0 && (last == noToken || v.apart(s, at, last, next)) {
			tokens = append(tokens, next)
			if end == len(s) {
				return len(tokens)
			}
			at, last = end, next
			next = v.below(s, at, len(s)-at+1)
			continue
		}
		for next.len() == 1 {
			dead[at/64] |= 1 << (at % 64)
			next = last
			at -= last.len()
			tokens = tokens[:len(tokens)-1]
			last = noToken
			if len(tokens) > 0 {
				last = tokens[len(tokens)-1]
			}
		}
		next = v.below(s, at, next.len())
	}
}

// apart tells that merging the bytes of two tokens, which meet at a place in s, ends with the two again. It takes the
// tokens apart at their seam as they were put together, the last merge first, and looks whether the pieces that lay at
// the seam then would have been merged before.
func (v *vocab) apart(s string, at int, left, right token) bool {
	limit := uint32(math.MaxUint32)
	for {
		i, n := at-left.len(), left.len()+right.len()
		if v.couldBe(s, i, n) {
			if t := v.find(s, i, n); t != noToken && t.rank() < limit {
				return false
			}
		}
		// Among equals the left one is merged first, so the left of two equal tokens is the later to be taken apart.
		switch {
		case left.rank() > right.rank():
			if left.len() == 1 {
				return true
			}
			limit = left.rank()
			left = v.rightOf(limit)
		default:
			if right.len() == 1 {
				return true
			}
			limit = right.rank() + 1
			right = v.leftOf(right.rank())
		}
	}
}
