package order

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// choice is what may go next among what stands in a node: its candidates, the next one first. It is worked out when it is first
// asked for. From then on candidates go, and others come to hold higher priorities than they did, but none comes to hold a
// lower one; so what was sorted once is only corrected when a candidate is about to be chosen.
type choice struct {
	sorted []candidate // those that did not change, the next one first
	risen  []candidate // a heap of those that did

	// Where breakpoints are looked for: all candidates in document order, and what holds a breakpoint among them. The
	// candidates before the last of these are passed over until it goes.
	all     []candidate
	holders []holder
}

// candidate is something that may go next. The lowest priority of its children matters only if it is tied with another.
type candidate struct {
	priority int
	lowest   int
	id       tree.ID
	tied     bool
}

// before reports whether a goes before b.
func (a candidate) before(b candidate) bool { return compare(a, b) < 0 }

func compare(a, b candidate) int {
	switch {
	case a.priority != b.priority:
		return cmp.Compare(a.priority, b.priority)
	case a.lowest != b.lowest:
		return cmp.Compare(a.lowest, b.lowest)
	}
	return cmp.Compare(a.id, b.id)
}

// holder is something that holds a breakpoint, and the number of candidates before it.
type holder struct {
	id   tree.ID
	from int
}

// lowestChild chooses among what stands in a node; None if nothing in it may go.
func (o *Order) lowestChild(n tree.ID) tree.ID {
	c := o.choices[n]
	if c == nil {
		if only, ok := o.only(n); ok {
			return only
		}
		c = o.candidates(n)
		o.choices[n] = c
	}
	o.admit(c, n)
	for {
		next, ok := c.peek()
		switch {
		case !ok:
			return tree.None
		case !o.Attached(next.id, n), o.Held(next.id) && !o.gives(next.id):
			c.pop()
			continue
		}
		if next.tied {
			if lowest := o.lowestWithin(next.id); lowest != next.lowest {
				c.pop()
				next.lowest = lowest
				c.push(next)
				continue
			}
		}
		return next.id
	}
}

// only returns the one piece of an element that never had another; None if it may not go.
func (o *Order) only(n tree.ID) (only tree.ID, ok bool) {
	only = n + 1
	if only >= o.Nodes[n].End || o.Nodes[only].End != o.Nodes[n].End || !o.Nodes[only].Leaf() {
		return tree.None, false
	}
	if !o.There(only) || !o.gives(only) {
		return tree.None, true
	}
	return only, true
}

// lowestPiece chooses among all pieces in a node, wherever they stand; None if none may go.
func (o *Order) lowestPiece(n tree.ID) tree.ID {
	c := o.choices[n]
	if c == nil {
		c = o.pieces(n)
		o.choices[n] = c
	}
	for {
		next, ok := c.peek()
		if !ok {
			return tree.None
		}
		if o.Attached(next.id, n) && !o.Locked(next.id) { // what grew may have locked it since
			return next.id
		}
		c.pop()
	}
}

// candidates returns what competes in a node: its children, and in place of one that passes its priority on the children of that.
func (o *Order) candidates(n tree.ID) *choice {
	c := &choice{sorted: make([]candidate, 0, o.Left(n))}
	watch := o.Breakpoints && o.looksForBreakpoints(n)
	alike := true // all are pieces that are elements, which have no ties to break
	var gather func(in tree.ID)
	gather = func(in tree.ID) {
		for child := o.First(in); child != tree.None; child = o.Next(child) {
			node := &o.Nodes[child]
			if watch && o.HoldsBreakpoint(child) {
				c.holders = append(c.holders, holder{child, len(c.sorted)})
			}
			switch {
			case node.Kind == tree.Breakpoint && watch, o.Held(child) && !o.gives(child):
			case o.passes(child):
				gather(child)
			default:
				alike = alike && node.Is(tree.Element)
				c.sorted = append(c.sorted, candidate{priority: node.Priority, id: child})
			}
		}
	}
	gather(n)
	if len(c.holders) > 0 {
		o.rank(c.sorted)
		c.all = c.sorted
		c.sorted = slices.Clone(c.all[c.holders[len(c.holders)-1].from:])
	}
	sort(c.sorted)
	if !alike {
		o.breakTies(c.sorted)
	}
	return c
}

// sort sorts candidates by their priorities, those of one priority in document order.
func sort(list []candidate) {
	switch {
	case slices.IsSortedFunc(list, compare):
	case len(list) < many:
		slices.SortFunc(list, compare)
	default:
		sortMany(list)
	}
}

// digit is how many bits of a priority many candidates are sorted by at a time.
const (
	digit = 11
	many  = 1 << digit
)

