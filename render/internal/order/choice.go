package order

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// choice holds the candidates in a node: its children, or in a legacy element all pieces. It is built when it is first
// needed. After that, candidates are removed, and the lowest priority in those that stay may rise but never falls. So a
// candidate is looked at again only when it is about to be chosen.
type choice struct {
	list []candidate // by priority
	// list[first:last] are tied: the candidates of the lowest priority that are left. They are sorted if fixed is set,
	// else a heap. Those before end are not candidates any more, or tied.
	first, last, end int32
	fixed            bool
	built            bool
	legacy           bool      // among equal priorities the first is chosen
	steady           bool      // what is in list does not depend on what is left
	blocked          []blocked // candidates before breakpoints, in document order: passed over until the breakpoint is removed
}

// blocked holds the candidates between a breakpoint and the previous one.
type blocked struct {
	breakpoint tree.ID
	candidates []candidate
}

// candidate is a node that may be removed next, or from which something may.
type candidate struct {
	priority int // while it is tied, the lowest among its children, see lowestChild
	id       tree.ID
}

func compare(a, b candidate) int {
	if a.priority != b.priority {
		return cmp.Compare(a.priority, b.priority)
	}
	return cmp.Compare(a.id, b.id)
}

// choice returns the choice in a node.
func (o *Order) choice(n tree.ID) *choice { return &o.choices[o.tree.Nodes[n].Index] }

// next returns the candidate in a node that is chosen next, None if nothing in the node may be removed.
func (o *Order) next(n tree.ID) tree.ID {
	c := o.choice(n)
	if !c.built {
		o.build(c, n)
	}
	c.unblock(o, n)
	for c.findTied(o) {
		next := &c.list[c.first]
		if !o.state.Attached(next.id, n) || o.Held(next.id) && !o.mayShrink(next.id) {
			c.pass()
			continue
		}
		if c.last-c.first > 1 && !c.fixed {
			if lowest := o.lowestChild(next.id); lowest != next.priority {
				next.priority = lowest
				c.tied().sink(0)
				continue
			}
		}
		return next.id
	}
	return tree.None
}

// tied returns the candidates of the lowest priority.
func (c *choice) tied() heap { return heap(c.list[c.first:c.last]) }

// pass passes over the first candidate.
func (c *choice) pass() {
	if c.fixed {
		c.first++
		return
	}
	c.last--
	c.list[c.first], c.list[c.last] = c.list[c.last], c.list[c.first]
	if c.first < c.last {
		c.tied().sink(0)
	}
}

// untie restores the priorities of the candidates that were tied, and sorts all of a list.
func (o *Order) untie(tied, list []candidate) {
	for i := range tied {
		tied[i].priority = o.tree.Nodes[tied[i].id].Priority
	}
	o.sort(list)
}

// unblock admits the candidates before breakpoints that have been removed.
func (c *choice) unblock(o *Order, n tree.ID) {
	for last := len(c.blocked) - 1; last >= 0 && !o.state.Attached(c.blocked[last].breakpoint, n); last-- {
		c.list = slices.Concat(c.tied(), c.list[c.end:], c.blocked[last].candidates)
		o.untie(c.list[:c.last-c.first], c.list)
		c.first, c.last, c.end, c.blocked = 0, 0, 0, c.blocked[:last]
	}
}

// rewind makes all candidates of a choice candidates again, because something in its node came back.
func (o *Order) rewind(c *choice) {
	if !c.steady {
		c.built = false
	} else if c.end > 0 {
		o.untie(c.list[:c.end], c.list)
		c.first, c.last, c.end = 0, 0, 0
	}
}

// findTied makes the candidates of the lowest priority the tied ones, if there are none. It reports whether there are
// candidates.
func (c *choice) findTied(o *Order) bool {
	if c.first < c.last {
		return true
	}
	rest := c.list[c.end:]
	if len(rest) == 0 {
		return false
	}
	n := 1
	for n < len(rest) && rest[n].priority == rest[0].priority {
		n++
	}
	c.first, c.last, c.end, c.fixed = c.end, c.end+int32(n), c.end+int32(n), true
	if n == 1 {
		return true
	}
	tied := c.tied()
	for i := range tied {
		if !c.legacy {
			tied[i].priority = o.lowestChild(tied[i].id)
			c.fixed = c.fixed && o.tree.Nodes[tied[i].id].Leaf()
		}
	}
	if c.fixed {
		slices.SortFunc(tied, compare)
	} else {
		tied.order()
	}
	return true
}

