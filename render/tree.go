package render

import (
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// unset is the priority of what has none: the highest.
const unset = 1<<53 - 1

// A tree is pruned in steps, numbered from 1: a step is one choice and all that goes along with it. Nodes stay where they
// are and note the step at which they went, so that the tree can be looked at as it was after any step.
type step int32

// latest is the tree as it is.
const latest step = math.MaxInt32

// node is a piece of the tree that is pruned, made from a laid-out one. There are many, and they go in any order: one has
// the size of a cache line, and what only those have that hold others is apart.
type node struct {
	parent *node
	*inside
	laid     *laid
	priority int
	order    int32 // place among all nodes

	gone  step  // at which it was taken out, with what stood in it; 0 while it is there
	limit int32 // for which, as in drop
	atom  int32 // the first that it is in the content of its message
	bytes int32 // of a text, or of the only one in an element
	alone int32 // tokens that a text counts by itself
	cause cause // why it went
	kind  kind  // of what was laid out

	traits  trait
	counted bool // a text by itself, anything else as it is

	restored bool // put back by backfill

	// Required. A locked node stays as it is; held tells that something in it stays.
	locked, held bool
}

// inside is what stands in an element. It has the size of a cache line too.
type inside struct {
	*work
	children []node // all it had
	tokens   int    // where it was counted
	left     int32  // children that are there
	full     int32  // children that are there and hold more than white space
	giver    int32  // the first child that may have something to give
	group    int32  // its number, from 1, once groups are known
	atomsEnd int32  // where its atoms end
	flat     bool   // all its children are pieces
	lines    bool   // it holds nothing but texts that start on lines of their own
	seen     bool   // by a lineage
	pinned   bool   // it stays, though its children may go
}

// hollow is the inside of a piece. It is never written to.
var hollow = inside{work: &idle}

// work is what few nodes have, and what is worked out for them when it is asked for.
type work struct {
	calling     int32 // tool calls that are there
	breakpoints int32 // for a message those directly in it, for an element those messages

	content  *content   // of a message that was counted piece by piece
	choice   *choice    // among what stands in it
	ranks    *ranks     // the priorities of its children
	unlinked []unlinked // what became of each tool call it had; nil where none went
}

// idle is the work of a node that has none of it. It is never written to.
var idle work

// working gives a node's work to be written to.
func (n *node) working() *work {
	if n.work == &idle {
		n.work = &work{}
	}
	return n.work
}

// drop says why a node went.
type drop struct {
	limit int32 // for which it went, its number among the limits, from 1; 0 for the whole prompt
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

// why says why the node went.
func (n *node) why() drop { return drop{n.limit, n.cause} }

// reasons are the causes in words.
var reasons = [...]Reason{byPriority: ReasonPriority, byChunk: ReasonChunk, byGroup: ReasonGroup, byEmptiness: ReasonEmptied}

// unlinked tells when and why a tool call went without its message.
type unlinked struct {
	gone     step
	why      drop
	restored bool // put back by backfill
}

func (n *node) is(t trait) bool { return n.traits&t != 0 }

// traitsOf are those of the piece and of what stands in it.
func traitsOf(l *laid) trait {
	t := l.traits
	if l.kind != text {
		t.has(isTagged, l.more().tag != nil)
		t.has(isGrouped, l.inside().group != nil)
	}
	switch l.kind {
	case text:
		t.has(isBlank, blank(l.text))
	case container:
		t.has(isOneText, len(l.children()) == 1 && l.children()[0].kind == text)
	default:
		t &^= isChunk | isLegacy | passesOn
	}
	return t
}

// newTree makes a tree to prune from a laid-out one, and tells what is in it.
func newTree(l *laid) (root *node, b *treeBuilder) {
	root, b = &node{}, &treeBuilder{}
	root.begin(nil, l)
	b.build(root, surroundings{})
	return root, b
}

// treeBuilder hands out nodes, the children of one beside each other, and notes what is among them.
type treeBuilder struct {
	nodes   slab[node]
	insides slab[inside]
	order   int32

	grouped               int // elements of groups
	breakpoints, required bool
	noted                 bool                 // there is metadata
	nested                bool                 // there is a message in a message
	partly                bool                 // there is a chunk with something required in it that is not required whole
	live                  []*node              // with a limit, or that grow
	cited                 []elements.Reference // in document order
}

// surroundings are what a node stands in.
type surroundings struct{ message, locked bool }

// begin makes n the node of a piece, with nothing in it yet.
func (n *node) begin(parent *node, l *laid) {
	*n = node{laid: l, kind: l.kind, traits: traitsOf(l), parent: parent, inside: &hollow, priority: unset}
	only := l
	if n.is(isOneText) {
		only = &l.children()[0]
	}
	n.bytes = int32(min(len(only.text), math.MaxInt32))
	switch {
	case n.is(hasPriority):
		n.priority = l.priority
	case n.is(passesOn):
		n.priority = 0
	}
}

// build goes on with a node that has begun.
func (b *treeBuilder) build(n *node, in surroundings) {
	l := n.laid
	n.order = b.order
	b.order++
	b.breakpoints = b.breakpoints || n.kind == breakpoint
	b.nested = b.nested || n.kind == message && in.message
	if n.is(isGrouped) {
		b.grouped++
	}
	b.required = b.required || n.is(isRequired)
	if l.rare != nil {
		if l.rare.limit > 0 || l.rare.expand != nil {
			b.live = append(b.live, n)
		}
		b.noted = b.noted || l.rare.globals != nil || l.rare.locals != nil
		b.cited = append(b.cited, l.rare.references...)
	}
	in.locked = in.locked || n.is(isRequired)
	n.locked, n.held = in.locked, in.locked
	if n.leaf() {
		return
	}
	n.inside = &b.insides.take(1)[0]
	n.work, n.flat, n.lines = &idle, true, true
	if finished := l.inside().finished; finished != nil && in.locked {
		n.traits |= isBlock
		b.breakpoints = b.breakpoints || finished.breakpoints > 0
		n.resettle()
		return
	}
	n.settleCalls()
	children := l.children()
	n.children = b.nodes.take(len(children))
	in.message = in.message || n.kind == message
	if n.is(isIfEmpty) {
		b.eitherSide(n, in)
	} else {
		for from := 0; from < len(children); from += atOnce {
			to := min(from+atOnce, len(children))
			for i := from; i < to; i++ { // first, for this reads texts, which may be far off (see touch.go)
				n.children[i].begin(n, &children[i])
			}
			for i := from; i < to; i++ {
				c := &n.children[i]
				b.build(c, in)
				n.adopt(c)
			}
		}
	}
	b.partly = b.partly || n.is(isChunk) && !n.is(passesOn) && n.held && !n.locked
}

// eitherSide builds the two sides of an IfEmpty, the alternative and the children that it stands in for, and forgets one
// of them.
func (b *treeBuilder) eitherSide(n *node, in surroundings) {
	alt, given := &n.children[0], &n.children[1]
	live, cited := len(b.live), len(b.cited)
	alt.begin(n, &n.laid.children()[0])
	given.begin(n, &n.laid.children()[1])
	b.build(alt, in)
	liveAlt, citedAlt := len(b.live), len(b.cited)
	b.build(given, in)
	stays := given
	if given.empty() {
		stays = alt
		n.children = n.children[:1:1]
		b.live, b.cited = b.live[:liveAlt], b.cited[:citedAlt]
	} else {
		n.children = n.children[1:]
		b.live, b.cited = slices.Delete(b.live, live, liveAlt), slices.Delete(b.cited, cited, citedAlt)
	}
	n.adopt(stays)
}

// adopt takes note of a child that was built.
func (n *node) adopt(c *node) {
	n.settle(c)
	n.held, n.flat = n.held || c.held, n.flat && c.leaf()
	n.lines = n.lines && c.isLines()
}

// isLines tells that there is nothing in n but texts that start on lines of their own.
func (n *node) isLines() bool {
	if n.leaf() {
		return n.kind == text && n.is(breaksAlways)
	}
	return n.lines
}

// resettle works out what follows from which children are there.
func (n *node) resettle() {
	n.left, n.full, n.giver = 0, 0, 0
	n.counted = false
	if n.work != &idle {
		*n.work = work{unlinked: n.unlinked}
	}
	if n.is(isBlock) {
		finished := n.laid.hold.finished
		n.addBreakpoints(finished.breakpoints)
		n.full = min(1, int32(len(finished.messages)))
		return
	}
	n.settleCalls()
	for i := range n.children {
		if c := &n.children[i]; c.gone == 0 {
			n.settle(c)
		}
	}
}

// settleCalls takes note of the tool calls that are there.
func (n *node) settleCalls() {
	if n.kind != message || len(n.laid.more().calls) == 0 {
		return
	}
	n.working().calling = int32(len(n.laid.more().calls))
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

// settle takes note of a child that is there.
func (n *node) settle(c *node) {
	n.left++
	if !c.empty() {
		n.full++
	}
	n.addBreakpoints(c.holdsBreakpoints(n))
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

// tag is that of a Tag with children, nil for anything else.
func (n *node) tag() *tag {
	if !n.is(isTagged) {
		return nil
	}
	return n.laid.rare.tag
}

// leaf tells a piece of text, a part or a breakpoint from what holds others.
func (n *node) leaf() bool { return n.kind.leaf() }

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
		return n.is(isBlank)
	case part, breakpoint:
		return false
	}
	return n.full == 0 && n.calling == 0
}

// emptyAt tells that only white space was left after a step.
func (n *node) emptyAt(at step) bool {
	if at == latest || n.leaf() {
		return n.empty()
	}
	if len(n.callsAt(at)) > 0 {
		return false
	}
	for i := range n.children {
		if c := &n.children[i]; c.there(at) && !c.emptyAt(at) {
			return false
		}
	}
	return true
}

// callsAt are the tool calls that were there after a step.
func (n *node) callsAt(at step) []elements.ToolCall {
	calls := n.laid.more().calls
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

// path of the element.
func (n *node) path() string {
	path := ""
	if n.parent != nil {
		path = n.parent.path()
	}
	if n.laid.own == 0 {
		return path
	}
	return n.laid.pathIn(path)
}

// walk calls f on the node and everything that was in it after a step, in document order.
func (n *node) walk(at step, f func(*node)) {
	f(n)
	for i := range n.children {
		if c := &n.children[i]; c.there(at) {
			c.walk(at, f)
		}
	}
}

// messages gives the messages that had something to say after a step.
func (n *node) messages(at step) []chat.Message {
	var list []chat.Message
	var collect func(n *node)
	collect = func(n *node) {
		switch {
		case n.is(isBlock):
			list = n.laid.hold.finished.whole(list)
		case n.kind == container:
			for i := range n.children {
				if c := &n.children[i]; c.there(at) {
					collect(c)
				}
			}
		case n.kind == message && !n.emptyAt(at):
			list = append(list, n.chatMessage(at))
		}
	}
	collect(n)
	return list
}
