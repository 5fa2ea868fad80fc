package main

import "fmt"

// verdict says whether a target is met, and by how much.
type verdict struct {
	Says string `json:"says"`
	Met  bool   `json:"met"`
}

// Targets.
const (
	mostGrowth   = 1.5 // of a step's median, relative to the shortest session with a view of the same size
	leastFaster  = 5.0 // than adk-go, at fasterAt messages
	fasterAt     = 1000
	mostMemory   = 1 << 30 // bytes, with mostSessions in rotation
	mostSessions = 10_000
)

// judge compares what was measured with the targets.
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
				is(growth <= mostGrowth, "%s: a step at %d messages takes %.2f× of that at %d (at most %.1f×)", r.Contestant, r.Size, growth, first.Size, mostGrowth)
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
			is(faster >= leastFaster, "%s: a step at %d messages takes %s %.1f× as long (at least %.0f×)", ours.Contestant, fasterAt, theirs.Contestant, faster, leastFaster)
		}
	}
	for _, r := range rows {
		if r.Part == rotation && r.Contestant == (promptree{}).name() && r.Size >= mostSessions {
			is(r.Memory <= mostMemory, "%d sessions in rotation: the program has %s of memory at the most (at most %s)", r.Size, mega(r.Memory), mega(mostMemory))
		}
	}
	return list
}
