package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"
)

// resident returns the memory of the process in bytes: its resident set if the system reports it, or else the memory
// that Go obtained from the system.
func resident() int64 {
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(statm); len(fields) > 1 {
			if pages, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// watchMemory samples the memory of the process until the returned function is called, which returns the maximum.
// Garbage does not count.
func watchMemory() (stop func() int64) {
	debug.FreeOSMemory()
	done, highest := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		peak := resident()
		for {
			select {
			case <-tick.C:
				peak = max(peak, resident())
			case <-done:
				highest <- max(peak, resident())
				return
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-highest
	}
}
