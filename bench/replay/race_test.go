//go:build race

package main

// race tells that the race detector is on, with which the long tests run fewer cases.
const race = true
