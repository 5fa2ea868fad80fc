package main

import "fmt"

// verdict says whether a target is met, and by how much.
type verdict struct {
	Says string
	Met  bool
}

// Targets.
const (
	maxGrowth      = 1.5     // of a step's median, relative to the shortest session with a view of the same size
	grownFrom      = 1000    // messages, the shortest session whose growth is judged
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
			case r.Part != entries || r.Name != (promptree{view: view}).name() || r.Size < 2*view: // its view is not full
			case first.Size == 0:
				first = r
			case r.Size >= grownFrom:
				growth := over(r.P50, first.P50)
				is(growth <= maxGrowth, "%s: a step at %d messages takes %.2f× of that at %d (at most %.1f×)",
					r.Name, r.Size, growth, first.Size, maxGrowth)
			}
		}
	}
	for _, r := range rows {
		if r.Part == rotation && r.Name == (promptree{}).name() && r.Size >= memorySessions {
			is(r.Memory <= maxMemory, "%d sessions in rotation: the program takes %s of memory (at most %s)",
				r.Size, mega(r.Memory), mega(maxMemory))
		}
	}
	return list
}
