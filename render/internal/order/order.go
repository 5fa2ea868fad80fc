// Package order says which piece of a prompt goes next, and what goes with it: the rules of pruning, which package render documents.
package order

import (
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Order takes pieces out of a tree, one choice after the other.
type Order struct {
	// Strict keeps together what must stay together, which prompt-tsx does not always.
	Strict bool
	// SingleTexts has the text of an element of one text chosen, and not the element.
	SingleTexts bool

	tree        *tree.Tree
	state       *tree.State
	breakpoints *breakpoints
	required    []keeping // by node, nil if nothing is required
	groups      *groups
	choices     []*choice             // by node, among what stands in it
	ranked      map[tree.ID][]tree.ID // a node's children, the one with the lowest priority first; of those that went maybe some
}

// New returns the order of a tree. What is required in it stays.
func New(s *tree.State, strict bool) *Order {
	o := &Order{
		Strict: strict, tree: s.Tree, state: s, breakpoints: findBreakpoints(s),
		choices: make([]*choice, len(s.Tree.Nodes)), ranked: map[tree.ID][]tree.ID{},
	}
	if s.Tree.Required {
		o.Lock(false)
	}
	return o
}

// Choose returns what goes next from a container, and why; or, with the node None, in which node there is nothing that may go.
func (o *Order) Choose(container tree.ID) (n tree.ID, why tree.Cause, stuck tree.ID) {
	for n := container; ; {
		next := o.next(n)
		if next == tree.None {
			return tree.None, 0, n
		}
		if o.tree.Nodes[n].Is(tree.Legacy) {
			next = o.wholeOf(next, n)
		}
		node := &o.tree.Nodes[next]
		switch {
		case node.Leaf(), node.Is(tree.OneText) && !o.Held(next) && !o.SingleTexts, o.state.Left(next) == 0:
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
	o.state.Now++
	o.remove(n, why)
}

// remove takes a node out, and with it what has no reason to stay without it: what its groups hold, and what it leaves empty.
func (o *Order) remove(n tree.ID, why tree.Cause) {
	parent := o.tree.Nodes[n].Parent
	if parent == tree.None || !o.state.There(n) {
		return
	}
	chunk := o.chunkAround(n)
	o.state.TakeOut(n, why)
	if o.tree.Grouped > 0 {
		o.removeGroups(n)
	}
	if o.state.Blank(parent) && !o.Held(parent) { // what is held keeps its white space
		o.remove(parent, tree.ByEmptiness)
	}
	if chunk != tree.None && !o.Held(chunk) {
		o.remove(chunk, tree.ByChunk)
	}
}

// Rewind makes the tree what it was after a step. It returns what is there again, valid until something goes.
func (o *Order) Rewind(to tree.Step) []tree.Change {
	back := o.state.Rewind(to)
	before := tree.None
	for _, c := range back {
		n := o.tree.Nodes[c.Node].Parent
		if n == before {
			continue
		}
		for before = n; n != tree.None; n = o.tree.Nodes[n].Parent {
			o.choices[n] = nil
			delete(o.ranked, n)
			if o.required != nil {
				o.required[n].shrinks = 0
			}
		}
	}
	return back
}

// BeforeBreakpoint reports whether a node stands before the last cache breakpoint that is there.
func (o *Order) BeforeBreakpoint(n tree.ID) bool { return o.breakpoints.after(n) }

// WentWithChunk reports whether a container went with the chunk that it stands in. In prompt-tsx pruning goes on in one that is gone.
func (o *Order) WentWithChunk(container tree.ID) bool {
	return o.Strict && o.tree.OuterChunks && !o.state.Attached(container, tree.None)
}

// holdsMessage reports whether n is a message or a tool, or one is left in it.
func (o *Order) holdsMessage(n tree.ID) bool {
	if k := o.tree.Nodes[n].Kind; k == tree.Message || k == tree.Finished || k == tree.Tool {
		return true
	}
	for c := range o.state.At(tree.Latest).Children(n) {
		if o.holdsMessage(c) {
			return true
		}
	}
	return false
}

// wholeOf returns the outermost chunk in a legacy element in which a piece of it stands, or the piece.
func (o *Order) wholeOf(piece, legacy tree.ID) tree.ID {
	if o.Strict && o.tree.OuterChunks {
		for up := o.tree.Nodes[piece].Parent; up != legacy; up = o.tree.Nodes[up].Parent {
			if o.tree.Nodes[up].Is(tree.Chunk) {
				piece = up
			}
		}
	}
	return piece
}

// chunkAround returns the outermost chunk around what is or holds messages or tools, None if there is none.
func (o *Order) chunkAround(n tree.ID) (chunk tree.ID) {
	if !o.Strict || !o.tree.OuterChunks || !o.holdsMessage(n) {
		return tree.None
	}
	chunk = tree.None
	for up := o.tree.Nodes[n].Parent; up != tree.None; up = o.tree.Nodes[up].Parent {
		switch {
		case o.tree.Nodes[up].Kind == tree.Message:
			return tree.None
		case o.tree.Nodes[up].Is(tree.Chunk):
			chunk = up
		}
	}
	return chunk
}
