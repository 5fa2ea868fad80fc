package main

import (
	"math/rand/v2"

	"github.com/promptree-go/promptree/elements"
)

// treeKind is a shape of tree on which pruning must scale well.
type treeKind struct {
	name, about string
	// counts is the maximum cost of pruning trees of each size, in counts of the whole text; 0 if there is none.
	counts [3]float64
	// bytes is the maximum that is allocated for a piece; 0 if there is none.
	bytes float64
	// make builds a tree of n chunks of some ten tokens each, each of which can be pruned.
	make func(n int) elements.Node
}

var (
	flatTree = treeKind{"flat", "one message, each chunk with a priority of its own", [3]float64{1.2, 1.2, 1.8}, 150, func(n int) elements.Node {
		var m elements.UserMessage
		for i, priority := range rand.New(rand.NewPCG(1, uint64(n))).Perm(n) {
			m.Children = append(m.Children, chunk(i, new(priority)))
		}
		return m
	}}
	nestedTree = treeKind{"nested", "ten in each of ten in each of ten …, each with a priority among its siblings", [3]float64{1.6, 1.6, 1.8}, 200, func(n int) elements.Node {
		r := rand.New(rand.NewPCG(2, uint64(n)))
		next := 0
		return elements.UserMessage{Children: nest(r, n, &next)}
	}}
	equalTree = treeKind{"equal", "one message, all chunks of one priority", [3]float64{1.2, 1.2, 1.8}, 150, func(n int) elements.Node {
		var m elements.UserMessage
		priority := new(1)
		for i := range n {
			m.Children = append(m.Children, chunk(i, priority))
		}
		return m
	}}
	keepWithTree = treeKind{"keepWith", "one message, four chunks in a group, far from each other", [3]float64{4, 4}, 0, func(n int) elements.Node {
		groups := make([]*elements.Group, (n+3)/4)
		for i := range groups {
			groups[i] = &elements.Group{}
		}
		r := rand.New(rand.NewPCG(3, uint64(n)))
		var m elements.UserMessage
		for i, priority := range r.Perm(n) {
			m.Children = append(m.Children, elements.KeepWith{
				Props: elements.Props{Priority: new(priority)}, Group: groups[i%len(groups)], Children: elements.Nodes{chunk(i, nil)},
			})
		}
		return m
	}}
	legacyTree = treeKind{"legacy", "wrappers of ten chunks, whose priorities count across all", [3]float64{2.5, 2.5, 2.5}, 0, func(n int) elements.Node {
		r := rand.New(rand.NewPCG(4, uint64(n)))
		priorities := r.Perm(n)
		var l elements.LegacyPrioritization
		for i := 0; i < n; i += 10 {
			var w elements.Wrap
			for j := i; j < min(i+10, n); j++ {
				w.Children = append(w.Children, chunk(j, new(priorities[j])))
			}
			l.Children = append(l.Children, w)
		}
		return elements.UserMessage{Children: elements.Nodes{l}}
	}}
)

// chunk returns a chunk whose text differs from that of others.
func chunk(i int, priority *int) elements.TextChunk {
	return elements.TextChunk{Props: elements.Props{Priority: priority}, Children: elements.Nodes{elements.Text(words(i, 8))}}
}

// nest returns n chunks, at most ten of them siblings, counted by next.
func nest(r *rand.Rand, n int, next *int) elements.Nodes {
	var nodes elements.Nodes
	if n <= 10 {
		for _, priority := range r.Perm(n) {
			nodes = append(nodes, chunk(*next, new(priority)))
			*next++
		}
		return nodes
	}
	for i, priority := range r.Perm(10) {
		share := n*(i+1)/10 - n*i/10
		nodes = append(nodes, elements.Wrap{Props: elements.Props{Priority: new(priority)}, Children: nest(r, share, next)})
	}
	return nodes
}
