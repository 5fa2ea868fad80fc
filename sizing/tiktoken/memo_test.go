package tiktoken

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextIsCountedOnce(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	text := strings.Repeat("x y ", textMemoMin)
	want := c.CountText(text)

	m := c.memory
	n, ok := m.texts().get(m.textKey(strings.Clone(text)))
	require.True(t, ok)
	require.Equal(t, want, n)

	c.Forget()
	_, ok = c.memory.texts().get(m.textKey(text))
	require.False(t, ok, "it is forgotten")
	m = c.memory
	m.texts().put(m.textKey(text), 4711)
	require.Equal(t, 4711, c.CountText(text), "the count comes from the memo")
}

func TestShortTextIsNotRemembered(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	m := c.memory
	for _, size := range []int{textMemoMin - 1, textMemoMin} {
		text := strings.Repeat("x", size)
		c.CountText(text)
		_, ok := m.texts().get(m.textKey(text))
		require.Equal(t, size >= textMemoMin, ok, "%d bytes", size)
	}
}

func TestWordOfTwoTokensIsMergedOnce(t *testing.T) {
	c := newTestCounter(t, "o200k_base")
	for _, word := range []string{"xqzv", "reticulatedly", strings.Repeat("xqzv", 10)} {
		text := "(" + word + ")"
		c.CountText(text)
		m := c.memory
		_, ok := m.words.get(m.wordKey(text, 0, len(word)+1))
		require.True(t, ok, "(%s", word)
	}
}

func TestDifferentWordsHaveDifferentKeys(t *testing.T) {
	m := newMemory()
	words := map[memoKey]string{}
	for _, bytes := range []string{"\x00", "a", "ab", "\xff"} {
		for n := 1; n < 40; n++ {
			word := strings.Repeat(bytes, n)
			for _, text := range []string{word, word + "tail", "head" + word, "head" + word + "and a long tail"} {
				key := m.wordKey(text, strings.Index(text, word), len(word))
				if other, taken := words[key]; taken {
					require.Equal(t, word, other)
				}
				words[key] = word
			}
		}
	}
}

// A memo drops few counts before it is full.
func TestMemoKeepsNearlyEverythingThatFits(t *testing.T) {
	m := make(memo, 1<<8)
	key := func(i int) memoKey { return memoKey{mix(uint64(i)), mix(uint64(i) + 1<<32)} }
	kept := func(n int) (kept int) {
		for i := range n {
			if count, ok := m.get(key(i)); ok {
				require.Equal(t, i, count)
				kept++
			}
		}
		return kept
	}
	half, twice := len(m)*memoWays/2, len(m)*memoWays*2
	for i := range half {
		m.put(key(i), i)
	}
	require.Greater(t, kept(half), half*9/10)
	for i := range twice {
		m.put(key(i), i)
	}
	require.Greater(t, kept(twice), twice/4)
	require.LessOrEqual(t, kept(twice), len(m)*memoWays)
}

// Every key's count is known here, so that the count of another key would be noticed.
func TestMemoIsSafeForConcurrentUse(t *testing.T) {
	m := make(memo, 1) // all keys share one set
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100_000 {
				k := (i*7 + g) % 50
				if n, ok := m.get(memoKey{uint64(k % 7), uint64(k)}); ok && n != k {
					t.Error(fmt.Sprint("count ", n, " for key ", k))
				}
				m.put(memoKey{uint64(k % 7), uint64(k)}, k)
			}
		})
	}
	wg.Wait()
}
