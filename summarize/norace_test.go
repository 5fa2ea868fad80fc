//go:build !race

package summarize_test

const race = false
