package render

import (
	"math"
	"strconv"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// unset is the priority of what has none: the highest.
const unset = 1<<53 - 1

// A tree is pruned in steps, numbered from 1: a step is one choice and all that goes along with it. Nodes stay where they
// are and note the step at which they went, so that the tree can be looked at as it was after any step.
type step int32

const (
	latest step = math.MaxInt32 // the tree as it is
	never  step = -1            // at which went what was never there: the side of an IfEmpty that does not count
)

// kind says what a node is.
type kind uint8

const (
	container kind = iota // an element that holds others
	message
	text
	part       // image, document, thinking or opaque value
	breakpoint // cache breakpoint
)

// trait is what a node is by its layout.
type trait uint16

const (
	isRequired trait = 1 << iota
	hasPriority
	breaksAlways // starts on a line of its own: text chunks
	breaksFirst  // so does the first text of an element, unless other text stands beside the element
	isElement    // a text that is an element
	isChunk
	isLegacy
	passesOn
	isIfEmpty
	isTagged // a tag with children
	isGrouped

	isOneText // an element of one text: found by begin
	isBlock   // finished messages that are required: one node

	isOffered    // it was given a priority below the highest; what stands in it is offered to pruning too
	showsHistory // it has the marker [elements.ShowsHistory]
)

// has adds a trait where there is reason to.
func (t *trait) has(that trait, is bool) {
	if is {
		*t |= that
	}
}

// node is an element, a text or a part: layout makes it, pruning takes it out. There are many, and they go in any order:
// one has the size of a cache line, and what only those have that hold others is apart.
type node struct {
	parent *node // the element around it; nil for the root
	*inside
	text     string // of a text, or, from begin on, of the only one in an element
	priority int    // where it has one; from begin on that of any node

	index int32 // its place among its parent's children
	gone  step  // at which it was taken out, with what stood in it; 0 while it is there
	atom  int32 // the first that it is in the content of its message

	// Of a text the tokens that it counts by itself, or uncounted; of an element of a group the number of that, once groups
	// are known.
	number int32

	traits trait
	kind   kind
	own    builtin // what element it is: 0 for text and parts that are none
	cause  cause   // why it went

	restored bool // put back by backfill

	// Required. A locked node stays as it is; held tells that something in it stays.
	locked, held bool
}

// uncounted is the tokens of a text of which nobody asked them yet.
const uncounted = -1

// inside is what a node has that holds others or is rare. What few have is apart again.
type inside struct {
	*work
	children []node // all it had
	here     uint64 // which of the first 64 are there, where some are not
	left     int32  // children that are there
	giver    int32  // the first child that may have something to give
	solid    int32  // place, from 1, of a child that is there and holds more than white space; none, or 0 if not known

	counted bool // as it is, or as it was if stale
	stale   bool // a message to be counted again
	plain   bool // its children are texts without anything special, that have begun
	flat    bool // all its children are pieces
	lines   bool // it holds nothing but texts that start on lines of their own, and line breaks
	seen    bool // by a lineage
	pinned  bool // it stays, though its children may go

	// What is seldom asked for stands behind the first 64 bytes, which are one cache line.
	atomsEnd int32 // where its atoms end
	tokens   int   // where it was counted
	bytes    int   // of its children, where it is plain

	// By layout.
	rare     *rare
	name     *string         // where the type is the caller's
	with     *elements.Group // of a KeepWith
	finished *finished       // of finished messages
}

// none is the place of the solid child where there is none.
const none = -1

// hollow is the inside of a piece that has none. It is never written to.
var hollow = inside{work: &idle}

// rare is what few have by layout, or only messages. Copies of a tree share it.
type rare struct {
	node  elements.Node // the element itself and its properties, where the tree is to be transferred
	props elements.Props
	order []int32 // the children that are elements, in the order in which they were laid out, where it is not theirs

	part   chat.Part
	tokens int // of the part

	// Containers.
	limit     int // of a TokenLimit, else 0
	tag       *tag
	expand    *elements.Expandable
	expandMax int // tokens that an Expandable's first rendering used

	// Messages: everything but the content.
	frame chat.Message
	calls []elements.ToolCall

	// What goes along.
	globals, locals elements.Metadata
	references      []elements.Reference
}

// tag is a Tag with children.
type tag struct {
	open, close string
	tokens      int
}

// nothing is there where nothing was set. It is never written to.
var nothing rare

// work is what few nodes have, and what is worked out for them when it is asked for.
type work struct {
	calling     int32 // tool calls that are there
	breakpoints int32 // for a message those directly in it, for an element those messages

	content  *content          // of a message that was counted piece by piece
	parts    *[partTypes]int32 // of a message that is counted as a whole: by type
	choice   *choice           // among what stands in it
	ranks    *ranks            // the priorities of its children
	beyond   []uint64          // which children beyond the first 64 are there, where some are not
	unlinked []unlinked        // what became of each tool call it had; nil where none went
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

// more reads what few have.
func (n *node) more() *rare {
	if n.inside == nil || n.rare == nil {
		return &nothing
	}
	return n.rare
}

// set gives what few have to be written to.
func (n *node) set() *rare {
	if in := n.holding(); in.rare == nil {
		in.rare = &rare{}
	}
	return n.rare
}

// holding gives what it has by holding others to be written to.
func (n *node) holding() *inside {
	if n.inside == nil || n.inside == &hollow {
		n.inside = &inside{}
	}
	return n.inside
}

// all are the children it had, and may be asked for before pruning too.
func (n *node) all() []node {
	if n.inside == nil {
		return nil
	}
	return n.children
}

// linked is the group of a KeepWith, nil for anything else.
func (n *node) linked() *elements.Group {
	if !n.is(isGrouped) {
		return nil
	}
	return n.with
}

func (n *node) is(t trait) bool { return n.traits&t != 0 }

// leaf tells a piece of text, a part or a breakpoint from what holds others.
func (n *node) leaf() bool { return n.kind > message }

// prioritize sets the priority, if there is one to set. None is above that of what has none.
func (n *node) prioritize(priority *int) {
	if priority != nil {
		n.priority = min(*priority, unset)
		n.traits |= hasPriority
		n.traits.has(isOffered, n.priority < unset)
	}
}

// inherit takes the priority of the element around it.
func (n *node) inherit(up *node) {
	n.priority = up.priority
	n.traits |= up.traits & (hasPriority | isOffered)
}

// given is the priority, nil where there is none.
func (n *node) given() *int {
	if !n.is(hasPriority) {
		return nil
	}
	return new(n.priority)
}

// cost notes what a text counts by itself, unless that is too much to be noted.
func (n *node) cost(tokens int) {
	if n.number = int32(tokens); int(n.number) != tokens {
		n.number = uncounted
	}
}

// add adds a child. It does not move those that are there, if there is room for it.
func (n *node) add(c node) *node {
	in := n.holding()
	c.parent, c.index = n, int32(len(in.children))
	in.children = append(in.children, c)
	return &in.children[len(in.children)-1]
}

// elementName is the name of the element; "" for text and parts that are none.
func (n *node) elementName() string {
	if n.own == callers {
		return *n.name
	}
	return builtinNames[n.own]
}

// path of the element, such as "Root > UserMessage#2"; of the element around it, for text and parts that are none.
func (n *node) path() string { return paths{}.of(n) }

// paths gives the paths of many elements: it notes the numbers of siblings, by what they stand in, so as to number them once.
type paths map[*node][]int

func (p paths) of(n *node) string {
	if n == nil {
		return ""
	}
	path := p.of(n.parent)
	if n.own == 0 {
		return path
	}
	return n.pathIn(path, p.nth(n))
}

// nth is an element's number among siblings of its name, from 1; 0 where it is the only one.
func (p paths) nth(n *node) int {
	if n.parent == nil {
		return 0
	}
	if p[n.parent] == nil {
		p[n.parent] = numbers(n.parent.all())
	}
	return p[n.parent][n.index]
}

// numbers are those of siblings among those of their name, from 1; 0 for the only one.
func numbers(siblings []node) []int {
	list := make([]int, len(siblings))
	if len(siblings) < 2 {
		return list
	}
	type tally struct{ first, n int }
	names := map[string]tally{}
	for i := range siblings {
		name := siblings[i].elementName()
		t, met := names[name]
		if !met {
			t.first = i
		}
		t.n++
		names[name] = t
		if met {
			list[t.first], list[i] = 1, t.n
		}
	}
	return list
}

// pathIn is the path of an element, the nth of its name, in one of this path.
func (n *node) pathIn(path string, nth int) string {
	if path != "" {
		path += " > "
	}
	path += n.elementName()
	if nth > 0 {
		path += "#" + strconv.Itoa(nth)
	}
	return path
}

// laidOrder gives the children that are elements in the order in which they were laid out.
func (n *node) laidOrder(yield func(*node) bool) {
	children := n.all()
	if order := n.more().order; order != nil {
		for _, i := range order {
			if !yield(&children[i]) {
				return
			}
		}
		return
	}
	for i := range children {
		if c := &children[i]; c.own != 0 && !yield(c) {
			return
		}
	}
}

// note keeps a metadata value. Local to the root is as good as global.
func (n *node) note(entry elements.MetaEntry) {
	more := n.set()
	if entry.Local && n.parent != nil {
		more.locals = append(more.locals, entry)
	} else {
		more.globals = append(more.globals, entry)
	}
}

// tag is that of a Tag with children, nil for anything else.
func (n *node) tag() *tag {
	if !n.is(isTagged) {
		return nil
	}
	return n.rare.tag
}
