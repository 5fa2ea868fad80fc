package openai

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// The bounds of what a counter remembers.
const (
	// textMemoMin is the length, in bytes, from which a text is worth remembering: a shorter one is counted sooner.
	textMemoMin = 64
	// textMemoSize is the number of texts in each of two generations.
	textMemoSize = 1 << 14
	// wordMemoSize is the number of words.
	wordMemoSize = 1 << 14
)

// textKey stands for a text: two hashes of it, with seeds of their own.
type textKey struct{ a, b uint64 }

// textMemo remembers the counts of whole texts. It keeps two generations: when the young one is full it becomes the
// old one, and what is asked for again moves back to the young one.
type textMemo struct {
	seedA, seedB maphash.Seed

	mu         sync.Mutex
	young, old map[textKey]int
}

func newTextMemo() *textMemo {
	return &textMemo{seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed(), young: map[textKey]int{}}
}

func (m *textMemo) key(text string) textKey {
	return textKey{maphash.String(m.seedA, text), maphash.String(m.seedB, text)}
}

func (m *textMemo) get(k textKey) (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.young[k]; ok {
		return n, true
	}
	n, ok := m.old[k]
	if ok {
		m.add(k, n)
	}
	return n, ok
}

func (m *textMemo) put(k textKey, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(k, n)
}

// add puts a count into the young generation. The lock is held.
func (m *textMemo) add(k textKey, n int) {
	if len(m.young) >= textMemoSize {
		m.old, m.young = m.young, make(map[textKey]int, textMemoSize)
	}
	m.young[k] = n
}

// wordMemo remembers the counts of words of more than one token. Each word has one place, which the last to come takes.
type wordMemo struct {
	seed  maphash.Seed
	words [wordMemoSize]atomic.Pointer[wordCount]
}

type wordCount struct {
	word   string
	tokens int
}

func newWordMemo() *wordMemo { return &wordMemo{seed: maphash.MakeSeed()} }

func (m *wordMemo) hash(word string) uint64 { return maphash.String(m.seed, word) }

func (m *wordMemo) get(hash uint64, word string) (int, bool) {
	if e := m.words[hash%wordMemoSize].Load(); e != nil && e.word == word {
		return e.tokens, true
	}
	return 0, false
}

func (m *wordMemo) put(hash uint64, word string, tokens int) {
	// The clone does not keep the whole text alive.
	m.words[hash%wordMemoSize].Store(&wordCount{strings.Clone(word), tokens})
}