// sortMany sorts candidates in document order digit by digit, from the lowest one on, in time that grows with their number.
func sortMany(list []candidate) {
	lowest, highest := list[0].priority, list[0].priority
	for _, c := range list {
		lowest, highest = min(lowest, c.priority), max(highest, c.priority)
	}
	from, to := list, make([]candidate, len(list))
	for shift := 0; (uint64(highest)-uint64(lowest))>>shift > 0; shift += digit {
		var starts [many]int
		for _, c := range from {
			starts[(uint64(c.priority)-uint64(lowest))>>shift%many]++
		}
		sum := 0
		for i, n := range starts {
			starts[i] = sum
			sum += n
		}
		for _, c := range from {
			at := &starts[(uint64(c.priority)-uint64(lowest))>>shift%many]
			to[*at] = c
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

// breakTies puts candidates of one priority in order, and looks into no others.
func (o *Order) breakTies(sorted []candidate) {
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].priority == sorted[from].priority {
			to++
		}
		if to-from > 1 {
			o.breakTie(sorted[from:to])
		}
		from = to
	}
}

func (o *Order) breakTie(tied []candidate) {
	first := o.lowestWithin(tied[0].id)
	if !slices.ContainsFunc(tied, func(c candidate) bool {
		return !o.Nodes[c.id].Leaf() || o.lowestWithin(c.id) != first
	}) {
		return // pieces that are all alike, and stay so
	}
	o.rank(tied)
	slices.SortFunc(tied, compare)
}

// rank notes what candidates hold.
func (o *Order) rank(list []candidate) {
	for i := range list {
		list[i].lowest, list[i].tied = o.lowestWithin(list[i].id), true
	}
}

// pieces returns all pieces in a node that may go.
func (o *Order) pieces(n tree.ID) *choice {
	c := &choice{}
	o.Walk(n, tree.Latest, func(n tree.ID) {
		if o.Nodes[n].Leaf() && !o.Locked(n) {
			c.sorted = append(c.sorted, candidate{priority: o.Nodes[n].Priority, id: n})
		}
	})
	sort(c.sorted)
	return c
}

// admit takes in the candidates before a breakpoint that is not there any more.
func (o *Order) admit(c *choice, n tree.ID) {
	for len(c.holders) > 0 {
		last := c.holders[len(c.holders)-1]
		if o.HoldsBreakpoint(last.id) && o.Attached(last.id, n) {
			return
		}
		c.holders = c.holders[:len(c.holders)-1]
		from := 0
		if len(c.holders) > 0 {
			from = c.holders[len(c.holders)-1].from
		}
		for _, next := range c.all[from:last.from] {
			c.push(next)
		}
	}
}

// peek returns the next candidate, if there is one.
func (c *choice) peek() (next candidate, ok bool) {
	switch {
	case len(c.sorted) > 0 && (len(c.risen) == 0 || c.sorted[0].before(c.risen[0])):
		return c.sorted[0], true
	case len(c.risen) > 0:
		return c.risen[0], true
	}
	return candidate{}, false
}

// pop takes the next candidate out.
func (c *choice) pop() {
	if next, _ := c.peek(); len(c.sorted) > 0 && next.id == c.sorted[0].id {
		c.sorted = c.sorted[1:]
		return
	}
	last := len(c.risen) - 1
	c.risen[0] = c.risen[last]
	c.risen = c.risen[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return
		}
		if child+1 < last && c.risen[child+1].before(c.risen[child]) {
			child++
		}
		if !c.risen[child].before(c.risen[i]) {
			return
		}
		c.risen[i], c.risen[child] = c.risen[child], c.risen[i]
		i = child
	}
}

func (c *choice) push(next candidate) {
	c.risen = append(c.risen, next)
	for i := len(c.risen) - 1; i > 0 && c.risen[i].before(c.risen[(i-1)/2]); i = (i - 1) / 2 {
		c.risen[i], c.risen[(i-1)/2] = c.risen[(i-1)/2], c.risen[i]
	}
}

// passes reports whether a node's children compete in its place.
func (o *Order) passes(n tree.ID) bool { return o.Nodes[n].Is(tree.PassesPriority) && o.Left(n) > 0 }

// looksForBreakpoints reports whether a choice among a node's children passes over what stands before a breakpoint: the node is a
// message, or stands in none.
func (o *Order) looksForBreakpoints(n tree.ID) bool {
	return o.Nodes[n].Kind == tree.Message || o.MessageOf(n) == tree.None
}

// ranks keeps the lowest priority of a node's children, while they go.
type ranks struct {
	lowest int
	n      int       // children of that priority that are there
	sorted []tree.ID // the children not looked at yet, the lowest first; worked out when the first lowest ones have gone
}

// lowestWithin returns what decides between candidates of one priority.
func (o *Order) lowestWithin(n tree.ID) int {
	node := &o.Nodes[n]
	switch {
	case node.Leaf() && !node.Is(tree.Element):
		return -1
	case node.Leaf():
		return node.Priority
	case o.Left(n) == 0:
		return tree.Unset
	case o.Nodes[n+1].End == node.End:
		return o.Nodes[n+1].Priority
	}
	r := o.ranks[n]
	if r == nil {
		r = &ranks{}
		for c := o.First(n); c != tree.None; c = o.Next(c) {
			r.meet(o.Nodes[c].Priority)
		}
		o.ranks[n] = r
	}
	return r.lowest
}

func (r *ranks) meet(priority int) {
	switch {
	case r.n == 0 || priority < r.lowest:
		r.lowest, r.n = priority, 1
	case priority == r.lowest:
		r.n++
	}
}

// lose records that a child of n has gone.
func (r *ranks) lose(s *tree.State, n, child tree.ID) {
	if s.Nodes[child].Priority != r.lowest {
		return
	}
	if r.n--; r.n > 0 || s.Left(n) == 0 {
		return
	}
	if r.sorted == nil {
		r.sorted = slices.AppendSeq(make([]tree.ID, 0, s.Left(n)), s.Children(n, tree.Latest))
		slices.SortFunc(r.sorted, func(a, b tree.ID) int { return cmp.Compare(s.Nodes[a].Priority, s.Nodes[b].Priority) })
	}
	for len(r.sorted) > 0 {
		c := r.sorted[0]
		if s.There(c) {
			if r.n > 0 && s.Nodes[c].Priority != r.lowest {
				return
			}
			r.meet(s.Nodes[c].Priority)
		}
		r.sorted = r.sorted[1:]
	}
}
