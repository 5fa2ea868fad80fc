package tiktoken

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// The bounds of what a counter remembers, each a power of two: at 24 bytes a count, 1.2 MB in all.
const (
	wordMemoSize = 1 << 14
	textMemoSize = 1 << 15
	memoWays     = 4
)

// textMemoMin is the length, in bytes, from which a text is worth remembering: a shorter one is counted sooner.
const textMemoMin = 64

// memory is what a counter remembers: the counts of words of more than one token, and of whole texts.
type memory struct {
	seeds [2]maphash.Seed
	words memo
	texts func() memo // made for the first text that is worth remembering
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

// memoKey stands for a text: two hashes of it, with seeds of their own, or the text itself where it is short.
type memoKey struct{ a, b uint64 }

func (m *memory) textKey(text string) memoKey {
	return memoKey{maphash.String(m.seeds[0], text), maphash.String(m.seeds[1], text)}
}

// wordKey is the key of the word of n bytes at i.
func (m *memory) wordKey(text string, i, n int) memoKey {
	switch {
	case n <= 8:
		return memoKey{packed(text, i, n), uint64(n) << 56}
	case n < 16:
		return memoKey{packed(text, i, 8), packed(text, i+8, n-8) | uint64(n)<<56}
	default:
		key := m.textKey(text[i : i+n])
		key.b |= 1 << 63 // no length of a shorter word
		return key
	}
}

// memo remembers a bounded number of counts, without a lock. A key has its place in one of memoWays entries; where they
// are taken it takes one of them by chance.
type memo [][memoWays]memoEntry

// memoEntry is a key and one more than its count; 0 where it is free. The key is disguised by what is written beside it,
// so that an entry read while it is written, half one and half the other, is not taken for a third.
type memoEntry struct{ a, b, count atomic.Uint64 }

func disguise(a, b, count uint64) uint64 { return a ^ mix(b^mix(count)) }

func (m memo) set(k memoKey) *[memoWays]memoEntry {
	return &m[mix(k.a^k.b)&uint64(len(m)-1)]
}

func (m memo) get(k memoKey) (int, bool) {
	set := m.set(k)
	for i := range set {
		e := &set[i]
		if count, b := e.count.Load(), e.b.Load(); count != 0 && b == k.b && e.a.Load() == disguise(k.a, b, count) {
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
	e.a.Store(disguise(k.a, k.b, count))
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
