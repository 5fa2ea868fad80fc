//go:build race

package replay

// race tells that the race detector is on, with which the long tests run fewer cases.
const race = true
