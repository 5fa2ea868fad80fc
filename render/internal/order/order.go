// Package order says which piece of a prompt goes next, and what goes with it: the rules of pruning, which package render documents.
package order

import (
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Order takes pieces out of a tree, one choice after the other.
type Order struct {
	*tree.State
	// Strict keeps together what must stay together, which prompt-tsx does not always.
	Strict bool
	// SingleTexts has the text of an element of one text chosen, and not the element.
	SingleTexts bool

	required *required
	groups   *groups
	choices  map[tree.ID]*choice // among what stands in a node
	ranks    map[tree.ID]*ranks  // of a node's children
	chooser  tree.ID             // in which the last choice was made
}

// New returns the order of a tree. What is required in it stays.
func New(s *tree.State, strict bool) *Order {
	o := &Order{State: s, Strict: strict, choices: map[tree.ID]*choice{}, ranks: map[tree.ID]*ranks{}}
	if s.Required {
		o.Lock(false)
	}
	return o
}

// Choose returns what goes next from a container, and why; or, with the node None, in which node there is nothing that may go.
func (o *Order) Choose(container tree.ID) (n tree.ID, why tree.Cause, stuck tree.ID) {
	for n := container; ; {
		var next tree.ID
		o.chooser = n
		if o.Nodes[n].Is(tree.Legacy) {
			next = o.wholeOf(o.lowestPiece(n), n)
		} else {
			next = o.lowestChild(n)
		}
		if next == tree.None {
			return tree.None, 0, n
		}
		node := &o.Nodes[next]
		switch {
		case node.Leaf(), node.Is(tree.OneText) && !o.Held(next) && !o.SingleTexts, o.Left(next) == 0:
			// An element of one text is empty without it, and goes with it.
			return next, tree.ByPriority, tree.None
		case node.Is(tree.Chunk):
			return next, tree.ByChunk, tree.None
		}
		n = next
	}
}

// Take takes a node out as a step of its own.
func (o *Order) Take(n tree.ID, why tree.Cause) {
	o.Now++
	o.Remove(n, why)
}

// Remove takes a node out, and with it what has no reason to stay without it: what its groups hold, and what it leaves empty.
func (o *Order) Remove(n tree.ID, why tree.Cause) {
	parent := o.Nodes[n].Parent
	if parent == tree.None || !o.There(n) {
		return
	}
	chunk := o.chunkAround(n)
	o.State.TakeOut(n, why)
	if r := o.ranks[parent]; r != nil {
		r.lose(o.State, parent, n)
	}
	if o.Grouped > 0 {
		o.removeGroups(n)
	}
	if o.Blank(parent) && !o.Held(parent) { // what is held keeps its white space
		o.Remove(parent, tree.ByEmptiness)
	}
	if chunk != tree.None && !o.Held(chunk) {
		o.Remove(chunk, tree.ByChunk)
	}
}

// Rewind makes the tree what it was after a step.
func (o *Order) Rewind(to tree.Step) {
	before := tree.None
	for i := len(o.Log) - 1; i >= 0 && o.LogStep(i) > to; i-- {
		n := o.Nodes[o.Log[i].Node].Parent
		if n == before {
			continue
		}
		for before = n; n != tree.None; n = o.Nodes[n].Parent {
			delete(o.choices, n)
			delete(o.ranks, n)
			o.required.forget(n)
		}
	}
	o.State.Rewind(to)
}

// Run takes out texts that come next where the last choice was made, each as a step of its own, as long as one takes nothing
// along, until they had so many bytes. It takes no more than Take of what Choose returns would, but is soon done with very many. It returns the
// bytes.
func (o *Order) Run(container tree.ID, bytes int) (taken int) {
	n := o.chooser
	c := o.choices[n]
	if o.Grouped > 0 || o.Strict && o.OuterChunks && o.Nodes[n].Is(tree.Legacy) || !o.There(n) || c == nil ||
		len(c.risen) > 0 || len(c.holders) > 0 || !o.sole(n, container) {
		return 0
	}
	for len(c.sorted) > 0 && taken < bytes {
		piece := c.sorted[0].id
		node := &o.Nodes[piece]
		if o.There(piece) && (node.Kind != tree.Text || o.Locked(piece) || o.ranks[node.Parent] != nil || !o.SolidWithout(node.Parent, piece)) {
			break
		}
		c.sorted = c.sorted[1:]
		if o.There(piece) {
			o.Now++
			o.State.TakeOut(piece, tree.ByPriority)
			taken += len(node.Text)
		}
	}
	return taken
}

// sole reports whether n is what is chosen in a container, whatever goes in it, until it is gone itself.
func (o *Order) sole(n, container tree.ID) bool {
	for ; n != container; n = o.Nodes[n].Parent {
		around := o.Nodes[n].Parent
		if around == tree.None || o.choices[around] == nil {
			return false
		}
		if next, ok := o.choices[around].peek(); !ok || next.id != n || next.tied {
			return false
		}
	}
	return true
}

// WentWithChunk reports whether a container went with the chunk that it stands in. In prompt-tsx pruning goes on in one that is gone.
func (o *Order) WentWithChunk(container tree.ID) bool {
	return o.Strict && o.OuterChunks && !o.Attached(container, tree.None)
}

// holdsMessage reports whether n is a message or one is left in it.
func (o *Order) holdsMessage(n tree.ID) bool {
	if k := o.Nodes[n].Kind; k == tree.Message || k == tree.Finished {
		return true
	}
	for c := o.First(n); c != tree.None; c = o.Next(c) {
		if o.holdsMessage(c) {
			return true
		}
	}
	return false
}

// wholeOf returns the outermost chunk in a legacy element in which a piece of it stands, or the piece.
func (o *Order) wholeOf(piece, legacy tree.ID) tree.ID {
	if o.Strict && o.OuterChunks && piece != tree.None {
		for up := o.Nodes[piece].Parent; up != legacy; up = o.Nodes[up].Parent {
			if o.Nodes[up].Is(tree.Chunk) {
				piece = up
			}
		}
	}
	return piece
}

// chunkAround returns the outermost chunk around what is or holds messages, None if there is none.
func (o *Order) chunkAround(n tree.ID) (chunk tree.ID) {
	if !o.Strict || !o.OuterChunks || o.Nodes[n].Leaf() && o.Nodes[n].Kind != tree.Finished || !o.holdsMessage(n) {
		return tree.None
	}
	chunk = tree.None
	for up := o.Nodes[n].Parent; up != tree.None; up = o.Nodes[up].Parent {
		switch {
		case o.Nodes[up].Kind == tree.Message:
			return tree.None
		case o.Nodes[up].Is(tree.Chunk):
			chunk = up
		}
	}
	return chunk
}
