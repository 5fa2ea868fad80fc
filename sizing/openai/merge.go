package openai

import (
	"math"
	"slices"
)

// A word is counted by merging its bytes: of all pairs of neighbours that make a token together, the one of the lowest
// rank becomes one, the first among equals, until no pair makes a token. mergeShort and mergeLong do the same, one
// fast on few bytes, the other on many.

// maxShortWord is the length, in bytes, up to which looking through all pairs is faster than keeping them sorted.
const maxShortWord = 32

// mergeShort is the number of tokens of a word of 1 to maxShortWord bytes.
func (r *ranks) mergeShort(word string) int {
	var (
		starts [maxShortWord + 1]uint8  // where each piece starts, and the end of the last
		pairs  [maxShortWord + 1]uint32 // the rank of each piece with the one after it
		n      = len(word)              // the number of pieces
	)
	for i := range n {
		starts[i] = uint8(i)
		pairs[i] = noRank
		if i+2 <= n {
			pairs[i] = r.of(word[i : i+2])
		}
	}
	starts[n] = uint8(n)
	for {
		best, at := uint32(noRank), 0
		for i, rank := range pairs[:n] {
			if rank < best {
				best, at = rank, i
			}
		}
		if best == noRank {
			return n
		}
		copy(starts[at+1:n], starts[at+2:n+1])
		copy(pairs[at+1:n-1], pairs[at+2:n])
		n--
		for i := max(at-1, 0); i <= at; i++ {
			pairs[i] = noRank
			if i+2 <= n {
				pairs[i] = r.of(word[starts[i]:starts[i+2]])
			}
		}
	}
}

// merger holds what mergeLong works on, so that it can be used again. The zero value is ready.
type merger struct {
	pieces []piece
	queue  pairQueue
}

// piece is one piece of a long word, in the list of them.
type piece struct {
	before, after int32  // where the pieces around it start; the one after the last would start at the word's end
	pair          uint32 // the rank of this piece with the one after it
}

// mergeLong is the number of tokens of a word of any length, in time n log n.
func (m *merger) mergeLong(r *ranks, word string) int {
	n := len(word) // the number of pieces
	pieces := slices.Grow(m.pieces[:0], n)[:n]
	queue := slices.Grow(m.queue[:0], 2*n) // it grows by at most one pair a merge
	m.pieces, m.queue = pieces, queue
	rank := func(i int32) uint32 {
		next := pieces[i].after
		if int(next) >= len(word) {
			return noRank
		}
		return r.of(word[i:pieces[next].after])
	}
	for i := range pieces {
		pieces[i] = piece{before: int32(i - 1), after: int32(i + 1)}
	}
	for i := range pieces {
		pieces[i].pair = rank(int32(i))
		if pieces[i].pair != noRank {
			queue = append(queue, newPair(pieces[i].pair, int32(i)))
		}
	}
	queue.sort()
	update := func(i int32) {
		pieces[i].pair = rank(i)
		if pieces[i].pair != noRank {
			queue.push(newPair(pieces[i].pair, i))
		}
	}
	for len(queue) > 0 {
		p := queue.pop()
		i := p.start()
		if pieces[i].pair != p.rank() {
			continue // one of the two has been merged with another since
		}
		gone := pieces[i].after
		pieces[gone].pair = noRank
		after := pieces[gone].after
		pieces[i].after = after
		if int(after) < len(word) {
			pieces[after].before = i
		}
		n--
		update(i)
		if before := pieces[i].before; before >= 0 {
			update(before)
		}
	}
	return n
}

// pair is two neighbours that make a token together: its rank, then where the first starts, so that the lowest is the
// one to merge next.
type pair uint64

func newPair(rank uint32, start int32) pair { return pair(rank)<<32 | pair(start) }
func (p pair) rank() uint32                 { return uint32(p >> 32) }
func (p pair) start() int32                 { return int32(p & math.MaxInt32) }

// pairQueue is a heap of pairs, the lowest first. It is container/heap without its interface, for speed.
type pairQueue []pair

func (q pairQueue) sort() {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (q *pairQueue) push(p pair) {
	*q = append(*q, p)
	h := *q
	i := len(h) - 1
	for i > 0 && p < h[(i-1)/2] {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = p
}

func (q *pairQueue) pop() pair {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	*q = h[:last]
	q.down(0)
	return first
}

func (q pairQueue) down(i int) {
	if i >= len(q) {
		return
	}
	p := q[i]
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1] < q[child] {
			child++
		}
		if p <= q[child] {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = p
}
