package order

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// breakpoint is a cache breakpoint, or finished messages with one. Its holders are the nodes from itself up to top: its
// parent and the ancestors of that, up to but not including a message.
type breakpoint struct{ id, top tree.ID }

// findBreakpoints returns the cache breakpoints of a tree in document order.
func findBreakpoints(t *tree.Tree) (list []breakpoint) {
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
		list = append(list, breakpoint{n, top})
	}
	return list
}

// breakpointsIn returns the breakpoints that a node holds.
func (o *Order) breakpointsIn(n tree.ID) (held []tree.ID) {
	from, _ := slices.BinarySearchFunc(o.breakpoints, n, func(b breakpoint, n tree.ID) int { return cmp.Compare(b.id, n) })
	for _, b := range o.breakpoints[from:] {
		if b.id >= o.state.Tree.Nodes[n].End {
			break
		}
		if b.top <= n && o.state.Attached(b.id, n) {
			held = append(held, b.id)
		}
	}
	return held
}

// endOfPrefix returns the first node after what the last breakpoint that is left in a container holds: the one after the
// breakpoint, or its message if nothing comes before it in that. Without a breakpoint it is the first in the container.
func (o *Order) endOfPrefix(container tree.ID) (end tree.ID) {
	for _, b := range slices.Backward(o.breakpoints) {
		if b.id <= container || b.id >= o.tree.Nodes[container].End || !o.state.Attached(b.id, tree.None) {
			continue
		}
		message := o.tree.MessageOf(b.id)
		for c := range o.state.At(tree.Latest).Children(max(message, container)) {
			if message == tree.None || c < b.id && !o.state.Blank(c) {
				return b.id + 1
			}
		}
		return message
	}
	return container + 1
}

// passesOver reports whether a choice among a node's children passes over candidates before a breakpoint, as prompt-tsx
// does: if the node is a message, or in none.
func (o *Order) passesOver(n tree.ID) bool {
	return !o.Strict && len(o.breakpoints) > 0 && (o.tree.Nodes[n].Kind == tree.Message || o.tree.MessageOf(n) == tree.None)
}

// Hold requires what a provider may have cached of a container, until Release: everything before its last cache
// breakpoint, and all tools, which are sent first. So that this does not cost the question, it requires the last message
// too. It returns the first node after what it holds, or reports false, and does nothing, if the container has no
// breakpoint with something before it that may be removed.
func (o *Order) Hold(container tree.ID) (end tree.ID, held bool) {
	if !o.Strict || len(o.breakpoints) == 0 {
		return tree.None, false
	}
	if end = o.endOfPrefix(container); !o.mayLose(container, end) {
		return tree.None, false
	}
	o.released = o.required
	o.lock(&prefix{container, end, o.lastMessage(container)})
	return end, true
}

// mayLose reports whether a piece in a container before end, or a tool, may be removed.
func (o *Order) mayLose(container, end tree.ID) bool {
	for n := container + 1; n < o.tree.Nodes[container].End; n++ {
		node := &o.tree.Nodes[n]
		piece := node.Kind == tree.Tool || n < end && node.Leaf() && node.Kind != tree.Breakpoint
		if piece && end > container+1 && !o.Locked(n) && o.state.Attached(n, tree.None) {
			return true
		}
	}
	return false
}

// Release ends Hold.
func (o *Order) Release() {
	o.required, o.released = o.released, nil
	clear(o.choices)
}

// lastMessage returns the last message of a container that is sent, None if there is none.
func (o *Order) lastMessage(container tree.ID) tree.ID {
	for n := o.tree.Nodes[container].End - 1; n > container; n-- {
		if k := o.tree.Nodes[n].Kind; (k == tree.Message || k == tree.Finished) && o.state.Attached(n, tree.None) && !o.state.Blank(n) {
			return n
		}
	}
	return tree.None
}

// prefix says what is required besides, while a breakpoint is held: in a container, all before end and a message.
type prefix struct{ container, end, message tree.ID }

// holds reports whether a node is held with everything in it.
func (p *prefix) holds(t *tree.Tree, n tree.ID) bool {
	if p == nil || n <= p.container || n >= t.Nodes[p.container].End {
		return false
	}
	return t.Nodes[n].End <= p.end || n == p.message || t.Nodes[n].Kind == tree.Tool
}
