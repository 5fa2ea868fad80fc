package draft

import (
	"math"

	"github.com/promptree-go/promptree/elements"
)

// Reserved returns how many of the tokens that are left a reserve sets aside.
func Reserved(r elements.Reserve, left int) int {
	if r.Share > 0 {
		return int(float64(left) / Divisor(r))
	}
	return min(r.Tokens, left)
}

// Divisor returns the number by which tokens are divided for a share. If that is nearly a whole number, it is rounded
// to it, so that a seventh of 7 tokens is 1.
func Divisor(r elements.Reserve) float64 {
	exact := 1 / r.Share
	if whole := math.Round(exact); math.Abs(exact-whole) < 1e-9*exact {
		return whole
	}
	return exact
}
