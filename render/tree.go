package render

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// drop says when and why something went.
type drop struct {
	gone  step
	cause cause
}

// cause is a [Reason], short.
type cause uint8

const (
	byPriority cause = iota + 1
	byChunk
	byGroup
	byEmptiness
)

// reasons are the causes in words.
var reasons = [...]Reason{byPriority: ReasonPriority, byChunk: ReasonChunk, byGroup: ReasonGroup, byEmptiness: ReasonEmptied}

// unlinked tells when and why a tool call went without its message.
type unlinked struct {
	drop
	restored bool // put back by backfill
}

// copy gives a tree as it was laid out, that can be pruned besides this one.
func (n *node) copy() *node {
	root := &node{}
	root.become(n)
	return root
}

// become makes n, which stands where it shall, a copy of another node and of what is in it.
func (n *node) become(other *node) {
	*n = node{
		parent: n.parent, text: other.text, priority: other.priority, index: n.index,
		traits: other.traits &^ isBlock, kind: other.kind, own: other.own,
	}
	if n.kind == text {
		n.number = other.number
	}
	if other.inside == nil || other.inside == &hollow {
		return
	}
	in := n.holding()
	in.rare, in.name, in.with, in.finished = other.rare, other.name, other.with, other.finished
	if other.finished == nil { // else begin adopts them, unless they are required
		n.adoptCopies(other.children)
	}
}

// adoptCopies gives n copies of nodes as its children.
func (n *node) adoptCopies(children []node) {
	n.children = make([]node, len(children))
	for i := range n.children {
		c := &n.children[i]
		c.parent, c.index = n, int32(i)
		c.become(&children[i])
	}
}

// begun is what is among the nodes of a tree that has begun.
type begun struct {
	pieces                int
	grouped               int // elements of groups, and calls linked to one
	breakpoints, required bool
	noted                 bool                 // there is metadata
	nested                bool                 // there is a message in a message
	chunks                bool                 // there is a chunk in a legacy element, or around messages
	partly                bool                 // there is a chunk with something required in it that is not required whole
	live                  bool                 // there is something with a limit, or that grows
	cited                 []elements.Reference // in document order
}

// begin makes a tree that was laid out one that can be pruned, and tells what is in it.
func begin(root *node) *begun {
	b := &begun{}
	root.begin()
	b.walk(root, surroundings{})
	return b
}

// surroundings are what a node stands in.
type surroundings struct{ message, locked, legacy bool }

// begin finds out about a node by itself.
func (n *node) begin() {
	if n.inside == nil {
		n.inside = &hollow
	} else if n.work == nil {
		n.work = &idle
	}
	switch n.kind {
	case container:
		if len(n.children) == 1 && n.children[0].kind == text {
			n.traits |= isOneText
			n.text = n.children[0].text
		}
	case message:
		n.traits &^= isChunk | isLegacy | passesOn
	}
	switch {
	case n.is(hasPriority):
	case n.is(passesOn):
		n.priority = 0
	default:
		n.priority = unset
	}
}

// walk goes on with a node that has begun.
func (b *begun) walk(n *node, in surroundings) {
	b.breakpoints = b.breakpoints || n.kind == breakpoint
	b.nested = b.nested || n.kind == message && in.message
	if n.is(isGrouped) {
		b.grouped++
	}
	b.chunks = b.chunks || n.is(isChunk) && (in.legacy || !in.message)
	b.required = b.required || n.is(isRequired)
	if n.rare != nil {
		b.live = b.live || n.rare.limit > 0 || n.rare.expand != nil
		b.noted = b.noted || n.rare.globals != nil || n.rare.locals != nil
		b.cited = append(b.cited, n.rare.references...)
	}
	in.locked = in.locked || n.is(isRequired)
	n.locked, n.held = in.locked, in.locked
	if n.leaf() {
		b.pieces++
		return
	}
	for _, c := range n.more().calls {
		if c.KeepWith != nil {
			b.grouped++
		}
	}
	if n.inside == &hollow {
		n.holding().work = &idle
	}
	n.flat, n.lines = true, true
	n.left = int32(len(n.children))
	n.settleCalls()
	if n.plain && !in.locked {
		b.pieces += len(n.children)
		return
	}
	if n.finished != nil {
		if in.locked {
			n.traits |= isBlock
			b.breakpoints = b.breakpoints || n.finished.breakpoints > 0
			n.addBreakpoints(n.finished.breakpoints)
			return
		}
		if len(n.children) == 0 { // they are shared until now
			n.finished.adopt(n)
			n.left = int32(len(n.children))
		}
	}
	in.message, in.legacy = in.message || n.kind == message, in.legacy || n.is(isLegacy)
	if n.is(isIfEmpty) {
		b.eitherSide(n, in)
	} else {
		for i := range n.children {
			c := &n.children[i]
			c.begin()
			b.walk(c, in)
			n.adopt(c)
		}
	}
	b.partly = b.partly || n.is(isChunk) && !n.is(passesOn) && n.held && !n.locked
}

