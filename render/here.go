package render

import (
	"iter"
	"math/bits"
)

// Most children go, each by itself. So which of them are there is kept in bits too: what is left is found without a look
// at what went, which may be far off in memory. While all are there the bits are not used.

// word is those of the children from 64·i on.
func (n *node) word(i int) *uint64 {
	if i == 0 {
		return &n.here
	}
	return &n.beyond[i-1]
}

// lose takes note that a child is not there any more.
func (n *node) lose(c *node) {
	if int(n.left) == len(n.children) {
		words := (len(n.children) + 63) / 64
		if words > 1 && n.beyond == nil {
			n.working().beyond = make([]uint64, words-1)
		}
		for i := range words {
			*n.word(i) = ^uint64(0)
		}
		if rest := len(n.children) % 64; rest > 0 {
			*n.word(words - 1) >>= 64 - rest
		}
	}
	*n.word(int(c.index) / 64) &^= 1 << (c.index % 64)
	n.left--
}

// regain takes note that a child is there again.
func (n *node) regain(c *node) {
	*n.word(int(c.index) / 64) |= 1 << (c.index % 64)
	n.left++
}

// has tells that the child at a place is there.
func (n *node) has(place int32) bool {
	return int(n.left) == len(n.children) || *n.word(int(place) / 64)>>(place%64)&1 != 0
}

// nextAt is the place of the first child from a place on that was there after a step, or the number of children.
func (n *node) nextAt(place int, at step) int {
	if at == latest && int(n.left) == len(n.children) {
		return place
	}
	return n.nextLeft(place, at)
}

func (n *node) nextLeft(place int, at step) int {
	if at != latest {
		for place < len(n.children) && !n.children[place].there(at) {
			place++
		}
		return place
	}
	for i := place / 64; i*64 < len(n.children); i++ {
		word := *n.word(i)
		if i == place/64 {
			word &= ^uint64(0) << (place % 64)
		}
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return len(n.children)
}

// before is the place of the last child before a place that is there, or -1.
func (n *node) before(place int) int {
	if int(n.left) == len(n.children) || place == 0 {
		return place - 1
	}
	for i := (place - 1) / 64; i >= 0; i-- {
		word := *n.word(i)
		if i == (place-1)/64 {
			word &= ^uint64(0) >> (63 - (place-1)%64)
		}
		if word != 0 {
			return i*64 + 63 - bits.LeadingZeros64(word)
		}
	}
	return -1
}

// present gives the children that were there after a step, in order.
func (n *node) present(at step) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for i := n.nextAt(0, at); i < len(n.children); i = n.nextAt(i+1, at) {
			if !yield(&n.children[i]) {
				return
			}
		}
	}
}
