//go:build race

package history_test

// race reports whether the race detector is on, with which the long tests run fewer cases.
const race = true
