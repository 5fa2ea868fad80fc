package order

import "slices"

// sort sorts candidates by priority. The order of equal ones is left to findTied.
func (o *Order) sort(list []candidate) {
	switch {
	case slices.IsSortedFunc(list, compare):
	case len(list) < radix:
		slices.SortFunc(list, compare)
	default:
		if len(o.scratch) < len(list) {
			o.scratch = make([]candidate, len(list))
		}
		radixSort(list, o.scratch[:len(list)])
	}
}

// digitBits is the number of bits that a pass of the radix sort looks at. Shorter lists than radix are sorted by
// comparison.
const (
	digitBits = 8
	radix     = 1 << digitBits
)

// radixSort sorts candidates digit by digit, the lowest first, in linear time. scratch is as long as the list.
func radixSort(list, scratch []candidate) {
	lowest, highest := list[0].priority, list[0].priority
	for _, c := range list {
		lowest, highest = min(lowest, c.priority), max(highest, c.priority)
	}
	from, to := list, scratch
	for shift := 0; (uint64(highest)-uint64(lowest))>>shift > 0; shift += digitBits {
		var starts [radix + 1]int
		at := func(c candidate) *int { return &starts[(uint64(c.priority)-uint64(lowest))>>shift%radix] }
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
