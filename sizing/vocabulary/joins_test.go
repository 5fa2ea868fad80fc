package vocabulary_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

// requireCutsAddUp cuts a text at every safe cut and returns their number.
func requireCutsAddUp(t *testing.T, c chat.Joiner, text string) (cuts int) {
	t.Helper()
	whole := c.CountText(text)
	before := rune(-1)
	for i, after := range text {
		if before >= 0 && c.SafeCut(before, after) {
			cuts++
			if sum := c.CountText(text[:i]) + c.CountText(text[i:]); sum != whole {
				require.Failf(t, "a cut that is not safe", "%d tokens became %d: %q + %q", whole, sum, text[:i], text[i:])
			}
		}
		before = after
	}
	return cuts
}

func TestCutsOfPublishedVocabulariesAddUp(t *testing.T) {
	directory := modules(t)
	for i, family := range families {
		t.Run(family, func(t *testing.T) {
			path := fileOf(directory, family)
			v, err := vocabulary.Open(path)
			require.NoError(t, err)
			for _, plain := range []bool{false, true} {
				c, joins := v.Counter(vocabulary.Options{PlainAdded: plain}).(chat.Joiner)
				require.Equal(t, v.Joins(), joins)
				if require.Equal(t, family != "llama2", joins); !joins {
					continue
				}
				cuts, size := 0, 0
				for _, text := range texts(100+uint64(i), 1500, addedOf(t, path)) {
					if len(text) > 2000 {
						continue
					}
					size += len(text)
					cuts += requireCutsAddUp(t, c, text)
				}
				t.Logf("%d cuts in %d bytes", cuts, size)
				require.Greater(t, cuts, size/20)
			}
		})
	}
}
