package tiktoken

import (
	"math"
	"slices"

	"github.com/promptree-go/promptree/sizing/internal/hash"
)

// By definition, a word is counted by merging its bytes: of all pairs of neighbours that form a token, the one of the
// lowest rank is merged, the first among equals, until no pair forms a token.
//
// That need not be done step by step. A sequence of tokens is the result of merging if and only if each pair of
// neighbours in it is: merging the bytes of the two yields the two again. So the tokens are found from left to right,
// each checked against the one before; if none fits, the one before was wrong and is replaced by another. The bytes up
// to a place have only one result, so no place is tried twice, and time is proportional to length.
//
// Any order of trying leads to the same tokens. The first to try is the one that followed the same token the last time
// that the longest token at the place was the same: in a run of dashes, which start many tokens, 64 dashes after 64
// dashes. Failing that it is the longest that fits.

// merger merges words. It holds buffers, and remembers what it found out about neighbours. The zero value is ready to
// use, with one vocabulary only.
type merger struct {
	tokens  []token
	dead    []uint64 // a bit for each place: its tokens are known, and no token after them leads to the end
	choices [1 << choiceBits]choice
}

// choice is what a merger remembers about the tokens at a place, given the last one before it, and the longest one
// there or, as the start of a chain of ever shorter ones, any other.
type choice struct {
	last, longest token
	fits          token // the longest that is last's neighbour, zero if there is none
	followed      token // the one that followed last when longest was the longest there; at first the one that fits
}

const choiceBits = 10

// merge returns the number of tokens of a word.
func (m *merger) merge(v *vocab, s string) int {
	m.tokens = slices.Grow(m.tokens[:0], min(len(s), maxMergedKept))
	m.dead = slices.Grow(m.dead[:0], len(s)/64+1)[:len(s)/64+1]
	clear(m.dead)
	at, last := 0, noToken
	for at < len(s) {
		next := m.choice(v, s, at, last, v.longest(s, at)).followed
		if m.isDead(at + next.len()) {
			next = m.other(v, s, at, last, next)
		}
		for next == noToken {
			m.dead[at/64] |= 1 << (at % 64)
			wrong := last
			at -= wrong.len()
			m.tokens = m.tokens[:len(m.tokens)-1]
			last = noToken
			if len(m.tokens) > 0 {
				last = m.tokens[len(m.tokens)-1]
			}
			next = m.other(v, s, at, last, wrong)
		}
		m.tokens = append(m.tokens, next)
		at += next.len()
		last = next
	}
	return len(m.tokens)
}

func (m *merger) isDead(at int) bool { return m.dead[at/64]>>(at%64)&1 != 0 }

// other returns the token to try after one that was wrong, zero if all are: a shorter one, else a longer one.
func (m *merger) other(v *vocab, s string, at int, last, wrong token) token {
	longest := v.longest(s, at)
	next := m.live(v, s, at, last, v.shorter(s, at, wrong))
	if next == noToken {
		next = m.live(v, s, at, last, longest)
	}
	if next != noToken {
		m.choice(v, s, at, last, longest).followed = next
	}
	return next
}

// live returns the longest token, of t and the shorter ones, that may follow last and does not lead to a dead place.
func (m *merger) live(v *vocab, s string, at int, last, t token) token {
	for {
		t = m.choice(v, s, at, last, t).fits
		if !m.isDead(at + t.len()) {
			return t // if it is zero, at is not dead yet
		}
		t = v.shorter(s, at, t)
	}
}

// choice returns what is remembered about the tokens at a place, and finds it out if nothing is. It is valid until the
// next call.
func (m *merger) choice(v *vocab, s string, at int, last, longest token) *choice {
	c := &m.choices[(uint64(last)<<32|uint64(longest))*hash.Golden>>(64-choiceBits)]
	if c.last != last || c.longest != longest {
		t := longest
		for t != noToken && last != noToken && !v.apart(s, at, last, t) {
			t = v.shorter(s, at, t)
		}
		*c = choice{last, longest, t, t}
	}
	return c
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
