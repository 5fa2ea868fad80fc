//go:build race

package history_test

// race reports whether the race detector is on. The long tests then run fewer cases.
const race = true
