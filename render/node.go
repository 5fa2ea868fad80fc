package render

import (
	"strconv"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// unset is the priority of what has none: the highest.
const unset = tree.Unset

// kind is that of the tree. No node is tree.Finished before the tree is built.
type kind = tree.Kind

const (
	container  = tree.Container
	message    = tree.Message
	text       = tree.Text
	part       = tree.Part
	breakpoint = tree.Breakpoint
)

// trait is what a node is by its layout: flags that the tree has too, and some that only the layout needs.
type trait tree.Flags

const (
	isRequired   = trait(tree.Required)
	hasPriority  = trait(tree.Given)
	isOffered    = trait(tree.Offered)
	breaksAlways = trait(tree.StartsLine)
	breaksFirst  = trait(tree.StartsElement)
	isElement    = trait(tree.Element)
	isChunk      = trait(tree.Chunk)
	isLegacy     = trait(tree.Legacy)
	passesOn     = trait(tree.PassesPriority)

	// inTree are those that the tree has too, but for isRequired, which depends on the history mode.
	inTree = hasPriority | isOffered | breaksAlways | breaksFirst | isElement | isChunk | isLegacy | passesOn
)

const (
	isIfEmpty    trait = 1 << (15 - iota)
	isTagged           // a tag with children
	isGrouped          // a KeepWith with a group
	showsHistory       // it has the marker [elements.ShowsHistory]
)

// has adds a trait if there is reason to.
func (t *trait) has(that trait, is bool) {
	if is {
		*t |= that
	}
}

// node is an element, a text or a part as it is laid out.
type node struct {
	parent *node // the element around it; nil for the root
	*inside
	text     string        // of a text
	priority int           // if it has one
	index    int32         // its place among its parent's children
	number   int32         // of a text the tokens that it counts by itself, or uncounted
	count    *atomic.Int32 // of a text, as trees keep it
	traits   trait
	kind     kind
	own      builtin // what element it is: 0 for text and parts that are none
}

// uncounted is the tokens of a text of which nobody asked them yet.
const uncounted = -1

// inside is what a node has that holds others or is rare. What few have is apart again.
type inside struct {
	children []node
	rare     *rare
	name     *string         // of the caller's type
	with     *elements.Group // of a KeepWith
	finished *finished       // of finished messages
}

// rare is what few have by layout, or only messages.
type rare struct {
	node  elements.Node // the element itself and its properties, if the tree is to be transferred
	props elements.Props
	order []int32 // the children that are elements, in the order in which they were laid out, if it is not theirs

	part   chat.Part
	tokens int // of the part

	// Containers.
	limit     int // of a TokenLimit, else 0
	tag       *tree.Tag
	expand    *elements.Expandable
	expandMax int // tokens that an Expandable's first rendering used

	// Messages: everything but the content.
	frame chat.Message
	calls []elements.ToolCall

	// What goes along.
	globals, locals elements.Metadata
	references      []elements.Reference
}

// nothing is what a node has to which nothing was set. It is never written to.
var nothing rare

// more reads what few have.
func (n *node) more() *rare {
	if n.inside == nil || n.rare == nil {
		return &nothing
	}
	return n.rare
}

// set returns what few have, to be written to.
func (n *node) set() *rare {
	if in := n.holding(); in.rare == nil {
		in.rare = &rare{}
	}
	return n.rare
}

// holding returns what a node has that holds others, to be written to.
func (n *node) holding() *inside {
	if n.inside == nil {
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

// leaf reports whether a node is a text, a part or a breakpoint, and not what holds others.
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

// given is the priority, nil if there is none.
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
func (n *node) path() string {
	if n == nil {
		return ""
	}
	path := n.parent.path()
	if n.own == 0 {
		return path
	}
	nth := 0
	if n.parent != nil {
		nth = numbers(n.parent.all())[n.index]
	}
	return n.pathIn(path, nth)
}

// numbers are those of siblings among those of their name, from 1; 0 for the only one.
func numbers(siblings []node) []int {
	list := make([]int, len(siblings))
	if len(siblings) < 2 {
		return list
	}
	type tally struct{ first, n int }
	var ours [callers]tally
	theirs := map[string]*tally{}
	for i := range siblings {
		c := &siblings[i]
		t := &ours[c.own%callers]
		if c.own == callers {
			if theirs[*c.name] == nil {
				theirs[*c.name] = &tally{}
			}
			t = theirs[*c.name]
		}
		if t.n++; t.n == 1 {
			t.first = i
		} else {
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

// laidOrder yields the children that are elements in the order in which they were laid out.
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
func (n *node) tag() *tree.Tag {
	if !n.is(isTagged) {
		return nil
	}
	return n.rare.tag
}
