// Package sample is code that the tests of mutants mutate.
package sample

// Double returns twice a number.
func Double(n int) int { return 2 * n }
