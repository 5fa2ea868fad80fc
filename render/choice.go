package render

import (
	"cmp"
	"slices"
)

// choice is what pruning may choose from among what stands in a node: its candidates, the next one first. It is worked
// out when it is first asked for. Since then candidates go, and others come to hold higher priorities than they did,
// but none comes to hold a lower one; so what was sorted once is only corrected when a candidate is about to be chosen.
//
// There may be as many candidates as pieces, so that each is only known by its place: among the node's children or, where
// some of them pass their priority on, among nodes.
type choice struct {
	in     *node
	nodes  []*node     // in document order
	sorted []int32     // places of the candidates that did not change, the next one first
	risen  []candidate // a heap of those that did
	within []within    // by place; nil where no candidate may change

	// Where breakpoints are looked for: all candidates in document order, and what holds a breakpoint among them. The
	// candidates before the last of these are passed over until it goes.
	all     []int32
	holders []holder
}

// candidate is something that may go next, and its rank.
type candidate struct {
	priority int
	within
	place int32
}

// within is what a candidate had in it when it was last ranked. It has a say where another candidate has its priority.
type within struct {
	lowest int // priority of its own children
	tied   bool
}

// node gives the candidate at a place.
func (c *choice) node(place int32) *node {
	if c.nodes != nil {
		return c.nodes[place]
	}
	return &c.in.children[place]
}

// candidate gives the one at a place, with its rank.
func (c *choice) candidate(place int32) candidate {
	next := candidate{priority: c.node(place).priority, place: place}
	if c.within != nil {
		next.within = c.within[place]
	}
	return next
}

// before tells that a goes before b: rules 1 and 3.
func (a candidate) before(b candidate) bool {
	switch {
	case a.priority != b.priority:
		return a.priority < b.priority
	case a.lowest != b.lowest:
		return a.lowest < b.lowest
	}
	return a.place < b.place
}

// holder is something that holds a breakpoint, and the number of candidates before it.
type holder struct {
	node *node
	from int
}

// lowestChild chooses among a node's children, by rules 1 to 4, 6 and 7.
func (p *pruner) lowestChild(n *node) *node {
	if n.choice == nil {
		if only, ok := p.only(n); ok {
			return only
		}
		n.working().choice = p.children(n)
	}
	c := n.choice
	c.admit(n)
	for {
		p.passGone(c)
		next, ok := c.peek()
		if !ok {
			return nil
		}
		node := c.node(next.place)
		if !node.attachedTo(n) || p.held && !node.gives() {
			p.pop(c)
			continue
		}
		if next.tied {
			if lowest := node.lowestWithin(); lowest != next.lowest {
				p.rise(c, lowest)
				continue
			}
		}
		return node
	}
}

// only gives the one piece of an element that never had another.
func (p *pruner) only(n *node) (only *node, ok bool) {
	if len(n.children) != 1 || !n.children[0].leaf() {
		return nil, false
	}
	if only = &n.children[0]; only.gone != 0 || only.kind == breakpoint || p.held && !only.gives() {
		return nil, true
	}
	return only, true
}

// lowestPiece chooses by rule 5.
func (p *pruner) lowestPiece(n *node) *node {
	if n.choice == nil {
		n.working().choice = p.leaves(n)
	}
	for {
		next, ok := n.choice.peek()
		if !ok {
			return nil
		}
		if node := n.choice.node(next.place); node.attachedTo(n) && !node.locked { // what grew may have locked it since
			return node
		}
		p.pop(n.choice)
	}
}

