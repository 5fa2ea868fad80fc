package tiktoken

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// The bounds of what a counter remembers, each a power of two: 1.2 MB in all, at 24 bytes a count.
const (
	wordMemoSize = 1 << 14
	textMemoSize = 1 << 15
	memoWays     = 4
)

// textMemoMin is the length, in bytes, from which a text is remembered; a shorter one is counted faster than looked up.
const textMemoMin = 64

// memory holds what a counter remembers: the counts of words of more than one token, and of whole texts.
type memory struct {
	seeds [2]maphash.Seed
	words memo
	texts func() memo // made when the first text is remembered
}

func newMemory() *memory {
	return &memory{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		words: make(memo, wordMemoSize/memoWays),
		texts: sync.OnceValue(func() memo { return make(memo, textMemoSize/memoWays) }),
	}
}

func (m *memory) forget() {
	m.words.forget()
	m.texts().forget()
}

// memoKey identifies a text: by two hashes with different seeds, or by its bytes if it is short.
type memoKey struct{ a, b uint64 }

func (m *memory) textKey(text string) memoKey {
	return memoKey{maphash.String(m.seeds[0], text), maphash.String(m.seeds[1], text)}
}

// wordKey returns the key of the word of n bytes at i.
func (m *memory) wordKey(text string, i, n int) memoKey {
	switch {
	case n <= 8:
		return memoKey{packed(text, i, n), uint64(n) << 56}
	case n < 16:
		return memoKey{packed(text, i, 8), packed(text, i+8, n-8) | uint64(n)<<56}
	default:
		key := m.textKey(text[i : i+n])
		key.b |= 1 << 63 // a length that no shorter word has
		return key
	}
}

// memo remembers a bounded number of counts, without a lock. A key may be in any of the memoWays entries of its set; if
// all are taken, a new key replaces one at random.
type memo [][memoWays]memoEntry

// memoEntry holds a key and its count plus one; 0 means free. The key is mixed with the count, so that an entry read
// half-written does not match any other key.
type memoEntry struct{ a, b, count atomic.Uint64 }

func mixed(a, b, count uint64) uint64 { return a ^ mix(b^mix(count)) }

func (m memo) set(k memoKey) *[memoWays]memoEntry {
	return &m[mix(k.a^k.b)&uint64(len(m)-1)]
}

func (m memo) get(k memoKey) (int, bool) {
	set := m.set(k)
	for i := range set {
		e := &set[i]
		if count, b := e.count.Load(), e.b.Load(); count != 0 && b == k.b && e.a.Load() == mixed(k.a, b, count) {
			return int(count - 1), true
		}
	}
	return 0, false
}

func (m memo) put(k memoKey, n int) {
	set := m.set(k)
	at := rand.IntN(memoWays)
	for i := range set {
		if set[i].count.Load() == 0 {
			at = i
			break
		}
	}
	e, count := &set[at], uint64(n)+1
	e.a.Store(mixed(k.a, k.b, count))
	e.b.Store(k.b)
	e.count.Store(count)
}

func (m memo) forget() {
	for i := range m {
		for k := range m[i] {
			m[i][k].count.Store(0)
		}
	}
}
