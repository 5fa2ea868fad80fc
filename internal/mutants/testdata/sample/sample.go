// Package sample is code whose mutations are tried by a test.
package sample

// Double returns twice a number.
func Double(n int) int { return 2 * n }
