package sizing

import (
	"hash/maphash"
	"maps"
	"sync"
)

// textMemo remembers the counts of texts, because a conversation is counted again at each step and only its end is new.
// It holds the most recent texts, at most twice memoTexts, and is safe for concurrent use.
type textMemo struct {
	off bool // the base's counts may change

	mu sync.RWMutex
	recent[textKey, textCounts]
}

const (
	// memoTexts entries take about 1 MB.
	memoTexts = 1 << 14
	// memoMin is the length, in bytes, from which a text is remembered; a shorter one is counted faster than looked up.
	memoMin = 64
)

// textCounts holds the counts of a text: tokens of the base, and characters by kind.
type textCounts struct {
	base                     float64
	letters, digits, symbols int32
}

// textKey identifies a text by two hashes.
type textKey struct{ a, b uint64 }

// seeds of the hashes of texts and messages in this process.
var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func keyOfText(text string) textKey {
	return textKey{maphash.String(seeds[0], text), maphash.String(seeds[1], text)}
}

// counts returns the counts of a text, calling count for a text that is not remembered.
func (m *textMemo) counts(text string, count func(string) textCounts) textCounts {
	if m.off || len(text) < memoMin {
		return count(text)
	}
	key := keyOfText(text)
	m.mu.RLock()
	found, known := m.get(key)
	_, young := m.young[key]
	m.mu.RUnlock()
	if young {
		return found
	}
	if !known {
		found = count(text)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, found, memoTexts)
	return found
}

// recent holds the values that were put last. The zero value is empty.
type recent[K comparable, V any] struct {
	young, old map[K]V
}

func (r *recent[K, V]) get(key K) (value V, known bool) {
	if value, known = r.young[key]; !known {
		value, known = r.old[key]
	}
	return value, known
}

// put holds a value. The latest values are held, at least the given number of them and at most twice as many.
func (r *recent[K, V]) put(key K, value V, number int) {
	if r.young == nil || len(r.young) >= number {
		r.young, r.old = map[K]V{}, r.young
	}
	r.young[key] = value
}

func (r *recent[K, V]) clone() recent[K, V] {
	return recent[K, V]{maps.Clone(r.young), maps.Clone(r.old)}
}
