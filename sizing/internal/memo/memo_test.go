package memo

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing/internal/hash"
)

func TestDifferentWordsHaveDifferentKeys(t *testing.T) {
	m := New()
	words := map[Key]string{}
	for _, bytes := range []string{"\x00", "a", "ab", "\xff"} {
		for n := 1; n < 40; n++ {
			word := strings.Repeat(bytes, n)
			for _, text := range []string{word, word + "tail", "head" + word, "head" + word + "and a long tail"} {
				key := m.WordKey(text, strings.Index(text, word), len(word))
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
	m := make(Counts, 1<<8)
	key := func(i int) Key { return Key{hash.Mix(uint64(i)), hash.Mix(uint64(i) + 1<<32)} }
	kept := func(n int) (kept int) {
		for i := range n {
			if count, ok := m.Get(key(i)); ok {
				require.Equal(t, i, count)
				kept++
			}
		}
		return kept
	}
	half, twice := len(m)*ways/2, len(m)*ways*2
	for i := range half {
		m.Put(key(i), i)
	}
	require.Greater(t, kept(half), half*9/10)
	for i := range twice {
		m.Put(key(i), i)
	}
	require.Greater(t, kept(twice), twice/4)
	require.LessOrEqual(t, kept(twice), len(m)*ways)
}

// Every key's count is known here, so that the count of another key would be noticed.
func TestMemoIsSafeForConcurrentUse(t *testing.T) {
	m := make(Counts, 1) // all keys share one set
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100_000 {
				k := (i*7 + g) % 50
				if n, ok := m.Get(Key{uint64(k % 7), uint64(k)}); ok && n != k {
					t.Error(fmt.Sprint("count ", n, " for key ", k))
				}
				m.Put(Key{uint64(k % 7), uint64(k)}, k)
			}
		})
	}
	wg.Wait()
}
