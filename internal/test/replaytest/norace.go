//go:build !race

package replaytest

const race = false
