// Package treetest makes trees of chunks on which pruning must scale well, and the texts in them.
package treetest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/promptree-go/promptree/elements"
)

// Shape is a shape of tree.
type Shape struct {
	Name string
	// Counts is the target of what pruning trees of 1,000, 10,000 and 100,000 chunks to a tenth costs, in counts of their
	// whole text; 0 if there is none.
	Counts [3]float64
	// Bytes is the target of what is allocated for a chunk; 0 if there is none.
	Bytes float64
	// Make returns a tree of n chunks of some ten tokens each, each of which can be pruned.
	Make func(n int) elements.Node
}

// Shapes returns all shapes: Flat, and
//
//   - nested: ten in each of ten in each of ten …, each with a priority among its siblings
//   - equal: one message, all chunks of one priority
//   - keepWith: one message, four chunks in a group, far from each other
//   - legacy: wrappers of ten chunks, whose priorities count across all
func Shapes() []Shape {
	return []Shape{
		{"flat", [3]float64{1.2, 1.2, 1.8}, 150, Flat}, {"nested", [3]float64{1.6, 1.6, 1.8}, 200, nested}, {"equal", [3]float64{1.2, 1.2, 1.8}, 150, equal},
		{"keepWith", [3]float64{4, 4, 0}, 0, keepWith}, {"legacy", [3]float64{2.5, 2.5, 2.5}, 0, legacy},
	}
}

// Flat returns a message of n chunks, each with a priority of its own.
func Flat(n int) elements.Node {
	var m elements.UserMessage
	for i, priority := range rand.New(rand.NewPCG(1, uint64(n))).Perm(n) {
		m.Children = append(m.Children, chunk(i, new(priority)))
	}
	return m
}

func nested(n int) elements.Node {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	next := 0
	return elements.UserMessage{Children: nest(r, n, &next)}
}

func equal(n int) elements.Node {
	var m elements.UserMessage
	priority := new(1)
	for i := range n {
		m.Children = append(m.Children, chunk(i, priority))
	}
	return m
}

func keepWith(n int) elements.Node {
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
}

func legacy(n int) elements.Node {
	priorities := rand.New(rand.NewPCG(4, uint64(n))).Perm(n)
	var l elements.LegacyPrioritization
	for i := 0; i < n; i += 10 {
		var w elements.Wrap
		for j := i; j < min(i+10, n); j++ {
			w.Children = append(w.Children, chunk(j, new(priorities[j])))
		}
		l.Children = append(l.Children, w)
	}
	return elements.UserMessage{Children: elements.Nodes{l}}
}

// chunk returns a chunk whose text differs from that of others.
func chunk(i int, priority *int) elements.TextChunk {
	return elements.TextChunk{Props: elements.Props{Priority: priority}, Children: elements.Nodes{elements.Text(Words(i, 8))}}
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

// vocabulary of generated text: plain words, most of them one token.
var vocabulary = strings.Fields(`
	the a this that each every no some one another first last new old small large fast slow empty full left right open
	piece message prompt budget token tree branch leaf root window answer question result error call tool file line word
	text number list table cache memory layout summary history session round turn cut limit group priority render prune
	count keep drop take give find read write move join split grow fit show hide start stop wait build test check change
	is was will can must may should and or but so then because while where when how why who what with without before
	after between under over into from for of on in at by as not only also again never always soon late here there now
`)

// Words returns a text of n words. Texts of different seeds differ, because each begins with its seed.
func Words(seed, n int) string {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	var text strings.Builder
	fmt.Fprintf(&text, "%d:", seed)
	for range n {
		text.WriteString(" " + vocabulary[r.IntN(len(vocabulary))])
	}
	return text.String()
}
