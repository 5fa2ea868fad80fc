package tiktoken

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing/internal/memo"
)

func TestTextIsCountedOnce(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	text := strings.Repeat("x y ", memo.TextMin)
	want := c.CountText(text)

	m := c.memory
	n, ok := m.Texts().Get(m.TextKey(strings.Clone(text)))
	require.True(t, ok)
	require.Equal(t, want, n)

	c.memory = memo.New()
	m = c.memory
	m.Texts().Put(m.TextKey(text), 4711)
	require.Equal(t, 4711, c.CountText(text), "the count comes from the memo")
}

func TestShortTextIsNotRemembered(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	m := c.memory
	for _, size := range []int{memo.TextMin - 1, memo.TextMin} {
		text := strings.Repeat("x", size)
		c.CountText(text)
		_, ok := m.Texts().Get(m.TextKey(text))
		require.Equal(t, size >= memo.TextMin, ok, "%d bytes", size)
	}
}

func TestWordOfTwoTokensIsMergedOnce(t *testing.T) {
	c := newTestCounter(t, "o200k_base")
	for _, word := range []string{"xqzv", "reticulatedly", strings.Repeat("xqzv", 10)} {
		text := "(" + word + ")"
		c.CountText(text)
		m := c.memory
		_, ok := m.Words.Get(m.WordKey(text, 0, len(word)+1))
		require.True(t, ok, "(%s", word)
	}
}
