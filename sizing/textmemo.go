package sizing

import (
	"hash/maphash"
	"sync"
)

// textMemo remembers what texts hold, for a conversation is counted again at each step and all of it but the end is what it
// was. It remembers the texts that were asked for last, twice memoTexts at most, and is safe for concurrent use.
type textMemo struct {
	off bool // the base counts otherwise each time

	mu         sync.RWMutex
	young, old map[textKey]textCounts
}

const (
	// memoTexts are about 1 MB.
	memoTexts = 1 << 14
	// memoMin is the length, in bytes, from which a text is worth remembering: a shorter one is counted sooner.
	memoMin = 64
)

// textCounts is what a text holds: tokens of the base, and kinds of characters.
type textCounts struct {
	base                     float64
	letters, digits, symbols int32
}

// textKey stands for a text: two hashes of it.
type textKey struct{ a, b uint64 }

// seeds of the hashes that stand for texts and messages in this process.
var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func keyOfText(text string) textKey {
	return textKey{maphash.String(seeds[0], text), maphash.String(seeds[1], text)}
}

// counts gives those of a text, or has them counted.
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
