package order

import "slices"

// sort sorts candidates in document order by their priorities.
func sort(list []candidate) {
	switch {
	case slices.IsSortedFunc(list, compare):
	case len(list) < many:
		slices.SortFunc(list, compare)
	default:
		sortMany(list)
	}
}

// digit is how many bits of a priority many candidates are sorted by at a time.
const (
	digit = 8
	many  = 1 << digit
)

// sortMany sorts candidates digit by digit, from the lowest one on, in time that grows with their number.
func sortMany(list []candidate) {
	lowest, highest := list[0].priority, list[0].priority
	for _, c := range list {
		lowest, highest = min(lowest, c.priority), max(highest, c.priority)
	}
	from, to := list, make([]candidate, len(list))
	for shift := 0; (uint64(highest)-uint64(lowest))>>shift > 0; shift += digit {
		var starts [many + 1]int
		at := func(c candidate) *int { return &starts[(uint64(c.priority)-uint64(lowest))>>shift%many] }
		for _, c := range from {
			*at(c)++
		}
		sum := 0
		for i, n := range starts {
			starts[i], sum = sum, sum+n
		}
		for _, c := range from {
			to[*at(c)] = c
			*at(c)++
		}
		from, to = to, from
	}
	copy(list, from)
}
