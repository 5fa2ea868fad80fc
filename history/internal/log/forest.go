package log

import (
	"cmp"
	"slices"
)

// forest says of all entries of a log which stand on the path to which. They are numbered in the order of the log, in which
// parents come before their children.
type forest struct {
	index   map[string]int // by id
	parents []int          // -1 for none
	first   []int          // the places of the entries in an order in which each is followed by all below it
	size    []int          // how many these are, with the entry
}

// add adds the next entry.
func (f *forest) add(id, parent string) {
	p := f.at(parent)
	f.index[id] = len(f.parents)
	f.parents = append(f.parents, p)
}

// at returns the number of an entry, -1 if there is none of an id.
func (f *forest) at(id string) int {
	if i, ok := f.index[id]; ok {
		return i
	}
	return -1
}

// number finds the places of the entries, once all are added.
func (f *forest) number() {
	n := len(f.parents)
	f.first, f.size = make([]int, n), make([]int, n)
	for i, p := range slices.Backward(f.parents) {
		f.size[i]++
		if p >= 0 {
			f.size[p] += f.size[i]
		}
	}
	roots, next := 0, make([]int, n) // the places of what comes next below an entry
	for i, p := range f.parents {
		place := &roots
		if p >= 0 {
			place = &next[p]
		}
		f.first[i], next[i] = *place, *place+1
		*place += f.size[i]
	}
}

// leads reports whether an entry is on the path to another, or is it.
func (f *forest) leads(from, to int) bool {
	return f.first[from] <= f.first[to] && f.first[to] < f.first[from]+f.size[from]
}

// apart returns those of a list that are not on the path to any of the others, nor these on the path to them.
func (f *forest) apart(list []said, others []string) []said {
	var all, highest []int // of the others
	for _, id := range others {
		all = append(all, f.index[id])
	}
	place := func(i, first int) int { return cmp.Compare(f.first[i], first) }
	slices.SortFunc(all, func(a, b int) int { return place(a, f.first[b]) })
	for _, i := range all {
		if n := len(highest); n == 0 || !f.leads(highest[n-1], i) {
			highest = append(highest, i)
		}
	}
	return slices.DeleteFunc(list, func(s said) bool {
		i := f.index[s.id]
		below, _ := slices.BinarySearchFunc(all, f.first[i], place)
		above, _ := slices.BinarySearchFunc(highest, f.first[i], place)
		return below < len(all) && f.leads(i, all[below]) || above > 0 && f.leads(highest[above-1], i)
	})
}
