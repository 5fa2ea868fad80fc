// Package memo remembers counts of texts and of words, in bounded memory and without locks.
package memo

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/sizing/internal/hash"
)

// The bounds of what a counter remembers, each a power of two: 1.2 MB in all, at 24 bytes a count.
const (
	wordCounts = 1 << 14
	textCounts = 1 << 15
	ways       = 4
)

// TextMin is the length, in bytes, from which a text is remembered; a shorter one is counted faster than looked up.
const TextMin = 64

// Memory holds what a counter remembers: the counts of words of more than one token, and of whole texts.
type Memory struct {
	seeds [2]maphash.Seed
	Words Counts
	Texts func() Counts // made when the first text is remembered
}

// New returns a memory that holds nothing.
func New() *Memory {
	return &Memory{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		Words: make(Counts, wordCounts/ways),
		Texts: sync.OnceValue(func() Counts { return make(Counts, textCounts/ways) }),
	}
}

// Idle holds a few values of a counter for goroutines that count new words at the same time. The garbage collector does
// not free them, as it would those of a sync.Pool, so counting allocates nothing.
type Idle[T any] chan *T

// NewIdle returns an empty list.
func NewIdle[T any]() Idle[T] { return make(Idle[T], 4) }

// Take returns an idle value, or a new one.
func (i Idle[T]) Take() *T {
	select {
	case v := <-i:
		return v
	default:
		return new(T)
	}
}

// Put keeps a value, unless there are enough.
func (i Idle[T]) Put(v *T) {
	select {
	case i <- v:
	default:
	}
}

// Key identifies a text: by two hashes with different seeds, or by its bytes if it is short.
type Key struct{ a, b uint64 }

// TextKey returns the key of a text.
func (m *Memory) TextKey(text string) Key {
	return Key{maphash.String(m.seeds[0], text), maphash.String(m.seeds[1], text)}
}

// Text returns the count of a text, which is counted if it is not remembered.
func (m *Memory) Text(text string, count func(string) int) int {
	if len(text) < TextMin {
		return count(text)
	}
	key := m.TextKey(text)
	n, ok := m.Texts().Get(key)
	if !ok {
		n = count(text)
		m.Texts().Put(key, n)
	}
	return n
}

// WordKey returns the key of the word of n bytes at i.
func (m *Memory) WordKey(text string, i, n int) Key {
	switch {
	case n <= 8:
		return Key{hash.Packed(text, i, n), uint64(n) << 56}
	case n < 16:
		return Key{hash.Packed(text, i, 8), hash.Packed(text, i+8, n-8) | uint64(n)<<56}
	default:
		key := m.TextKey(text[i : i+n])
		key.b |= 1 << 63 // a length that no shorter word has
		return key
	}
}

// Counts remembers a bounded number of counts, without a lock. A key may be in any of the ways entries of its set; if
// all are taken, a new key replaces one at random.
type Counts [][ways]entry

// entry holds a key and its count plus one; 0 means free. The key is mixed with the count, so that an entry read
// half-written does not match any other key.
type entry struct{ a, b, count atomic.Uint64 }

func mixed(a, b, count uint64) uint64 { return a ^ hash.Mix(b^hash.Mix(count)) }

func (c Counts) set(k Key) *[ways]entry {
	return &c[hash.Mix(k.a^k.b)&uint64(len(c)-1)]
}

// Get returns the count of a key, and whether it is remembered.
func (c Counts) Get(k Key) (int, bool) {
	set := c.set(k)
	for i := range set {
		e := &set[i]
		if count, b := e.count.Load(), e.b.Load(); count != 0 && b == k.b && e.a.Load() == mixed(k.a, b, count) {
			return int(count - 1), true
		}
	}
	return 0, false
}

// Put remembers the count of a key.
func (c Counts) Put(k Key, n int) {
	set := c.set(k)
	at := rand.IntN(ways)
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
