package order

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// breakpoint is a cache breakpoint, or finished messages with one. Its holders are the nodes from itself up to top: its
// parent and the ancestors of that, up to but not including a message.
type breakpoint struct{ id, top tree.ID }

// breakpoints lists the cache breakpoints of a tree in document order.
type breakpoints struct {
	state *tree.State
	list  []breakpoint
}

// findBreakpoints returns the breakpoints of a tree.
func findBreakpoints(s *tree.State) *breakpoints {
	t, found := s.Tree, &breakpoints{state: s}
	if !t.Breakpoints {
		return found
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
		found.list = append(found.list, breakpoint{n, top})
	}
	return found
}

// in returns the breakpoints that a node holds.
func (bs *breakpoints) in(n tree.ID) (held []tree.ID) {
	from, _ := slices.BinarySearchFunc(bs.list, n, func(b breakpoint, n tree.ID) int { return cmp.Compare(b.id, n) })
	for _, b := range bs.list[from:] {
		if b.id >= bs.state.Tree.Nodes[n].End {
			break
		}
		if b.top <= n && bs.state.Attached(b.id, n) {
			held = append(held, b.id)
		}
	}
	return held
}

// after reports whether a breakpoint that is left comes after a node.
func (bs *breakpoints) after(n tree.ID) bool {
	for _, b := range slices.Backward(bs.list) {
		if b.id < n {
			return false
		}
		if bs.state.Attached(b.id, tree.None) {
			return true
		}
	}
	return false
}

// apply reports whether a choice among a node's children passes over candidates before a breakpoint (rule 6): if the
// node is a message, or in none.
func (bs *breakpoints) apply(n tree.ID) bool {
	return len(bs.list) > 0 && (bs.state.Tree.Nodes[n].Kind == tree.Message || bs.state.Tree.MessageOf(n) == tree.None)
}
