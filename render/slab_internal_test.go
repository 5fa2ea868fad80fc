package render

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlabHandsOutEachValueOnce(t *testing.T) {
	var s slab[int]
	taken := map[*int]bool{}
	for n := range 100 {
		list := s.take(n)
		require.Len(t, list, n)
		require.Equal(t, n, cap(list), "what is appended must not be another's")
		for i := range list {
			require.False(t, taken[&list[i]])
			taken[&list[i]] = true
		}
	}
}

func TestSlabIsShared(t *testing.T) {
	for _, n := range []int{1, 10} {
		allocs := testing.AllocsPerRun(1, func() {
			var s slab[[64]byte]
			for range 1000 {
				s.take(n)
			}
		})
		require.Less(t, allocs, 50.0, "a thousand times %d", n)
	}
}
