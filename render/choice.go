package render

import (
	"cmp"
	"slices"
)

// choice is what pruning may choose from among what stands in a node: its candidates, the next one first. It is worked
// out when it is first asked for. Since then candidates go, and others come to hold higher priorities than they did,
// but none comes to hold a lower one; so what was sorted once is only corrected when a candidate is about to be chosen.
type choice struct {
	sorted []candidate // those that did not change, the next one first
	risen  []candidate // a heap of those that did

	// Where breakpoints are looked for: all candidates in document order, and what holds a breakpoint among them. The
	// candidates before the last of these are passed over until it goes.
	all     []candidate
	holders []holder
}

// candidate is something that may go next, and its rank.
type candidate struct {
	priority int
	within   int   // the lowest priority of its own children, where another candidate has its priority
	place    int32 // in the document
	tied     bool  // another has
	node     *node
}

// before tells that a goes before b: rules 1 and 3.
func (a candidate) before(b candidate) bool { return compareCandidates(a, b) < 0 }

func compareCandidates(a, b candidate) int {
	if a.priority != b.priority {
		return cmp.Compare(a.priority, b.priority)
	}
	if a.within != b.within {
		return cmp.Compare(a.within, b.within)
	}
	return cmp.Compare(a.place, b.place)
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
		next := c.peek()
		switch {
		case next == nil:
			return nil
		case !next.node.attachedTo(n), p.held && !next.node.gives():
			c.pop()
			continue
		}
		if next.tied {
			if within := next.node.lowestWithin(); within != next.within {
				c.rise(within)
				continue
			}
		}
		return next.node
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
		next := n.choice.peek()
		switch {
		case next == nil:
			return nil
		case next.node.attachedTo(n) && !next.node.locked: // what grew may have locked it since
			return next.node
		}
		n.choice.pop()
	}
}

// children are the candidates by rules 1 to 4.
func (p *pruner) children(n *node) *choice {
	c := &choice{all: make([]candidate, 0, n.left)}
	watch := p.breakpoints && looksForBreakpoints(n)
	var gather func(n *node)
	gather = func(n *node) {
		for i := range n.children {
			child := &n.children[i]
			if child.gone != 0 {
				continue
			}
			if watch && child.holds() {
				c.holders = append(c.holders, holder{child, len(c.all)})
			}
			switch {
			case child.kind == breakpoint && watch:
			case p.held && !child.gives():
			case child.passes():
				gather(child)
			default:
				c.all = append(c.all, candidate{priority: child.priority, place: int32(len(c.all)), node: child})
			}
		}
	}
	gather(n)
	if len(c.holders) == 0 {
		c.sorted, c.all = sortCandidates(c.all), nil
		return c
	}
	for i := range c.all {
		c.all[i].tied, c.all[i].within = true, c.all[i].node.lowestWithin()
	}
	c.sorted = slices.Clone(c.all[c.holders[len(c.holders)-1].from:])
	slices.SortFunc(c.sorted, compareCandidates)
	return c
}

// sortCandidates puts the next one first. Only those of one priority are looked into.
func sortCandidates(list []candidate) []candidate {
	list = byPriorities(list)
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].priority == list[from].priority {
			to++
		}
		if tied := list[from:to]; len(tied) > 1 {
			for i := range tied {
				tied[i].tied, tied[i].within = true, tied[i].node.lowestWithin()
			}
			slices.SortFunc(tied, compareCandidates)
		}
		from = to
	}
	return list
}

// byPriorities sorts candidates that are in document order by priority, digit by digit from the lowest one on: in time
// that grows with their number, since there can be very many.
func byPriorities(list []candidate) []candidate {
	const digit = 11 // bits
	if slices.IsSortedFunc(list, func(a, b candidate) int { return cmp.Compare(a.priority, b.priority) }) {
		return list
	}
	if len(list) < 1<<digit {
		slices.SortFunc(list, compareCandidates)
		return list
	}
	lowest, highest := list[0].priority, list[0].priority
	for i := range list {
		lowest, highest = min(lowest, list[i].priority), max(highest, list[i].priority)
	}
	other := make([]candidate, len(list))
	for shift := 0; (uint64(highest)-uint64(lowest))>>shift > 0; shift += digit {
		var starts [1 << digit]int
		for i := range list {
			starts[(uint64(list[i].priority)-uint64(lowest))>>shift%(1<<digit)]++
		}
		sum := 0
		for i, n := range starts {
			starts[i] = sum
			sum += n
		}
		for i := range list {
			at := &starts[(uint64(list[i].priority)-uint64(lowest))>>shift%(1<<digit)]
			other[*at] = list[i]
			*at++
		}
		list, other = other, list
	}
	return list
}

// leaves are the candidates by rule 5.
func (p *pruner) leaves(n *node) *choice {
	pieces := make([]candidate, 0, n.pieceCount())
	n.walk(latest, func(n *node) {
		if n.leaf() && !n.locked {
			pieces = append(pieces, candidate{priority: n.priority, place: int32(len(pieces)), node: n})
		}
	})
	return &choice{sorted: byPriorities(pieces)}
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
		for _, candidate := range c.all[from:last.from] {
			c.push(candidate)
		}
	}
}

// peek gives the next candidate, nil where there is none.
func (c *choice) peek() *candidate {
	switch {
	case len(c.sorted) == 0 && len(c.risen) == 0:
		return nil
	case len(c.risen) == 0 || len(c.sorted) > 0 && c.sorted[0].before(c.risen[0]):
		return &c.sorted[0]
	default:
		return &c.risen[0]
	}
}

// pop takes the next candidate out.
func (c *choice) pop() candidate {
	next := c.peek()
	if len(c.sorted) > 0 && next == &c.sorted[0] {
		c.sorted = c.sorted[1:]
		return *next
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

// rise puts the next candidate back where it belongs by now.
func (c *choice) rise(within int) {
	next := c.pop()
	next.within = within
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
		n.working().ranks = &ranks{lowest: unset}
		for i := range n.children {
			if c := &n.children[i]; c.gone == 0 {
				n.ranks.meet(c.priority)
			}
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
		for i := range n.children {
			if n.children[i].gone == 0 {
				r.sorted = append(r.sorted, int32(i))
			}
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
