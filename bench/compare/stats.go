package main

import (
	"slices"
	"time"
)

// results are the measurements of a comparison by the contestants' names.
type results map[string]measurement

// median returns the median of a contestant, and false if it was not measured.
func (r results) median(name string) (time.Duration, bool) {
	m, ok := r[name]
	if !ok || len(m.times) == 0 {
		return 0, false
	}
	return median(m.times), true
}

// ratio returns the ratio of two medians, and false if one was not measured.
func (r results) ratio(name, to string) (float64, bool) {
	a, okA := r.median(name)
	b, okB := r.median(to)
	if !okA || !okB {
		return 0, false
	}
	return float64(a) / float64(max(b, 1)), true
}

// median returns the middle of the times, or the mean of the two in the middle. There must be at least one.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
