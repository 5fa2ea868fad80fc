//go:build race

package replaytest

// race reports whether the race detector is on, which makes tests slow.
const race = true
