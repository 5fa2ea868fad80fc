package vocabulary

import (
	"math"
	"slices"

	"github.com/promptree-go/promptree/sizing/internal/hash"
)

// By definition, a word is counted by merging its symbols: of all pairs of neighbours that the file lists, the one that
// it lists first is merged, the leftmost among equals, until none is listed. A vocabulary's tokens need not be in the
// order of their merges, a token may have several merges, and one may come before those of its parts. So words are
// merged step by step.

// The bounds of an id and of the number of merges. An entry of the table of pairs holds two ids and a rank.
const (
	idBits    = 20
	rankBits  = 64 - 2*idBits
	maxIDs    = 1 << idBits
	maxMerges = 1<<rankBits - 1
	noRank    = math.MaxUint32
)

// pairs holds the merges of a vocabulary, by the ids of the two tokens.
type pairs struct {
	slots   []uint64 // left, right, rank + 1; 0 is free
	results []uint32 // the id of the merged token, by rank
}

func newPairs(n int) pairs {
	return pairs{make([]uint64, n+n/2+1), make([]uint32, n)}
}

// put adds a merge. Of two merges of one pair the last counts. It returns false if too many merges are in its place.
func (p pairs) put(left, right uint32, rank int, result uint32) bool {
	p.results[rank] = result
	key := uint64(left)<<idBits | uint64(right)
	i := hash.Slot(hash.Mix(key), len(p.slots))
	for probes := 0; p.slots[i] != 0 && p.slots[i]>>rankBits != key; probes++ {
		if probes == mostProbes {
			return false
		}
		i = hash.Next(i, len(p.slots))
	}
	p.slots[i] = key<<rankBits | uint64(rank+1)
	return true
}

// rank returns the rank of a pair, noRank if it is not merged.
func (p pairs) rank(left, right uint32) uint32 {
	key := uint64(left)<<idBits | uint64(right)
	for i := hash.Slot(hash.Mix(key), len(p.slots)); ; i = hash.Next(i, len(p.slots)) {
		switch slot := p.slots[i]; {
		case slot == 0:
			return noRank
		case slot>>rankBits == key:
			return uint32(slot&(1<<rankBits-1)) - 1
		}
	}
}

// merger merges words. It holds buffers; the zero value is ready to use.
type merger struct {
	ids, ranks []uint32 // of the symbols, and of each with the one after it
	prev, next []int32
	heap       []uint64 // rank and place of each pair
}

// maxScanned is the number of symbols up to which the lowest rank is found by looking at all.
const maxScanned = 64

// merge returns the number of tokens that the symbols in m.ids are merged to.
func (m *merger) merge(p pairs) int {
	if len(m.ids) > maxScanned {
		return m.mergeMany(p)
	}
	ids, n := m.ids, len(m.ids)
	if n < 2 {
		return n
	}
	m.ranks = slices.Grow(m.ranks[:0], n)[:n]
	ranks := m.ranks
	ranks[n-1] = noRank
	for i := range n - 1 {
		ranks[i] = p.rank(ids[i], ids[i+1])
	}
	for {
		best := 0
		for i, rank := range ranks[:n] {
			if rank < ranks[best] {
				best = i
			}
		}
		if ranks[best] == noRank {
			return n
		}
		ids[best] = p.results[ranks[best]]
		n--
		copy(ids[best+1:n], ids[best+2:n+1])
		copy(ranks[best+1:n], ranks[best+2:n+1])
		ranks[best] = noRank
		if best+1 < n {
			ranks[best] = p.rank(ids[best], ids[best+1])
		}
		if best > 0 {
			ranks[best-1] = p.rank(ids[best-1], ids[best])
		}
	}
}

// mergeMany does it for many symbols, with a heap of the pairs. A pair of it is out of date if a symbol of it was
// merged since, which its rank shows.
func (m *merger) mergeMany(p pairs) int {
	n := len(m.ids)
	m.ranks = slices.Grow(m.ranks[:0], n)[:n]
	m.prev = slices.Grow(m.prev[:0], n)[:n]
	m.next = slices.Grow(m.next[:0], n)[:n]
	m.heap = m.heap[:0]
	for i := range n {
		m.prev[i], m.next[i] = int32(i-1), int32(i+1)
		m.ranks[i] = noRank
		if i+1 < n {
			m.ranks[i] = p.rank(m.ids[i], m.ids[i+1])
		}
		if m.ranks[i] != noRank {
			m.heap = append(m.heap, uint64(m.ranks[i])<<32|uint64(i))
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	tokens := n
	for len(m.heap) > 0 {
		top := m.heap[0]
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		if m.heap = m.heap[:last]; last > 0 {
			m.down(0)
		}
		i, rank := int32(uint32(top)), uint32(top>>32)
		if m.ranks[i] != rank {
			continue
		}
		right := m.next[i]
		after := m.next[right]
		m.ids[i] = p.results[rank]
		m.next[i] = after
		m.ranks[right] = noRank
		tokens--
		if int(after) < n {
			m.prev[after] = i
			m.pair(p, i, after)
		} else {
			m.ranks[i] = noRank
		}
		if before := m.prev[i]; before >= 0 {
			m.pair(p, before, i)
		}
	}
	return tokens
}

// pair looks up the pair of two neighbours anew.
func (m *merger) pair(p pairs, left, right int32) {
	rank := p.rank(m.ids[left], m.ids[right])
	m.ranks[left] = rank
	if rank == noRank {
		return
	}
	m.heap = append(m.heap, 0)
	entry := uint64(rank)<<32 | uint64(left)
	i := len(m.heap) - 1
	for i > 0 && entry < m.heap[(i-1)/2] {
		m.heap[i] = m.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	m.heap[i] = entry
}

// down moves an entry of the heap down to its place.
func (m *merger) down(i int) {
	entry := m.heap[i]
	for child := 2*i + 1; child < len(m.heap); child = 2*i + 1 {
		if child+1 < len(m.heap) && m.heap[child+1] < m.heap[child] {
			child++
		}
		if entry <= m.heap[child] {
			break
		}
		m.heap[i], i = m.heap[child], child
	}
	m.heap[i] = entry
}
