// Package order is the stage of the render engine that decides what is removed: the rules of pruning, which the page of
// package render lists by number.
//
// Its input is a [tree.State]. [Order.Choose] returns the next piece to remove from a container, and [Order.Remove]
// removes it from the state, as one step, with everything that must not stay without it: groups, linked calls, chunks,
// and elements that become empty. [Order.Rewind] undoes steps. The package never counts tokens.
//
// The invariants:
//
//   - What is removed next depends only on the tree that is left, so removing, rewinding and removing again gives the
//     same tree.
//   - A locked node is never removed, and neither is an element that holds one.
//   - A choice is built once per node and kept until something in the node comes back. After a removal, only the head
//     of each choice on the way down to the next piece is looked at again.
package order

import (
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Order removes pieces from a tree, one step after the other.
type Order struct {
	// Strict keeps chunks whole and calls with their groups where prompt-tsx does not.
	Strict bool

	tree        *tree.Tree
	state       *tree.State
	breakpoints []breakpoint  // in document order
	required    []requirement // by node, nil if nothing is required
	released    []requirement // what is required without the breakpoints that are held
	unranked    bool          // pieces that are not offered are required
	groups      *groups
	choices     []choice              // by the index of a node that is not a text
	scratch     []candidate           // for sorting
	ranked      map[tree.ID][]tree.ID // a node's children by priority, the lowest first; some may have been removed
}

// New returns the order of a tree. Its required pieces are locked.
func New(s *tree.State, strict bool) *Order {
	o := &Order{
		Strict: strict, tree: s.Tree, state: s, breakpoints: findBreakpoints(s.Tree),
		choices: make([]choice, s.Tree.Others), ranked: map[tree.ID][]tree.ID{},
	}
	if s.Tree.Required {
		o.Lock(false)
	}
	return o
}

// Choose returns the node to remove next from a container, and the cause. If there is none, n is None, and stuck is the
// node in which nothing may be removed.
func (o *Order) Choose(container tree.ID) (n tree.ID, why tree.Cause, stuck tree.ID) {
	for n := container; ; {
		next := o.next(n)
		if next == tree.None {
			if o.Strict && n != container && o.state.Blank(n) && !o.Held(n) { // only breakpoints are left in it
				return n, tree.ByPriority, tree.None
			}
			return tree.None, 0, n
		}
		if o.tree.Nodes[n].Is(tree.Legacy) {
			next = o.chunkOr(next, n)
		}
		node := &o.tree.Nodes[next]
		switch {
		case node.Leaf(), node.Is(tree.OneText) && !o.Held(next), o.state.Left(next) == 0:
			// An element that holds only one text is empty without it, so it is removed whole.
			return next, tree.ByPriority, tree.None
		case node.Is(tree.Chunk):
			return next, tree.ByChunk, tree.None
		}
		n = next
	}
}

// Remove removes a node, with everything that must not stay without it, as a step of its own.
func (o *Order) Remove(n tree.ID, why tree.Cause) {
	o.state.Now++
	o.cascade(n, why)
}

// cascade removes a node in the current step, then its groups, its parent if that is empty now, and the chunk around
// it.
func (o *Order) cascade(n tree.ID, why tree.Cause) {
	parent := o.tree.Nodes[n].Parent
	if parent == tree.None || !o.state.Present(n) {
		return
	}
	chunk := o.chunkAround(n)
	o.state.Remove(n, why)
	if o.tree.Grouped > 0 {
		o.removeGroups(n)
	}
	if o.state.Blank(parent) && !o.Held(parent) { // a held parent keeps its white space
		o.cascade(parent, tree.ByEmptiness)
	}
	if chunk != tree.None && !o.Held(chunk) {
		o.cascade(chunk, tree.ByChunk)
	}
}

// Rewind undoes all removals after a step. It returns them; the slice is valid until the next removal.
func (o *Order) Rewind(to tree.Step) []tree.Change {
	back := o.state.Rewind(to)
	before := tree.None
	for _, c := range back {
		n := o.tree.Nodes[c.Node].Parent
		if n == before {
			continue
		}
		for before = n; n != tree.None; n = o.tree.Nodes[n].Parent {
			o.rewind(o.choice(n))
			delete(o.ranked, n)
			if o.required != nil {
				o.required[n].firstShrinkable = 0
			}
		}
	}
	return back
}

// RemovedWithChunk reports whether a container was removed with the chunk around it. prompt-tsx continues to prune in a
// removed container, so if Strict is not set it is always false.
func (o *Order) RemovedWithChunk(container tree.ID) bool {
	return o.Strict && o.tree.OuterChunks && !o.state.Attached(container, tree.None)
}

// holdsMessage reports whether n is, or still holds, a message or a tool.
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

// chunkOr returns the outermost chunk in a legacy element that contains a piece, or the piece if there is none.
func (o *Order) chunkOr(piece, legacy tree.ID) tree.ID {
	if o.Strict && o.tree.OuterChunks {
		for up := o.tree.Nodes[piece].Parent; up != legacy; up = o.tree.Nodes[up].Parent {
			if o.tree.Nodes[up].Is(tree.Chunk) {
				piece = up
			}
		}
	}
	return piece
}

// chunkAround returns the outermost chunk around a node that is or holds a message or a tool (rule 10), None if there
// is none.
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
