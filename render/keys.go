package render

import (
	"cmp"
	"slices"
)

// key is what candidates are sorted by first.
type key struct {
	priority int
	place    int32
}

// places are those of the keys.
func (p *pruner) places(keys []key) []int32 {
	list := p.placeSlab.take(len(keys))
	for i := range keys {
		list[i] = keys[i].place
	}
	return list
}

// digit is how many bits of a priority are sorted by at a time, many how many keys are sorted that way.
const (
	digit = 11
	many  = 1 << digit
)

// freshKeys gives room for n keys, or more. Unless they are many it is used again and again.
func (p *pruner) freshKeys(n int) []key {
	if n > many {
		return make([]key, 0, n)
	}
	p.keys = slices.Grow(p.keys[:0], n)
	return p.keys
}

// sortKeys sorts keys that are in document order by priority: many of them digit by digit from the lowest one on, in time
// that grows with their number.
func sortKeys(list []key) []key {
	byPriority := func(a, b key) int { return cmp.Compare(a.priority, b.priority) }
	switch {
	case slices.IsSortedFunc(list, byPriority):
		return list
	case len(list) < many:
		slices.SortFunc(list, func(a, b key) int { return cmp.Or(byPriority(a, b), cmp.Compare(a.place, b.place)) })
		return list
	}
	lowest, highest := list[0].priority, list[0].priority
	for i := range list {
		lowest, highest = min(lowest, list[i].priority), max(highest, list[i].priority)
	}
	other := make([]key, len(list))
	for shift := 0; (uint64(highest)-uint64(lowest))>>shift > 0; shift += digit {
		var starts [1 << digit]int
		for i := range list {
			starts[(uint64(list[i].priority)-uint64(lowest))>>shift%(1<<digit)]++
		}
		sum := 0
		for i, n := range starts {
			starts[i] = sum
			sum += n
		}
		for i := range list {
			at := &starts[(uint64(list[i].priority)-uint64(lowest))>>shift%(1<<digit)]
			other[*at] = list[i]
			*at++
		}
		list, other = other, list
	}
	return list
}
