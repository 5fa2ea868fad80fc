package main

import (
	"slices"
	"time"
)

// results are the measurements of a comparison by the contestants' names.
type results map[string]measurement

// ratio returns the ratio of two medians, as a number and as text: "" if one was not measured.
func (r results) ratio(name, to string) (ratio float64, shown string) {
	a, b := r[name].times, r[to].times
	if len(a) == 0 || len(b) == 0 {
		return 0, ""
	}
	ratio = float64(median(a)) / float64(max(median(b), 1))
	return ratio, short(ratio) + "×"
}

// median returns the middle of the times, or the mean of the two in the middle. There must be at least one.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
