package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
)

func TestWalkingBackDecodesNoEntryThatTheCacheHolds(t *testing.T) {
	walk := func(cache *history.Cache) float64 {
		s := sessionIn(t, &storage.Memory{}, history.Options{Cache: cache})
		for range 100 {
			require.NoError(t, s.Append(t.Context(), chat.UserMessage(strings.Repeat("word ", 10))))
		}
		require.NoError(t, s.Compact(t.Context(), summary("so far", "")))
		return testing.AllocsPerRun(1, func() {
			n := 0
			for _, err := range s.Back(t.Context(), "") {
				require.NoError(t, err)
				n++
			}
			require.Equal(t, 101, n)
		})
	}
	require.Less(t, 10*walk(history.NewCache(1<<20)), walk(history.NewCache(0)))
}
