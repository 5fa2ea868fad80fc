// Package clamp computes with numbers of any size without overflow.
package clamp

import "math"

// Int returns the integer part of a number, the largest or smallest int if it is out of range, and 0 for NaN.
func Int(f float64) int {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt:
		return math.MaxInt
	case f <= math.MinInt:
		return math.MinInt
	}
	return int(f)
}

// Share returns a fraction of a number of tokens. share is from 0 to 1.
func Share(share float64, of int) int { return Int(share * float64(of)) }

// Sum returns the sum of two numbers, and the largest or smallest int if it is out of range.
func Sum(a, b int) int {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt
	}
	return sum
}
