package main

import "fmt"

// verdict says whether a target is met, and by how much.
type verdict struct {
	Says string `json:"says"`
	Met  bool   `json:"met"`
}

// Targets.
const (
	maxGrowth      = 1.5 // of a step's median, relative to the shortest session with a view of the same size
	minFaster      = 5.0 // than adk-go, at fasterAt messages
	fasterAt       = 1000
	maxMemory      = 1 << 30 // bytes, with memorySessions in rotation
	memorySessions = 10_000
)

// judge compares the results with the targets.
func judge(rows []row) (list []verdict) {
	is := func(met bool, format string, args ...any) {
		list = append(list, verdict{fmt.Sprintf(format, args...), met})
	}
	for _, view := range []int{fewRounds, manyRounds} {
		var first row
		for _, r := range rows {
			switch {
			case r.Part != entries || r.Contestant != (promptree{view: view}).name() || r.Size < 2*view: // its view is not full
			case first.Size == 0:
				first = r
			case r.Size >= fasterAt:
				growth := over(r.P50, first.P50)
				is(growth <= maxGrowth, "%s: a step at %d messages takes %.2f× of that at %d (at most %.1f×)",
					r.Contestant, r.Size, growth, first.Size, maxGrowth)
			}
		}
	}
	find := func(c contestant) (row, bool) {
		for _, r := range rows {
			if r.Part == entries && r.Contestant == c.name() && r.Size == fasterAt {
				return r, true
			}
		}
		return row{}, false
	}
	for _, view := range []int{fewRounds, manyRounds} {
		ours, ok := find(promptree{view: view})
		if theirs, both := find(adk{}); ok && both {
			faster := over(theirs.P50, ours.P50)
			is(faster >= minFaster, "%s: a step at %d messages takes %s %.1f× as long (at least %.0f×)",
				ours.Contestant, fasterAt, theirs.Contestant, faster, minFaster)
		}
	}
	for _, r := range rows {
		if r.Part == rotation && r.Contestant == (promptree{}).name() && r.Size >= memorySessions {
			is(r.Memory <= maxMemory, "%d sessions in rotation: the program takes %s of memory (at most %s)",
				r.Size, mega(r.Memory), mega(maxMemory))
		}
	}
	return list
}
