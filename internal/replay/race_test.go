//go:build race

package replay

// race reports whether the race detector is on. The longest tests are skipped then.
const race = true
