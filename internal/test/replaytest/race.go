//go:build race

package replaytest

// race reports whether the race detector is on.
const race = true
