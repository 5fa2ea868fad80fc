package order

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// choice holds what may go next among what stands in a node. It is made when it is first asked for. From then on candidates go,
// and what is left of others comes to hold higher priorities than it did, but never a lower one; so a candidate is only looked at
// again when it is about to be chosen.
type choice struct {
	sorted []candidate // by priority
	tied   tied        // candidates that were of the lowest priority when the first of them was looked for
	fixed  bool        // tied is sorted, and stays so; else it is a heap
	legacy bool        // of one priority the first goes
	passed []passed    // candidates before breakpoints, in document order, which are passed over until the breakpoint goes
}

// passed are the candidates between a breakpoint and the one before it.
type passed struct {
	breakpoint tree.ID
	candidates []candidate
}

// candidate is something that may go next.
type candidate struct {
	priority int
	lowest   int // of the priorities of its children
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

// next returns what goes next among what stands in a node, None if nothing in it may go.
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
	c.admit(o, n)
	for c.tie(o) {
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
			if lowest := o.lowestWithin(next.id); lowest != next.lowest {
				next.lowest = lowest
				c.tied.sink(0)
				continue
			}
		}
		return next.id
	}
	return tree.None
}

// admit takes in the candidates before a breakpoint that is not there any more.
func (c *choice) admit(o *Order, n tree.ID) {
	for last := len(c.passed) - 1; last >= 0 && !o.state.Attached(c.passed[last].breakpoint, n); last-- {
		c.sorted = slices.Concat(c.tied, c.sorted, c.passed[last].candidates)
		sort(c.sorted)
		c.tied, c.passed = nil, c.passed[:last]
	}
}

// tie reports whether there are candidates, and finds those of the lowest priority.
func (c *choice) tie(o *Order) bool {
	if len(c.tied) > 0 || len(c.sorted) == 0 {
		return len(c.tied) > 0
	}
	n := 1
	for n < len(c.sorted) && c.sorted[n].priority == c.sorted[0].priority {
		n++
	}
	c.tied, c.sorted, c.fixed = tied(c.sorted[:n:n]), c.sorted[n:], true
	for i := 0; i < n && n > 1 && !c.legacy; i++ {
		c.tied[i].lowest = o.lowestWithin(c.tied[i].id)
		c.fixed = c.fixed && o.tree.Nodes[c.tied[i].id].Leaf()
	}
	if c.fixed {
		slices.SortFunc(c.tied, compare)
	} else {
		c.tied.order()
	}
	return true
}

// tied is a heap of candidates: each goes before those at twice its index plus one, and plus two.
type tied []candidate

// order makes it a heap.
func (c tied) order() {
	for i := range slices.Backward(c) {
		c.sink(i)
	}
}

// sink puts a candidate in its place below.
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

// pop takes the next candidate out.
func (c *tied) pop() {
	last := len(*c) - 1
	(*c)[0] = (*c)[last]
	if *c = (*c)[:last]; last > 0 {
		c.sink(0)
	}
}

// children returns as candidates the children of a node, and in place of one that passes its priority on the children of that.
func (o *Order) children(n tree.ID) *choice {
	c := &choice{sorted: make([]candidate, 0, o.state.Left(n))}
	watch := o.breakpoints.lookedFor(n)
	var gather func(in tree.ID)
	gather = func(in tree.ID) {
		for child := range o.state.At(tree.Latest).Children(in) {
			node := &o.tree.Nodes[child]
			if watch {
				for _, b := range o.breakpoints.in(child) {
					c.passed = append(c.passed, passed{b, slices.Clone(c.sorted)})
					c.sorted = c.sorted[:0]
				}
			}
			switch {
			case node.Kind == tree.Breakpoint && watch, o.Held(child) && !o.mayShrink(child):
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

// pieces returns as candidates all pieces in a node, wherever they stand.
func (o *Order) pieces(n tree.ID) *choice {
	c := &choice{legacy: true}
	o.state.At(tree.Latest).Walk(n, func(n tree.ID) {
		if o.tree.Nodes[n].Leaf() && !o.Locked(n) {
			c.sorted = append(c.sorted, candidate{priority: o.tree.Nodes[n].Priority, id: n})
		}
	})
	return c
}

// lowestWithin returns what decides between candidates of one priority.
func (o *Order) lowestWithin(n tree.ID) int {
	node := &o.tree.Nodes[n]
	switch {
	case node.Leaf() && !node.Is(tree.Element):
		return -1
	case node.Leaf():
		return node.Priority
	case o.state.Left(n) == 0:
		return tree.Unset
	case o.tree.Nodes[n+1].End == node.End: // the only one that it ever had
		return o.tree.Nodes[n+1].Priority
	}
	ranked, known := o.ranked[n]
	if !known {
		ranked = slices.AppendSeq(make([]tree.ID, 0, o.state.Left(n)), o.state.At(tree.Latest).Children(n))
		slices.SortFunc(ranked, func(a, b tree.ID) int { return cmp.Compare(o.tree.Nodes[a].Priority, o.tree.Nodes[b].Priority) })
	}
	for !o.state.There(ranked[0]) {
		ranked, known = ranked[1:], false
	}
	if !known {
		o.ranked[n] = ranked
	}
	return o.tree.Nodes[ranked[0]].Priority
}
