//go:build race

package replaytest

// race tells that the race detector is at work, which takes its time.
const race = true
