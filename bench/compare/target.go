package main

import "fmt"

// target is a requirement for a contestant.
type target struct {
	// of is the contestant in whose row the target is shown.
	of string
	// asks describes the target.
	asks string
	// reached returns what was reached, "" if that could not be measured, and whether it is enough.
	reached func(r results) (shown string, enough bool)
}

// state of a target.
type state string

const (
	met         state = "met"
	missed      state = "missed"
	notMeasured state = "not measured"
)

// judge returns the state of a target, and a text with what was reached.
func (t target) judge(r results) (state, string) {
	switch shown, enough := t.reached(r); {
	case shown == "":
		return notMeasured, fmt.Sprintf("%s: %s", t.asks, notMeasured)
	case enough:
		return met, fmt.Sprintf("%s: %s, %s", t.asks, shown, met)
	default:
		return missed, fmt.Sprintf("%s: %s, %s", t.asks, shown, missed)
	}
}

// faster requires that a contestant takes at most 1/times of the time of another.
func faster(of string, times float64, than string) target {
	return target{of, fmt.Sprintf("≥%g× as fast as %s", times, than), func(r results) (string, bool) {
		v, shown := r.ratio(than, of)
		return shown, v >= times
	}}
}

// within requires that a contestant takes at most a multiple of the time of another.
func within(of string, times float64, to string) target {
	return target{of, fmt.Sprintf("≤%g× of %s", times, to), func(r results) (string, bool) {
		v, shown := r.ratio(of, to)
		return shown, v <= times
	}}
}

// noAllocs requires that a contestant's job allocates nothing.
func noAllocs(of string) target {
	return target{of, "0 allocations", func(r results) (string, bool) {
		m, ok := r[of]
		if !ok || m.allocs < 0 {
			return "", false
		}
		return fmt.Sprintf("%.0f", m.allocs), m.allocs <= 0.5 // the runtime itself causes less than half an allocation per job
	}}
}
