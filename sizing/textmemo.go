package sizing

import (
	"hash/maphash"
	"sync"
)

// textMemo remembers the counts of texts, because a conversation is counted again at each step and only its end is new.
// It holds the most recent texts, at most twice memoTexts, and is safe for concurrent use.
type textMemo struct {
	off bool // the base's counts may change

	mu         sync.RWMutex
	young, old map[textKey]textCounts
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
	found, isYoung := m.young[key]
	isOld := false
	if !isYoung {
		found, isOld = m.old[key]
	}
	m.mu.RUnlock()
	if isYoung {
		return found
	}
	if !isOld {
		found = count(text)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.young) >= memoTexts {
		m.young, m.old = nil, m.young
	}
	if m.young == nil {
		m.young = map[textKey]textCounts{}
	}
	m.young[key] = found
	return found
}
