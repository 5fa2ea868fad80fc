//go:build !unix

package main

import "time"

// cpu returns 0, because the processor time is unknown.
func cpu() time.Duration { return 0 }
