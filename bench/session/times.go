package main

import (
	"runtime"
	"slices"
	"time"
)

// times are the newest times that were taken, at most so many as a median is made of.
type times struct {
	list []time.Duration
	next int // place of the oldest, once there are so many
}

// sample is how many times a median is made of.
const sample = 1000

func (t *times) since(begun time.Time) {
	took := time.Since(begun)
	if len(t.list) < sample {
		t.list = append(t.list, took)
		return
	}
	t.list[t.next] = took
	t.next = (t.next + 1) % sample
}

// at returns a quantile, 0 if no time was taken.
func (t *times) at(quantile float64) time.Duration {
	if len(t.list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.list))
	return sorted[int(quantile*float64(len(sorted)-1))]
}

func (t *times) median() time.Duration { return t.at(0.5) }

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // finalizers have run
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// allocated returns the bytes that were allocated since the start.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}
