package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements"
)

// pruner takes pieces out of a tree until it fits.
type pruner struct {
	ctx         context.Context // of the render
	count       func(*node) int
	breakpoints bool // the tree has cache breakpoints
	held        bool // the tree has required pieces
	removing    map[*elements.Group]bool
	step        string // path of the limit that is being kept, "" for the whole prompt
	recording   bool
	taken       []taking // what was chosen, in order, while recording
	freed       freed    // since the last count
}

// taking is one choice.
type taking struct {
	node   *node
	tokens int // that its pieces counted by themselves
}

// freed says by how much a tree may have got smaller.
type freed struct {
	tokens  int  // that the pieces counted by themselves
	most    int  // tokens by which the tree got smaller at the most
	unknown bool // more than text went, so only a count can tell

	scale float64 // by how much a token that a piece counts by itself may change the count
}

// add notes that a piece of so many tokens went. In a message its neighbours meet, which changes the count by more or
// less than the piece's own; by how much, no tokenizer promises. Half as much again and 8 more is far beyond what is seen
// where messages count about as much as their pieces; where they count more, so may each piece.
func (f *freed) add(tokens int) {
	f.tokens += tokens
	f.most += int(f.scale*float64(tokens)) + 8
}

// scaleOf is the scale for a tree of so many tokens.
func scaleOf(n *node, count int) float64 {
	pieces := 0
	n.walk(func(n *node) {
		if n.leaf() {
			pieces += n.ownTokens()
		}
	})
	return max(1.5, 2*float64(count)/float64(max(1, pieces))-1)
}

// enough tells that a tree of so many tokens may fit a limit by now.
func (f *freed) enough(count, limit int) bool { return f.unknown || count-f.most <= limit }

// drop says why a node went.
type drop struct {
	reason Reason
	step   string
}

// prune takes pieces out of container, one at a time, until its exact count is at most limit. It tells where nothing
// more may go, or nil once the container fits. Given the tree that is left, what goes next is chosen thus:
//
//  1. From container down, the child with the lowest priority is chosen, and among its children again, until something
//     is found that goes as a whole: a piece of text, a part, a [elements.Chunk], or an element without children.
//  2. A priority that is not set is the highest. Text, line breaks and opaque values take that of the element they
//     stand in. An element that passes its priority on has 0 where its own is not set.
//  3. Among children of one priority the one goes whose own children hold the lowest: for a piece of text or a part
//     that is -1; for an element the lowest of its direct children's priorities, the highest where it has none. Among
//     equals there too, the earlier.
//  4. The children of an element with PassPriority compete in its place; a Chunk or LegacyPrioritization with it has
//     lost its own rule. On messages it does nothing.
//  5. In a LegacyPrioritization the piece with the lowest priority goes, wherever it stands in it; the first among
//     equals.
//  6. Where the choice is among messages, or directly in one, candidates before the last cache breakpoint among them
//     are passed over, and the breakpoint itself; an element holds a breakpoint where a message in it does. A chosen
//     candidate with nothing to give is an error, even where its siblings could give.
//  7. Required pieces are passed over, and so is what holds nothing else ([lock] says what is required).
//  8. An element in which only white space is left goes too, and the white space with it. So does a message, unless it
//     still calls tools.
//  9. With an element of a group ([elements.KeepWith]) in what went, all elements of the group go, wherever they stand,
//     and the tool calls linked to it; and what they leave empty, and the groups in that, in turn.
//
// The rules but 7 are those of @vscode/prompt-tsx 0.4.
func (p *pruner) prune(container *node, limit int) (stuck *node) {
	count := p.count(container)
	if count <= limit {
		return nil
	}
	for scale := scaleOf(container, count); count > limit && p.ctx.Err() == nil; count = p.count(container) {
		// A count of a long message is dear: none is taken while it cannot fit yet.
		for p.freed = (freed{scale: scale}); !p.freed.enough(count, limit) && p.ctx.Err() == nil; {
			if stuck := p.removeLowest(container); stuck != nil {
				return stuck
			}
		}
	}
	return nil
}

// removeLowest takes one piece out, or tells in which node there was none to take.
func (p *pruner) removeLowest(n *node) (stuck *node) {
	for {
		var next *node
		if n.laid.kind == container && n.laid.legacy {
			next = p.lowestPiece(n)
		} else {
			next = p.lowestChild(n)
		}
		switch {
		case next == nil:
			return n
		case next.leaf(), len(next.children) == 0:
			p.take(next, ReasonPriority)
			return nil
		case next.laid.kind == container && next.chunk():
			p.take(next, ReasonChunk)
			return nil
		}
		n = next
	}
}

// take takes out what was chosen.
func (p *pruner) take(n *node, why Reason) {
	before := p.freed.tokens
	p.remove(n, why)
	if p.recording {
		p.taken = append(p.taken, taking{node: n, tokens: p.freed.tokens - before})
	}
}

// lowestChild chooses among a node's children, by rules 1 to 4, 6 and 7.
func (p *pruner) lowestChild(n *node) *node {
	c := choice{pruner: p, overBreakpoints: p.breakpoints && looksForBreakpoints(n)}
	c.consider(n.children)
	return c.lowest
}

// choice is the candidate found so far.
type choice struct {
	*pruner
	overBreakpoints bool
	lowest          *node
	nested          int  // the lowest priority among the candidate's children
	known           bool // nested is known
}

