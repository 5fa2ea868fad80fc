package clamp_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/clamp"
)

func TestNumbersOutOfRangeAreTheLargestOrSmallestInt(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want int
	}{
		{0, 0}, {1.9, 1}, {-1.9, -1}, {math.NaN(), 0}, {math.Inf(1), math.MaxInt}, {math.Inf(-1), math.MinInt},
		{float64(math.MaxInt), math.MaxInt}, {float64(math.MinInt), math.MinInt}, {1e300, math.MaxInt},
	} {
		require.Equal(t, c.want, clamp.Int(c.f), "%v", c.f)
	}
	require.Equal(t, math.MaxInt, clamp.Share(1, math.MaxInt))
	for _, c := range []struct{ a, b, want int }{
		{1, 2, 3}, {math.MaxInt, 1, math.MaxInt}, {math.MaxInt, math.MaxInt, math.MaxInt}, {math.MinInt, -1, math.MinInt},
		{math.MinInt, math.MinInt, math.MinInt}, {math.MaxInt, math.MinInt, -1},
	} {
		require.Equal(t, c.want, clamp.Sum(c.a, c.b), "%d + %d", c.a, c.b)
	}
}
