package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextIsCountedOnce(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	text := strings.Repeat("x y ", textMemoMin)
	want := c.CountText(text)

	n, ok := c.texts.get(c.texts.key(text))
	require.True(t, ok)
	require.Equal(t, want, n)

	c.texts.put(c.texts.key(text), 4711)
	require.Equal(t, 4711, c.CountText(text), "the count comes from the memo")
}

func TestShortTextIsNotRemembered(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	c.CountText(strings.Repeat("x", textMemoMin-1))
	require.Empty(t, c.texts.young)
	c.CountText(strings.Repeat("x", textMemoMin))
	require.Len(t, c.texts.young, 1)
}

func TestTextMemoIsBounded(t *testing.T) {
	m := newTextMemo()
	key := func(i int) textKey { return m.key(fmt.Sprint("text ", i)) }
	for i := range 5 * textMemoSize {
		m.put(key(i), i)
		require.LessOrEqual(t, len(m.young)+len(m.old), 2*textMemoSize)
	}
	_, ok := m.get(key(0))
	require.False(t, ok, "what was not asked for lately is forgotten")
	n, ok := m.get(key(5*textMemoSize - 1))
	require.True(t, ok)
	require.Equal(t, 5*textMemoSize-1, n)
}

func TestTextThatIsAskedForStaysRemembered(t *testing.T) {
	m := newTextMemo()
	kept := m.key("kept")
	m.put(kept, 1)
	for i := range 5 * textMemoSize {
		m.put(m.key(fmt.Sprint("text ", i)), i)
		if i%(textMemoSize/2) == 0 {
			_, ok := m.get(kept)
			require.True(t, ok, i)
		}
	}
}

func TestWordMemoTellsWordsApart(t *testing.T) {
	m := newWordMemo()
	m.put(1, "one", 1)
	m.put(1+wordMemoSize, "other", 2)
	_, ok := m.get(1, "one")
	require.False(t, ok, "its place was taken")
	n, ok := m.get(1, "other")
	require.True(t, ok)
	require.Equal(t, 2, n)
}