func (c *choice) consider(children []*node) {
	for _, child := range children {
		if c.overBreakpoints && holdsBreakpoint(child) {
			c.lowest, c.known = nil, false
			if child.laid.kind == breakpoint {
				continue
			}
		}
		switch {
		case c.held && !c.gives(child):
		case child.passes():
			c.consider(child.children)
		case c.lowest == nil || child.priority < c.lowest.priority:
			c.lowest, c.known = child, false
		case child.priority == c.lowest.priority:
			if !c.known {
				c.nested, c.known = lowestNested(c.lowest), true
			}
			if nested := lowestNested(child); nested < c.nested {
				c.lowest, c.nested = child, nested
			}
		}
	}
}

// lowestNested is the tie-breaker of rule 3.
func lowestNested(n *node) int {
	if n.leaf() {
		return -1
	}
	lowest := unset
	for _, c := range n.children {
		lowest = min(lowest, c.priority)
	}
	return lowest
}

// looksForBreakpoints tells that a choice among n's children passes over what stands before a breakpoint: n is a
// message, or stands in none.
func looksForBreakpoints(n *node) bool {
	if n.laid.kind == message {
		return true
	}
	for up := n.parent; up != nil; up = up.parent {
		if up.laid.kind == message {
			return false
		}
	}
	return true
}

// holdsBreakpoint tells that n is a breakpoint, a message with one directly in it, or holds such a message.
func holdsBreakpoint(n *node) bool {
	switch n.laid.kind {
	case breakpoint:
		return true
	case message:
		return slices.ContainsFunc(n.children, func(c *node) bool { return c.laid.kind == breakpoint })
	case container:
		return slices.ContainsFunc(n.children, holdsBreakpoint)
	}
	return false
}

// lowestPiece chooses by rule 5.
func (p *pruner) lowestPiece(n *node) *node {
	var lowest *node
	n.walk(func(c *node) {
		if c.leaf() && !c.locked && (lowest == nil || c.priority < lowest.priority) {
			lowest = c
		}
	})
	return lowest
}

// gives tells that there is something in n that may go.
func (p *pruner) gives(n *node) bool {
	switch {
	case n.laid.kind == breakpoint:
		return false
	case !n.held:
		return true
	case n.locked, n.laid.kind == container && n.chunk() && !n.passes(), len(n.children) == 0:
		return false
	}
	return slices.ContainsFunc(n.children, p.gives)
}

// remove takes n out, and with it what it leaves behind without reason to stay (rules 8 and 9).
func (p *pruner) remove(n *node, why Reason) {
	parent := n.parent
	if parent == nil {
		return
	}
	i := slices.Index(parent.children, n)
	if i < 0 {
		return
	}
	parent.children = slices.Delete(parent.children, i, i+1)
	n.gone, n.drop = true, drop{reason: why, step: p.step}
	p.free(n)
	p.removeGroups(n)
	parent.changed()
	switch {
	case !parent.empty():
	case parent.held: // the white space in it stays, but a tag around it does not
		p.freed.unknown = true
	default:
		p.remove(parent, ReasonEmptied)
	}
}

// free notes how much smaller the tree gets.
func (p *pruner) free(n *node) {
	n.walk(func(n *node) {
		switch {
		case n.laid.kind == text:
			p.freed.add(n.ownTokens())
		case n.laid.kind != container: // a part may count otherwise in its message than by itself
			p.freed.tokens += n.ownTokens()
			p.freed.unknown = true
		case n.laid.tagTokens > 0:
			p.freed.add(n.laid.tagTokens + 2)
		}
	})
}

// removeGroups takes out the groups of which an element stood in what went.
func (p *pruner) removeGroups(gone *node) {
	var groups map[*elements.Group]bool
	gone.walk(func(n *node) {
		if g := n.laid.group; g != nil && !p.removing[g] {
			if groups == nil {
				groups = map[*elements.Group]bool{}
			}
			groups[g] = true
		}
	})
	if groups == nil {
		return
	}
	for g := range groups {
		p.removing[g] = true
	}
	root := gone
	for root.parent != nil {
		root = root.parent
	}
	// What goes in a group can take neighbours along; the order is prompt-tsx's, from the last to the first.
	for queue := []*node{root}; len(queue) > 0; {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if g := n.laid.group; g != nil && groups[g] {
			p.remove(n, ReasonGroup)
		} else if n.laid.kind == message && n.calls != nil {
			p.unlink(n, groups)
		}
		queue = append(queue, n.children...)
	}
	for g := range groups {
		delete(p.removing, g)
	}
}

// unlink takes the tool calls of these groups out of a message.
func (p *pruner) unlink(n *node, groups map[*elements.Group]bool) {
	linked := func(c elements.ToolCall) bool { return c.KeepWith != nil && groups[c.KeepWith] }
	if slices.ContainsFunc(n.calls, linked) {
		n.calls = slices.DeleteFunc(slices.Clone(n.calls), linked)
		unlinked := make([]drop, len(n.laid.calls))
		copy(unlinked, n.unlinked)
		for i, c := range n.laid.calls {
			if unlinked[i].reason == Kept && linked(c) {
				unlinked[i] = drop{reason: ReasonGroup, step: p.step}
			}
		}
		n.unlinked = unlinked
		p.freed.unknown = true
		n.changed()
	}
	if n.empty() && !n.held {
		p.remove(n, ReasonEmptied)
	}
}
