package tiktoken

import (
	"math"
	"slices"
)

// By definition, a word is counted by merging its bytes: of all pairs of neighbours that form a token, the one of the
// lowest rank is merged, the first among equals, until no pair forms a token.
//
// That need not be done step by step. A sequence of tokens is the result of merging if and only if each pair of
// neighbours in it is: merging the bytes of the two yields the two again. So the tokens are found from left to right,
// the longest first, each checked against the one before; if none fits, the one before was wrong and is replaced by a
// shorter one. The bytes up to a place have only one result, so no place is tried twice, and time is proportional to
// length.

// merger holds the buffers for counting a long word, so that they can be reused. The zero value is ready to use.
type merger struct {
	tokens []token
	dead   []uint64
}

// maxShortWord is the length, in bytes, of the words that are counted without a merger.
const maxShortWord = 64

// mergeShort returns the number of tokens of a word of 2 to maxShortWord bytes that is not a token itself.
func (v *vocab) mergeShort(s string) int {
	var (
		tokens [maxShortWord]token
		dead   [maxShortWord/64 + 1]uint64
	)
	return v.merge(s, tokens[:0], dead[:])
}

// merge returns the number of tokens of a word of 2 or more bytes that is not a token itself.
func (m *merger) merge(v *vocab, s string) int {
	m.tokens = slices.Grow(m.tokens[:0], len(s))
	m.dead = slices.Grow(m.dead[:0], len(s)/64+1)[:len(s)/64+1]
	clear(m.dead)
	return v.merge(s, m.tokens, m.dead)
}

// merge finds the tokens of a word. The slice tokens must have room for len(s) tokens, and dead a bit for each place in
// s and for its end. A bit is set if the tokens of the bytes up to that place are known but no token after them leads
// to the end.
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

// apart reports whether merging the bytes of two tokens, which meet at a place in s, yields the two again. It splits
// the tokens at their seam in reverse order of merging, and checks whether the pieces at the seam would have been
// merged before.
func (v *vocab) apart(s string, at int, left, right token) bool {
	limit := uint32(math.MaxUint32)
	for {
		i, n := at-left.len(), left.len()+right.len()
		if v.couldBe(s, i, n) {
			if t := v.find(s, i, n); t != noToken && t.rank() < limit {
				return false
			}
		}
		// Among equals the left one is merged first, so of two equal tokens the left is split later.
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
