//go:build race

package main

// race reports whether the race detector is on; the long tests then run fewer cases.
const race = true
