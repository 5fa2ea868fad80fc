package main

import "fmt"

// target is a requirement for a contestant.
type target struct {
	// of is the contestant in whose row the target is shown.
	of string
	// asks describes the target.
	asks string
	// value returns what was reached, as a number and as text, and false if it could not be measured.
	value func(r results) (value float64, shown string, ok bool)
	// bound is the maximum of the value, or the minimum if least is set.
	bound float64
	least bool
}

// verdict on a target.
type verdict struct {
	asks string
	// shown is the value that was reached.
	shown string
	state state
}

func (v verdict) text() string {
	if v.shown == "" {
		return fmt.Sprintf("%s: %s", v.asks, v.state)
	}
	return fmt.Sprintf("%s: %s, %s", v.asks, v.shown, v.state)
}

// state of a target.
type state string

const (
	met         state = "met"
	missed      state = "missed"
	notMeasured state = "not measured"
)

func (t target) judge(r results) verdict {
	value, shown, ok := t.value(r)
	switch {
	case !ok:
		return verdict{t.asks, "", notMeasured}
	case t.least && value >= t.bound || !t.least && value <= t.bound:
		return verdict{t.asks, shown, met}
	}
	return verdict{t.asks, shown, missed}
}

// faster requires that a contestant takes at most 1/times of the time of another.
func faster(of string, times float64, than string) target {
	return target{
		of: of, asks: fmt.Sprintf("≥%g× as fast as %s", times, than), bound: times, least: true,
		value: func(r results) (float64, string, bool) {
			v, ok := r.ratio(than, of)
			return v, factor(v), ok
		},
	}
}

// within requires that a contestant takes at most a multiple of the time of another.
func within(of string, times float64, to string) target {
	return target{
		of: of, asks: fmt.Sprintf("≤%g× of %s", times, to), bound: times,
		value: func(r results) (float64, string, bool) {
			v, ok := r.ratio(of, to)
			return v, factor(v), ok
		},
	}
}

// noAllocs requires that a contestant's job allocates nothing.
func noAllocs(of string) target {
	return target{
		of: of, asks: "0 allocations",
		value: func(r results) (float64, string, bool) {
			m, ok := r[of]
			// The runtime itself causes less than half an allocation per job.
			return max(0, m.allocs-0.5), fmt.Sprintf("%.0f", m.allocs), ok && m.allocs >= 0
		},
	}
}
