package render

import (
	"math"

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

// node is a piece of the tree that is pruned, made from a laid-out one. There are many, so what few of them have is apart.
type node struct {
	laid     *laid
	parent   *node
	children []node // all it had
	priority int
	*work

	gone step // at which it was taken out, with what stood in it; 0 while it is there
	why  drop
	kind kind // of what was laid out

	restored bool // put back by backfill
	counted  bool // tokens is true

	// Required. A locked node stays as it is; a pinned one stays, though its children may go; held tells that there is
	// one of either kind in it.
	locked, pinned, held bool

	tokens      int32
	left        int32 // children that are there
	full        int32 // children that are there and hold more than white space
	calling     int32 // tool calls that are there
	breakpoints int32 // for a message those directly in it, for an element those messages
	giver       int32 // the first child that may have something to give
	order       int32 // place among all nodes
	atoms       span  // what it is in the content of its message
}

// work is what is worked out for a node when it is asked for.
type work struct {
	content  *content   // of a message that was counted piece by piece
	choice   *choice    // among what stands in it
	ranks    *ranks     // the priorities of its children
	unlinked []unlinked // what became of each tool call it had; nil where none went
}

// idle is the work of a node for which nothing was worked out. It is never written to.
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
	reason cause
	limit  int32 // for which it went, its number among the limits, from 1; 0 for the whole prompt
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
	gone step
	why  drop
}

// newTree makes a tree to prune from a laid-out one.
func newTree(l *laid) *node {
	root := &node{}
	b := treeBuilder{nodes: make([]node, count(l)-1)}
	b.build(root, nil, l)
	root.settle()
	return root
}

// count is the number of nodes.
func count(l *laid) int {
	n := 1
	for _, c := range l.children {
		n += count(c)
	}
	return n
}

// treeBuilder hands out nodes, the children of one beside each other.
type treeBuilder struct {
	nodes []node
	order int32
}

func (b *treeBuilder) build(n, parent *node, l *laid) {
	*n = node{laid: l, kind: l.kind, parent: parent, priority: unset, order: b.order, work: &idle}
	b.order++
	switch {
	case l.priority != nil:
		n.priority = *l.priority
	case l.kind == container && l.pass:
		n.priority = 0
	}
	if len(l.children) > 0 {
		n.children, b.nodes = b.nodes[:len(l.children):len(l.children)], b.nodes[len(l.children):]
		for i, c := range l.children {
			b.build(&n.children[i], n, c)
		}
	}
	if l.ifEmpty {
		// The alternative, then the children it stands in for.
		alt, given := n.children[:1:1], n.children[1:]
		given[0].settle()
		if n.children = given; given[0].empty() {
			n.children = alt
		}
	}
}

// settle works out what follows from which nodes are there.
func (n *node) settle() {
	for i := range n.children {
		n.children[i].settle()
	}
	n.atoms = span{}
	n.resettle()
}

// resettle does so after something changed in n.
func (n *node) resettle() {
	n.left, n.full, n.breakpoints, n.giver = 0, 0, 0, 0
	n.counted = false
	if n.work != &idle {
		n.content, n.choice, n.ranks = nil, nil, nil
	}
	n.calling = int32(len(n.laid.more().calls))
	for _, u := range n.unlinked {
		if u.gone != 0 {
			n.calling--
		}
	}
	for i := range n.children {
		c := &n.children[i]
		if c.gone != 0 {
			continue
		}
		n.left++
		if !c.empty() {
			n.full++
		}
		n.breakpoints += c.holdsBreakpoints(n)
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

// leaf tells a piece of text, a part or a breakpoint from what holds others.
func (n *node) leaf() bool { return n.kind != container && n.kind != message }

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

// within tells that the node is other, or stands in it.
func (n *node) within(other *node) bool {
	for ; n != nil; n = n.parent {
		if n == other {
			return true
		}
	}
	return false
}

// passes tells that the node's children compete in its place.
func (n *node) passes() bool { return n.kind == container && n.laid.pass && n.left > 0 }

// empty tells that only white space is left.
func (n *node) empty() bool {
	switch n.kind {
	case text:
		return blank(n.laid.text)
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

// walk calls f on the node and everything that was in it after a step, in document order.
func (n *node) walk(at step, f func(*node)) {
	f(n)
	for i := range n.children {
		if c := &n.children[i]; c.there(at) {
			c.walk(at, f)
		}
	}
}

// ownTokens is what a piece counts by itself, with 1 more where a line break may be put before it.
func (n *node) ownTokens() int {
	if n.laid.breaks != breakNever {
		return n.laid.tokens + 1
	}
	return n.laid.tokens
}

// messages gives the messages that had something to say after a step.
func (n *node) messages(at step) []chat.Message {
	var list []chat.Message
	var collect func(n *node)
	collect = func(n *node) {
		switch {
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