// children are the candidates by rules 1 to 4.
func (p *pruner) children(n *node) *choice {
	c := &choice{in: n}
	c.sorted = make([]int32, 0, n.left)
	var priorities []int // by place
	if all := len(n.children); int(n.left) < all/2 {
		priorities = c.list(p.noPriorities(int(n.left)))
	} else {
		priorities = p.noPriorities(all)[:all]
	}
	watch := p.breakpoints && looksForBreakpoints(n)
	alike := true // all are pieces that are elements, which have no ties to break
	var gather func(in *node)
	gather = func(in *node) {
		for i := in.nextAt(0, latest); i < len(in.children); i = in.nextAt(i+1, latest) {
			child := &in.children[i]
			if watch && child.holds() {
				c.holders = append(c.holders, holder{child, len(c.sorted)})
			}
			if child.kind == breakpoint && watch || p.held && !child.gives() {
				continue
			}
			if child.passes() {
				if c.nodes == nil {
					priorities = c.list(priorities)
				}
				gather(child)
				continue
			}
			alike = alike && child.leaf() && child.is(isElement)
			if c.nodes == nil {
				c.sorted, priorities[i] = append(c.sorted, int32(i)), child.priority
				continue
			}
			c.sorted = append(c.sorted, int32(len(c.nodes)))
			c.nodes, priorities = append(c.nodes, child), append(priorities, child.priority)
		}
	}
	gather(n)
	if len(c.holders) > 0 {
		c.rank(c.sorted)
		c.all = c.sorted
		c.sorted = slices.Clone(c.all[c.holders[len(c.holders)-1].from:])
	}
	c.sorted = sortPlaces(c.sorted, priorities)
	if !alike {
		c.breakTies(priorities)
	}
	return c
}

// list lists the candidates so far, whose places were among the children, in nodes, and gives their priorities.
func (c *choice) list(priorities []int) []int {
	c.nodes = make([]*node, len(c.sorted), c.in.left)
	for i, place := range c.sorted {
		c.nodes[i], priorities[i], c.sorted[i] = &c.in.children[place], priorities[place], int32(i)
	}
	return priorities[:len(c.nodes)]
}

// breakTies puts candidates of one priority in order, and looks into no others.
func (c *choice) breakTies(priorities []int) {
	for from := 0; from < len(c.sorted); {
		priority, to := priorities[c.sorted[from]], from+1
		for to < len(c.sorted) && priorities[c.sorted[to]] == priority {
			to++
		}
		if to-from > 1 {
			c.breakTie(c.sorted[from:to])
		}
		from = to
	}
}

// breakTie puts candidates of one priority in order.
func (c *choice) breakTie(tied []int32) {
	first := c.node(tied[0]).lowestWithin()
	if !slices.ContainsFunc(tied, func(place int32) bool {
		n := c.node(place)
		return !n.leaf() || n.lowestWithin() != first
	}) {
		return // pieces that are all alike, and stay so
	}
	c.rank(tied)
	slices.SortFunc(tied, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.within[a].lowest, c.within[b].lowest), cmp.Compare(a, b))
	})
}

// rank notes what candidates have in them.
func (c *choice) rank(places []int32) {
	if c.within == nil {
		c.within = make([]within, max(len(c.nodes), len(c.in.children)))
	}
	for _, place := range places {
		c.within[place] = within{c.node(place).lowestWithin(), true}
	}
}

// leaves are the candidates by rule 5.
func (p *pruner) leaves(n *node) *choice {
	pieces := n.pieceCount()
	c := &choice{in: n}
	c.nodes, c.sorted = make([]*node, 0, pieces), make([]int32, 0, pieces)
	priorities := p.noPriorities(pieces)
	n.walk(latest, func(n *node) {
		if n.leaf() && !n.locked {
			c.sorted = append(c.sorted, int32(len(c.nodes)))
			c.nodes, priorities = append(c.nodes, n), append(priorities, n.priority)
		}
	})
	c.sorted = sortPlaces(c.sorted, priorities)
	return c
}

// admit takes in the candidates before a breakpoint that is not there any more.
func (c *choice) admit(n *node) {
	for len(c.holders) > 0 {
		last := c.holders[len(c.holders)-1]
		if last.node.holds() && last.node.attachedTo(n) {
			return
		}
		c.holders = c.holders[:len(c.holders)-1]
		from := 0
		if len(c.holders) > 0 {
			from = c.holders[len(c.holders)-1].from
		}
		for _, place := range c.all[from:last.from] {
			c.push(c.candidate(place))
		}
	}
}

// peek gives the next candidate, if there is one.
func (c *choice) peek() (next candidate, ok bool) {
	if len(c.sorted) > 0 {
		next = c.candidate(c.sorted[0])
		if len(c.risen) == 0 || next.before(c.risen[0]) {
			return next, true
		}
	}
	if len(c.risen) > 0 {
		return c.risen[0], true
	}
	return candidate{}, false
}