// eitherSide goes on with the two sides of an IfEmpty, the alternative and the children that it stands in for, and forgets
// one of them.
func (b *begun) eitherSide(n *node, in surroundings) {
	alt, given := &n.children[0], &n.children[1]
	cited := len(b.cited)
	alt.begin()
	given.begin()
	b.walk(alt, in)
	citedAlt := len(b.cited)
	b.walk(given, in)
	stays, goes := given, alt
	if given.empty() {
		stays, goes = alt, given
		b.cited = b.cited[:citedAlt]
	} else {
		b.cited = slices.Delete(b.cited, cited, citedAlt)
	}
	goes.gone = never
	n.lose(goes)
	n.adopt(stays)
}

// adopt takes note of a child, and of what was found in it.
func (n *node) adopt(c *node) {
	n.addBreakpoints(c.holdsBreakpoints(n))
	n.held, n.flat = n.held || c.held, n.flat && c.leaf()
	n.lines = n.lines && c.isLines()
}

// isLines tells that there is nothing in n but texts that start on lines of their own, and line breaks.
func (n *node) isLines() bool {
	if n.leaf() {
		return n.kind == text && (n.is(breaksAlways) || n.text == "\n")
	}
	return n.lines
}

// resettle forgets what followed from which children were there.
func (n *node) resettle() {
	n.solid, n.giver = 0, 0
	n.counted = false
	if n.work != &idle {
		*n.work = work{breakpoints: n.breakpoints, unlinked: n.unlinked, beyond: n.beyond}
	}
	n.settleCalls()
}

// settleCalls takes note of the tool calls that are there.
func (n *node) settleCalls() {
	if n.kind != message || len(n.more().calls) == 0 {
		return
	}
	n.working().calling = int32(len(n.more().calls))
	for _, u := range n.unlinked {
		if u.gone != 0 {
			n.calling--
		}
	}
}

func (n *node) addBreakpoints(more int32) {
	if more != 0 {
		n.working().breakpoints += more
	}
}

// holdsBreakpoints is how many breakpoints n adds to those of its parent: a breakpoint counts in its message, and a message
// with one in what is around it, but not in another message.
func (n *node) holdsBreakpoints(parent *node) int32 {
	switch {
	case n.kind == breakpoint:
		return 1
	case parent.kind == message || n.breakpoints == 0:
		return 0
	}
	return 1
}

// there tells that the node had not gone by a step, as long as what it stands in had not.
func (n *node) there(at step) bool { return n.gone == 0 || n.gone > at }

// attached tells that the node and all it stands in are there.
func (n *node) attached() bool { return n.attachedTo(nil) }

// attachedTo tells that the node and what it stands in, up to an ancestor, are there.
func (n *node) attachedTo(ancestor *node) bool {
	for ; n != ancestor && n != nil; n = n.parent {
		if n.gone != 0 {
			return false
		}
	}
	return true
}

// passes tells that the node's children compete in its place.
func (n *node) passes() bool { return n.is(passesOn) && n.left > 0 }

// empty tells that only white space is left.
func (n *node) empty() bool {
	switch n.kind {
	case text:
		return blank(n.text)
	case part, breakpoint:
		return false
	}
	if n.solid == 0 {
		n.solid = n.solidBeside(len(n.children))
	}
	return n.solid == none && n.calling == 0
}

// solidBeside finds a child beside a place that is there and holds more than white space. It looks on both sides, ever
// farther, so that much white space is not gone through again with each child that goes.
func (n *node) solidBeside(place int) int32 {
	if n.is(isBlock) && len(n.finished.messages) > 0 {
		return 1
	}
	before, after := n.before(place), n.nextAt(place+1, latest)
	for before >= 0 || after < len(n.children) {
		if before >= 0 {
			if !n.children[before].empty() {
				return int32(before) + 1
			}
			before = n.before(before)
		}
		if after < len(n.children) {
			if !n.children[after].empty() {
				return int32(after) + 1
			}
			after = n.nextAt(after+1, latest)
		}
	}
	return none
}

// emptyAt tells that only white space was left after a step.
func (n *node) emptyAt(at step) bool {
	if at == latest || n.leaf() {
		return n.empty()
	}
	if len(n.callsAt(at)) > 0 {
		return false
	}
	for c := range n.present(at) {
		if !c.emptyAt(at) {
			return false
		}
	}
	return true
}

// callsAt are the tool calls that were there after a step.
func (n *node) callsAt(at step) []elements.ToolCall {
	calls := n.more().calls
	if n.unlinked == nil {
		return calls
	}
	var left []elements.ToolCall
	for i, c := range calls {
		if u := n.unlinked[i]; u.gone == 0 || u.gone > at {
			left = append(left, c)
		}
	}
	return left
}

// walk calls f on the node and everything that was in it after a step, in document order.
func (n *node) walk(at step, f func(*node)) {
	f(n)
	for i := n.nextAt(0, at); i < len(n.children); i = n.nextAt(i+1, at) {
		n.children[i].walk(at, f)
	}
}

// messages gives the messages that had something to say after a step.
func (n *node) messages(at step) []chat.Message {
	var list []chat.Message
	var collect func(n *node)
	collect = func(n *node) {
		switch {
		case n.is(isBlock):
			list = n.finished.whole(list)
		case n.kind == container:
			for c := range n.present(at) {
				collect(c)
			}
		case n.kind == message && !n.emptyAt(at):
			list = append(list, n.chatMessage(at))
		}
	}
	collect(n)
	return list
}
