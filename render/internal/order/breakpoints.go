package order

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// breakpoint is a cache breakpoint, or finished messages with one. It is held by all that it stands in, from itself up to top: what is
// directly around it, and what is around that up to a message.
type breakpoint struct{ id, top tree.ID }

// findBreakpoints lists the breakpoints of a tree in document order.
func findBreakpoints(t *tree.Tree) (found []breakpoint) {
	if !t.Breakpoints {
		return nil
	}
	for i := range t.Nodes {
		n := tree.ID(i)
		top := n
		switch t.Nodes[n].Kind {
		case tree.Breakpoint:
			top = t.Nodes[n].Parent
		case tree.Finished:
			if !t.Extra(n).Block.Tree.Breakpoints {
				continue
			}
		default:
			continue
		}
		for up := t.Nodes[top].Parent; up != tree.None && t.Nodes[up].Kind != tree.Message; up = t.Nodes[up].Parent {
			top = up
		}
		found = append(found, breakpoint{n, top})
	}
	return found
}

// breakpointsIn returns the breakpoints that a node holds.
func (o *Order) breakpointsIn(n tree.ID) (held []tree.ID) {
	from, _ := slices.BinarySearchFunc(o.breakpoints, n, func(b breakpoint, n tree.ID) int { return cmp.Compare(b.id, n) })
	for _, b := range o.breakpoints[from:] {
		if b.id >= o.tree.Nodes[n].End {
			break
		}
		if b.top <= n && o.state.Attached(b.id, n) {
			held = append(held, b.id)
		}
	}
	return held
}

// BeforeBreakpoint reports whether a node stands before the last breakpoint that is there.
func (o *Order) BeforeBreakpoint(n tree.ID) bool {
	for _, b := range slices.Backward(o.breakpoints) {
		if b.id < n {
			return false
		}
		if o.state.Attached(b.id, tree.None) {
			return true
		}
	}
	return false
}

// looksForBreakpoints reports whether a choice among a node's children passes over what stands before a breakpoint: the node is a
// message, or stands in none.
func (o *Order) looksForBreakpoints(n tree.ID) bool {
	return len(o.breakpoints) > 0 && (o.tree.Nodes[n].Kind == tree.Message || o.tree.MessageOf(n) == tree.None)
}