// pop takes the next candidate out.
func (p *pruner) pop(c *choice) candidate {
	if next, _ := c.peek(); len(c.sorted) > 0 && next.place == c.sorted[0] {
		p.pass(c)
		return next
	}
	first, last := c.risen[0], len(c.risen)-1
	c.risen[0] = c.risen[last]
	c.risen = c.risen[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && c.risen[child+1].before(c.risen[child]) {
			child++
		}
		if !c.risen[child].before(c.risen[i]) {
			return first
		}
		c.risen[i], c.risen[child] = c.risen[child], c.risen[i]
		i = child
	}
}

// pass goes on to the next of the sorted candidates.
func (p *pruner) pass(c *choice) {
	c.sorted = c.sorted[1:]
}

// passGone passes over candidates that went, as far as that is known without a look at them.
func (p *pruner) passGone(c *choice) {
	for len(c.sorted) > 0 && c.went(c.sorted[0]) {
		p.pass(c)
	}
}

// went tells that the candidate at a place went, where a bit says so.
func (c *choice) went(place int32) bool { return c.nodes == nil && !c.in.has(place) }

// rise puts the next candidate back where it belongs by now.
func (p *pruner) rise(c *choice, lowest int) {
	next := p.pop(c)
	next.lowest = lowest
	c.push(next)
}

func (c *choice) push(next candidate) {
	c.risen = append(c.risen, next)
	for i := len(c.risen) - 1; i > 0 && c.risen[i].before(c.risen[(i-1)/2]); i = (i - 1) / 2 {
		c.risen[i], c.risen[(i-1)/2] = c.risen[(i-1)/2], c.risen[i]
	}
}

// ranks keeps the lowest priority of a node's children, while they go.
type ranks struct {
	lowest int
	n      int     // children of that priority that are there
	sorted []int32 // the children not looked at yet, the lowest first; worked out when the first lowest ones have gone
}

// lowestWithin is the tie-breaker of rule 3.
func (n *node) lowestWithin() int {
	switch {
	case n.leaf() && !n.is(isElement):
		return -1
	case n.leaf():
		return n.priority
	case n.left == 0:
		return unset
	case len(n.children) == 1:
		return n.children[0].priority
	}
	if n.ranks == nil {
		n.working().ranks = &ranks{}
		for c := range n.present(latest) {
			n.ranks.meet(c.priority)
		}
	}
	return n.ranks.lowest
}

func (r *ranks) meet(priority int) {
	switch {
	case r.n == 0 || priority < r.lowest:
		r.lowest, r.n = priority, 1
	case priority == r.lowest:
		r.n++
	}
}

// lose takes note that a child of n has gone.
func (r *ranks) lose(n, child *node) {
	if child.priority != r.lowest {
		return
	}
	if r.n--; r.n > 0 || n.left == 0 {
		return
	}
	if r.sorted == nil {
		r.sorted = make([]int32, 0, n.left)
		for c := range n.present(latest) {
			r.sorted = append(r.sorted, c.index)
		}
		slices.SortFunc(r.sorted, func(a, b int32) int { return cmp.Compare(n.children[a].priority, n.children[b].priority) })
	}
	for len(r.sorted) > 0 {
		c := &n.children[r.sorted[0]]
		if c.gone == 0 {
			if r.n > 0 && c.priority != r.lowest {
				return
			}
			r.meet(c.priority)
		}
		r.sorted = r.sorted[1:]
	}
}

// looksForBreakpoints tells that a choice among n's children passes over what stands before a breakpoint: n is a
// message, or stands in none.
func looksForBreakpoints(n *node) bool {
	if n.kind == message {
		return true
	}
	for up := n.parent; up != nil; up = up.parent {
		if up.kind == message {
			return false
		}
	}
	return true
}

// holds tells that n is a breakpoint, a message with one directly in it, or holds such a message.
func (n *node) holds() bool { return n.kind == breakpoint || n.breakpoints > 0 }

// gives tells that there is something in n that may go.
func (n *node) gives() bool {
	switch {
	case n.kind == breakpoint:
		return false
	case !n.held:
		return true
	case n.locked, n.is(isChunk) && !n.passes(), n.left == 0:
		return false
	}
	for ; int(n.giver) < len(n.children); n.giver++ { // what gives nothing any more never will
		if c := &n.children[n.giver]; c.gone == 0 && c.gives() {
			return true
		}
	}
	return false
}
