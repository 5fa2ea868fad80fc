//go:build race

package summarize_test

// race reports whether the race detector is on, with which the long tests run fewer cases.
const race = true
