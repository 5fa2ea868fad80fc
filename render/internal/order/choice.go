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
	sorted  []candidate // by priority
	tied    tied        // the candidates of the lowest priority, taken from sorted
	fixed   bool        // tied is sorted, and stays so; else it is a heap
	legacy  bool        // among equal priorities the first is chosen
	blocked []blocked   // candidates before breakpoints, in document order: passed over until the breakpoint is removed
}

// blocked holds the candidates between a breakpoint and the previous one.
type blocked struct {
	breakpoint tree.ID
	candidates []candidate
}

// candidate is a node that may be removed next, or from which something may.
type candidate struct {
	priority int
	lowest   int // priority among its children, see lowestChild
	id       tree.ID
}

func compare(a, b candidate) int {
	switch {
	case a.priority != b.priority:
		return cmp.Compare(a.priority, b.priority)
	case a.lowest != b.lowest:
		return cmp.Compare(a.lowest, b.lowest)
	}
	return cmp.Compare(a.id, b.id)
}

// next returns the candidate in a node that is chosen next, None if nothing in the node may be removed.
func (o *Order) next(n tree.ID) tree.ID {
	c := o.choices[n]
	if c == nil {
		if o.tree.Nodes[n].Is(tree.Legacy) {
			c = o.pieces(n)
		} else {
			c = o.children(n)
		}
		sort(c.sorted)
		o.choices[n] = c
	}
	c.unblock(o, n)
	for c.findTied(o) {
		next := &c.tied[0]
		if !o.state.Attached(next.id, n) || o.Held(next.id) && !o.mayShrink(next.id) {
			if c.fixed {
				c.tied = c.tied[1:]
			} else {
				c.tied.pop()
			}
			continue
		}
		if len(c.tied) > 1 && !c.fixed {
			if lowest := o.lowestChild(next.id); lowest != next.lowest {
				next.lowest = lowest
				c.tied.sink(0)
				continue
			}
		}
		return next.id
	}
	return tree.None
}

// unblock admits the candidates before breakpoints that have been removed.
func (c *choice) unblock(o *Order, n tree.ID) {
	for last := len(c.blocked) - 1; last >= 0 && !o.state.Attached(c.blocked[last].breakpoint, n); last-- {
		c.sorted = slices.Concat(c.tied, c.sorted, c.blocked[last].candidates)
		sort(c.sorted)
		c.tied, c.blocked = nil, c.blocked[:last]
	}
}

// findTied moves the candidates of the lowest priority to tied, if that is empty. It reports whether there are
// candidates.
func (c *choice) findTied(o *Order) bool {
	if len(c.tied) > 0 || len(c.sorted) == 0 {
		return len(c.tied) > 0
	}
	n := 1
	for n < len(c.sorted) && c.sorted[n].priority == c.sorted[0].priority {
		n++
	}
	c.tied, c.sorted, c.fixed = tied(c.sorted[:n:n]), c.sorted[n:], true
	for i := 0; i < n && n > 1 && !c.legacy; i++ {
		c.tied[i].lowest = o.lowestChild(c.tied[i].id)
		c.fixed = c.fixed && o.tree.Nodes[c.tied[i].id].Leaf()
	}
	if c.fixed {
		slices.SortFunc(c.tied, compare)
	} else {
		c.tied.order()
	}
	return true
}

// tied is a binary min-heap of candidates: the children of i are at 2i+1 and 2i+2.
type tied []candidate

// order makes it a heap.
func (c tied) order() {
	for i := range slices.Backward(c) {
		c.sink(i)
	}
}

// sink moves a candidate down to its place.
func (c tied) sink(i int) {
	moved := c[i]
	for child := 2*i + 1; child < len(c); child = 2*i + 1 {
		if child+1 < len(c) && compare(c[child+1], c[child]) < 0 {
			child++
		}
		if compare(c[child], moved) >= 0 {
			break
		}
		c[i], i = c[child], child
	}
	c[i] = moved
}

// pop removes the first candidate.
func (c *tied) pop() {
	last := len(*c) - 1
	(*c)[0] = (*c)[last]
	if *c = (*c)[:last]; last > 0 {
		c.sink(0)
	}
}

// children returns a choice among the children of a node. A child that passes its priority on is replaced by its own
// children.
func (o *Order) children(n tree.ID) *choice {
	c := &choice{sorted: make([]candidate, 0, o.state.Left(n))}
	atBreakpoints := o.breakpoints.apply(n)
	var gather func(in tree.ID)
	gather = func(in tree.ID) {
		for child := range o.state.At(tree.Latest).Children(in) {
			node := &o.tree.Nodes[child]
			if atBreakpoints {
				for _, b := range o.breakpoints.in(child) {
					c.blocked = append(c.blocked, blocked{b, slices.Clone(c.sorted)})
					c.sorted = c.sorted[:0]
				}
			}
			switch {
			case node.Kind == tree.Breakpoint && atBreakpoints, o.Held(child) && !o.mayShrink(child):
			case o.passes(child):
				gather(child)
			default:
				c.sorted = append(c.sorted, candidate{priority: node.Priority, id: child})
			}
		}
	}
	gather(n)
	return c
}

// passes reports whether a node's children compete in its place.
func (o *Order) passes(n tree.ID) bool {
	return o.tree.Nodes[n].Is(tree.PassesPriority) && o.state.Left(n) > 0
}

// pieces returns a choice among all pieces in a node, at whatever depth.
func (o *Order) pieces(n tree.ID) *choice {
	c := &choice{legacy: true}
	o.state.At(tree.Latest).Walk(n, func(n tree.ID) {
		if o.tree.Nodes[n].Leaf() && !o.Locked(n) {
			c.sorted = append(c.sorted, candidate{priority: o.tree.Nodes[n].Priority, id: n})
		}
	})
	return c
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
