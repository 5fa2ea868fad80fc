package tree

import (
	"fmt"
	"math"

	"github.com/promptree-go/promptree/elements"
)

// CheckProps returns an error for properties that are out of range.
func CheckProps(p *elements.Props) error {
	switch {
	case p.FlexGrow < 0:
		return fmt.Errorf("a FlexGrow of %d: must be 0 or more", p.FlexGrow)
	case !(p.FlexBasis >= 0) || math.IsInf(p.FlexBasis, 1): // also NaN
		return fmt.Errorf("a FlexBasis of %v: must be a number, 0 or more", p.FlexBasis)
	case p.FlexReserve.Tokens < 0:
		return fmt.Errorf("a FlexReserve of %d tokens: must be 0 or more", p.FlexReserve.Tokens)
	case !(p.FlexReserve.Share >= 0 && p.FlexReserve.Share <= 1):
		return fmt.Errorf("a FlexReserve with a share of %v: must be from 0 to 1, such as 0.25", p.FlexReserve.Share)
	}
	return nil
}

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