// heap is a binary min-heap of candidates: the children of i are at 2i+1 and 2i+2.
type heap []candidate

// order makes it a heap.
func (h heap) order() {
	for i := range slices.Backward(h) {
		h.sink(i)
	}
}

// sink moves a candidate down to its place.
func (h heap) sink(i int) {
	moved := h[i]
	for child := 2*i + 1; child < len(h); child = 2*i + 1 {
		if child+1 < len(h) && compare(h[child+1], h[child]) < 0 {
			child++
		}
		if compare(h[child], moved) >= 0 {
			break
		}
		h[i], i = h[child], child
	}
	h[i] = moved
}

// build finds and sorts the candidates in a node.
func (o *Order) build(c *choice, n tree.ID) {
	if *c = (choice{list: c.list[:0], built: true, steady: true, legacy: o.tree.Nodes[n].Is(tree.Legacy)}); c.legacy {
		c.list = slices.Grow(c.list, int(o.tree.Nodes[n].End-n))
		o.pieces(c, n)
	} else {
		c.list = slices.Grow(c.list, o.state.Left(n))
		c.steady = o.required == nil && !o.passesOver(n)
		o.children(c, n, n)
	}
	o.sort(c.list)
}

// children adds the children of a node in n to the choice of n. A child that passes its priority on is replaced by its
// own children.
func (o *Order) children(c *choice, n, in tree.ID) {
	atBreakpoints := o.passesOver(n)
	for child := in + 1; child < o.tree.Nodes[in].End; child = o.tree.Nodes[child].End {
		node := &o.tree.Nodes[child]
		if node.Is(tree.PassesPriority) {
			c.steady = false
		}
		if !c.steady && !o.state.Present(child) {
			continue
		}
		if atBreakpoints {
			for _, b := range o.breakpointsIn(child) {
				c.blocked = append(c.blocked, blocked{b, slices.Clone(c.list)})
				c.list = c.list[:0]
			}
		}
		switch {
		case node.Kind == tree.Breakpoint && (o.Strict || atBreakpoints), o.Held(child) && !o.mayShrink(child):
		case o.passes(child):
			o.children(c, n, child)
		default:
			c.list = append(c.list, candidate{node.Priority, child})
		}
	}
}

// passes reports whether a node's children compete in its place.
func (o *Order) passes(n tree.ID) bool {
	return o.tree.Nodes[n].Is(tree.PassesPriority) && o.state.Left(n) > 0
}

// pieces adds all pieces in a node, at whatever depth, to its choice.
func (o *Order) pieces(c *choice, n tree.ID) {
	for p := n + 1; p < o.tree.Nodes[n].End; p++ {
		if node := &o.tree.Nodes[p]; node.Leaf() && !o.Locked(p) && !(o.Strict && node.Kind == tree.Breakpoint) {
			c.list = append(c.list, candidate{node.Priority, p})
		}
	}
}

// lowestChild returns the number that decides between candidates of equal priority (rule 3): the lowest priority of a
// node's children.
func (o *Order) lowestChild(n tree.ID) int {
	node := &o.tree.Nodes[n]
	switch {
	case node.Leaf() && !node.Is(tree.Element):
		return -1
	case node.Leaf():
		return node.Priority
	case o.state.Left(n) == 0:
		return tree.Unset
	case o.tree.Nodes[n+1].End == node.End: // it never had more than one child
		return o.tree.Nodes[n+1].Priority
	}
	ranked, known := o.ranked[n]
	if !known {
		ranked = slices.AppendSeq(make([]tree.ID, 0, o.state.Left(n)), o.state.At(tree.Latest).Children(n))
		slices.SortFunc(ranked, func(a, b tree.ID) int { return cmp.Compare(o.tree.Nodes[a].Priority, o.tree.Nodes[b].Priority) })
	}
	for !o.state.Present(ranked[0]) {
		ranked, known = ranked[1:], false
	}
	if !known {
		o.ranked[n] = ranked
	}
	return o.tree.Nodes[ranked[0]].Priority
}
