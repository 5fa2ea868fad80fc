package render

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// To look through all that is left with each piece that goes would take quadratic time.
func TestCandidatesInOrderAreLookedThroughOnce(t *testing.T) {
	c := &choice{sorted: make([]int32, crowdSize)}
	for i := range c.sorted {
		c.sorted[i] = int32(i)
	}
	require.Equal(t, 2, (&pruner{}).sweep(c, 2, 1))
	require.Len(t, c.sorted, crowdSize)
	require.True(t, c.sweepTried)
}
