package sizing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextMemoIsBounded(t *testing.T) {
	var m textMemo
	text := func(i int) string { return strings.Repeat(fmt.Sprint(i, " "), memoMin) }
	counted := 0
	counts := func(i int) {
		require.Equal(t, textCounts{base: float64(i)}, m.counts(text(i), func(string) textCounts {
			counted++
			return textCounts{base: float64(i)}
		}))
	}
	for i := range 3 * memoTexts {
		counts(i)
		counts(0)
		require.LessOrEqual(t, len(m.young)+len(m.old), 2*memoTexts)
	}
	require.Equal(t, 3*memoTexts, counted, "what is asked for again and again is never forgotten")
}
