package render

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// unset is the priority of what has none: the highest.
const unset = 1<<53 - 1

// node is a piece of the tree that is pruned, made from a laid-out one.
type node struct {
	laid     *laid
	parent   *node
	children []*node // those that are left
	all      []*node // all it had, for the report
	calls    []elements.ToolCall
	unlinked []drop // why each call it had is gone, where it went with its group; nil where none did
	priority int

	gone bool // taken out, with what stood in it
	drop drop // why

	restored bool // put back by backfill

	// Required. A locked node stays as it is; a pinned one stays, though its children may go; held tells that there is
	// one of either kind in it.
	locked, pinned, held bool

	tokens  int
	counted bool
}

// newNode makes a tree to prune from a laid-out one.
func newNode(parent *node, l *laid) *node {
	n := &node{laid: l, parent: parent, calls: l.calls, priority: unset}
	switch {
	case l.priority != nil:
		n.priority = *l.priority
	case l.kind == container && l.pass:
		n.priority = 0
	}
	children := l.children
	n.children = make([]*node, len(children))
	for i, c := range children {
		n.children[i] = newNode(n, c)
	}
	if l.ifEmpty {
		// The alternative, then the children it stands in for.
		if alt, given := n.children[0], n.children[1]; given.empty() {
			n.children = []*node{alt}
		} else {
			n.children = []*node{given}
		}
	}
	n.all = slices.Clone(n.children)
	return n
}

// leaf tells a piece of text, a part or a breakpoint from what holds others.
func (n *node) leaf() bool { return n.laid.kind != container && n.laid.kind != message }

// chunk tells that the node goes as a whole. One that passes its priority on has lost that.
func (n *node) chunk() bool { return n.laid.chunk }

// passes tells that the node's children compete in its place.
func (n *node) passes() bool {
	return n.laid.kind == container && n.laid.pass && len(n.children) > 0
}

// empty tells that only white space is left.
func (n *node) empty() bool {
	switch n.laid.kind {
	case text:
		return blank(n.laid.text)
	case part, breakpoint:
		return false
	case message:
		if len(n.calls) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(n.children, func(c *node) bool { return !c.empty() })
}

// changed forgets the counts that the node is part of.
func (n *node) changed() {
	for ; n != nil; n = n.parent {
		n.counted = false
	}
}

// attached tells that the node is still in the tree.
func (n *node) attached() bool {
	for ; n != nil; n = n.parent {
		if n.gone {
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

// walk calls f on the node and everything left in it, in document order.
func (n *node) walk(f func(*node)) {
	f(n)
	for _, c := range n.children {
		c.walk(f)
	}
}

// ownTokens is what a piece counts by itself, with 1 more where a line break may be put before it.
func (n *node) ownTokens() int {
	if n.laid.breaks != breakNever {
		return n.laid.tokens + 1
	}
	return n.laid.tokens
}

// chatMessage is the message as it would be sent.
func (n *node) chatMessage() chat.Message {
	m := n.laid.frame
	m.ToolCalls = plainCalls(n.calls)
	var j joiner
	j.children(n, false)
	m.Content = j.finish()
	return m
}

// messages gives the messages in the tree that have something to say.
func (n *node) messages() []chat.Message {
	var list []chat.Message
	var collect func(n *node)
	collect = func(n *node) {
		switch {
		case n.laid.kind == container:
			for _, c := range n.children {
				collect(c)
			}
		case n.laid.kind == message && !n.empty():
			list = append(list, n.chatMessage())
		}
	}
	collect(n)
	return list
}

// joiner puts a message's pieces together: text to text, with line breaks where they belong.
type joiner struct {
	parts    chat.Parts
	text     strings.Builder
	open     bool // text is being joined
	afterTag bool // a tag has been closed: what follows starts on a line of its own
}

func (j *joiner) children(n *node, textBefore bool) {
	for _, c := range n.children {
		switch c.laid.kind {
		case text:
			j.add(c.laid.text, c.laid.breaks == breakAlways || c.laid.breaks == breakFirst && !textBefore)
			textBefore = true
		case part:
			j.part(c.laid.part)
		case breakpoint:
			j.breakpoint(c.laid.part)
		default:
			j.container(c, textBefore)
			textBefore = false
		}
	}
}

func (j *joiner) container(n *node, textBefore bool) {
	if n.laid.tagOpen == "" {
		j.children(n, textBefore)
		return
	}
	if n.empty() {
		return
	}
	j.add(n.laid.tagOpen, true)
	j.children(n, false)
	j.add(n.laid.tagClose, true)
	j.afterTag = true
}

// add joins a text to the one before it. A line break is put between them where one is asked for and there is none.
func (j *joiner) add(s string, onNewLine bool) {
	if s != "" {
		onNewLine = onNewLine || j.afterTag && !strings.HasPrefix(s, "\n")
		j.afterTag = false
	}
	if onNewLine && j.text.Len() > 0 && !strings.HasSuffix(j.text.String(), "\n") {
		j.text.WriteByte('\n')
	}
	j.text.WriteString(s)
	j.open = true
}

func (j *joiner) part(p chat.Part) {
	j.flush()
	j.parts = append(j.parts, p)
}

// breakpoint adds a cache breakpoint; of several in a row the last one stands.
func (j *joiner) breakpoint(p chat.Part) {
	j.flush()
	if last := len(j.parts) - 1; last >= 0 {
		if _, again := j.parts[last].(chat.CacheBreakpoint); again {
			j.parts[last] = p
			return
		}
	}
	j.parts = append(j.parts, p)
}

func (j *joiner) flush() {
	if j.open {
		j.parts = append(j.parts, chat.Text(j.text.String()))
	}
	j.text.Reset()
	j.open, j.afterTag = false, false
}

func (j *joiner) finish() chat.Parts {
	j.flush()
	return j.parts
}
