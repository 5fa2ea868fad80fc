package render

import (
	"cmp"
	"slices"
)

// digit is how many bits of a priority are sorted by at a time, many how many places are sorted that way.
const (
	digit = 11
	many  = 1 << digit
)

// noPriorities gives room for n priorities. Unless they are many it is used again and again.
func (p *pruner) noPriorities(n int) []int {
	if n > many {
		return make([]int, 0, n)
	}
	p.priorities = slices.Grow(p.priorities[:0], n)
	return p.priorities
}

// sortPlaces sorts places in document order by the priorities there: many of them digit by digit from the lowest one on, in
// time that grows with their number.
func sortPlaces(list []int32, priorities []int) []int32 {
	byPriority := func(a, b int32) int { return cmp.Compare(priorities[a], priorities[b]) }
	switch {
	case slices.IsSortedFunc(list, byPriority):
		return list
	case len(list) < many:
		slices.SortFunc(list, func(a, b int32) int { return cmp.Or(byPriority(a, b), cmp.Compare(a, b)) })
		return list
	}
	lowest, highest := priorities[list[0]], priorities[list[0]]
	for _, place := range list {
		lowest, highest = min(lowest, priorities[place]), max(highest, priorities[place])
	}
	other := make([]int32, len(list))
	for shift := 0; (uint64(highest)-uint64(lowest))>>shift > 0; shift += digit {
		var starts [many]int
		for _, place := range list {
			starts[(uint64(priorities[place])-uint64(lowest))>>shift%many]++
		}
		sum := 0
		for i, n := range starts {
			starts[i] = sum
			sum += n
		}
		for _, place := range list {
			at := &starts[(uint64(priorities[place])-uint64(lowest))>>shift%many]
			other[*at] = place
			*at++
		}
		list, other = other, list
	}
	return list
}
