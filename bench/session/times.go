package main

import (
	"runtime"
	"slices"
	"time"
)

// times holds the last durations that were measured, at most sample of them.
type times struct {
	list []time.Duration
	next int // index of the oldest, once the list is full
}

// sample is the maximum number of durations that a median is made of.
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

// at returns a quantile, 0 if there are no durations.
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
