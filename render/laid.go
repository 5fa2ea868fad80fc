package render

import (
	"strconv"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// kind says what a piece of a laid-out tree is.
type kind uint8

const (
	container kind = iota // an element that holds others
	message
	text
	part       // image, document, thinking or opaque value
	breakpoint // cache breakpoint
)

// leaf tells a piece of text, a part or a breakpoint from what holds others.
func (k kind) leaf() bool { return k > message }

// trait is what a piece is by its layout.
type trait uint16

const (
	isRequired trait = 1 << iota
	hasPriority
	breaksAlways // starts on a line of its own: text chunks
	breaksFirst  // so does the first text of an element, unless other text stands beside the element
	isBlank      // text of nothing but white space
	isElement    // a text that is an element
	isChunk
	isLegacy
	passesOn
	isIfEmpty
	isTagged // a tag with children
	isGrouped
	isOneText
	isBlock // finished messages that are required: one node
)

// has adds a trait where there is reason to.
func (t *trait) has(that trait, is bool) {
	if is {
		*t |= that
	}
}

// laid is an element, text or part after layout. Layout is done with it once it stands: pruning works on nodes made
// from it. There are many: one has the size of a cache line, and what not all have is apart.
type laid struct {
	kind     kind
	own      builtin // what element it is: 0 for text and parts that are none
	traits   trait
	nth      int32 // its number among siblings of its name, from 1; 0 where it is the only one
	tokens   int   // of a text or part, or uncounted
	up       *laid // the element around it; nil for the root
	priority int   // where it has one
	text     string
	hold     *holds
	rare     *rare
}

// uncounted is the tokens of a text of which layout did not ask them.
const uncounted = -1

// holds is what elements have that hold others.
type holds struct {
	name     string // where the type is the caller's
	children []laid
	group    *elements.Group
	finished *finished // of finished messages
}

// rare is what few have.
type rare struct {
	node  elements.Node // the element itself and its properties, where the tree is to be transferred
	props elements.Props
	order []*laid // the children that are elements, in the order in which they were laid out, where it is not theirs

	part chat.Part

	// Containers.
	limit     int // of a TokenLimit, else 0
	tag       *tag
	expand    *elements.Expandable
	expandMax int // tokens that an Expandable's first rendering used

	// Messages: everything but the content, and the tokens of each call.
	frame      chat.Message
	calls      []elements.ToolCall
	callTokens []int

	// What goes along.
	globals, locals elements.Metadata
	references      []elements.Reference
}

// tag is a Tag with children.
type tag struct {
	open, close string
	tokens      int
}

// What there is where nothing was set. It is never written to.
var (
	nothing      rare
	holdsNothing holds
)

// more reads what few have.
func (l *laid) more() *rare {
	if l.rare == nil {
		return &nothing
	}
	return l.rare
}

// set gives what few have to be written to.
func (l *laid) set() *rare {
	if l.rare == nil {
		l.rare = &rare{}
	}
	return l.rare
}

// inside reads what the element has by holding others.
func (l *laid) inside() *holds {
	if l.hold == nil {
		return &holdsNothing
	}
	return l.hold
}

// holding gives that to be written to.
func (l *laid) holding(from *slabs) *holds {
	if l.hold == nil {
		l.hold = from.hold()
	}
	return l.hold
}

// children are what stands in it.
func (l *laid) children() []laid { return l.inside().children }

func (l *laid) is(t trait) bool { return l.traits&t != 0 }

// prioritize sets the priority, if there is one to set.
func (l *laid) prioritize(priority *int) {
	if priority != nil {
		l.priority = *priority
		l.traits |= hasPriority
	}
}

// inherit takes the priority of the element around it.
func (l *laid) inherit(up *laid) {
	l.priority = up.priority
	l.traits |= up.traits & hasPriority
}

// given is the priority, nil where there is none.
func (l *laid) given() *int {
	if !l.is(hasPriority) {
		return nil
	}
	return new(l.priority)
}

// add adds a child. It does not move those that are there, if there is room for it.
func (l *laid) add(c laid) *laid {
	c.up = l
	in := l.holding(nil)
	in.children = append(in.children, c)
	return &in.children[len(in.children)-1]
}

// name of the element; "" for text and parts that are none.
func (l *laid) name() string {
	if l.own == callers {
		return l.hold.name
	}
	return builtinNames[l.own]
}

// path of the element, such as "Root > UserMessage#2"; of the element around it, for text and parts that are none.
func (l *laid) path() string {
	if l == nil {
		return ""
	}
	return string(l.appendPath(nil))
}

// pathIn is the path of an element in one of this path.
func (l *laid) pathIn(path string) string { return string(l.appendName([]byte(path))) }

func (l *laid) appendPath(to []byte) []byte {
	if l.up != nil {
		to = l.up.appendPath(to)
	}
	if l.own == 0 {
		return to
	}
	return l.appendName(to)
}

func (l *laid) appendName(to []byte) []byte {
	if len(to) > 0 {
		to = append(to, " > "...)
	}
	to = append(to, l.name()...)
	if l.nth > 0 {
		to = append(to, '#')
		to = strconv.AppendInt(to, int64(l.nth), 10)
	}
	return to
}

// laidOrder gives the children that are elements in the order in which they were laid out.
func (l *laid) laidOrder(yield func(*laid) bool) {
	if order := l.more().order; order != nil {
		for _, c := range order {
			if !yield(c) {
				return
			}
		}
		return
	}
	children := l.children()
	for i := range children {
		if c := &children[i]; c.own != 0 && !yield(c) {
			return
		}
	}
}

// note keeps a metadata value. Local to the root is as good as global.
func (l *laid) note(entry elements.MetaEntry) {
	more := l.set()
	if entry.Local && l.up != nil {
		more.locals = append(more.locals, entry)
	} else {
		more.globals = append(more.globals, entry)
	}
}
