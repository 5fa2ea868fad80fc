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

// lineBreak says whether a text starts on a line of its own.
type lineBreak uint8

const (
	breakNever  lineBreak = iota
	breakAlways           // text chunks
	breakFirst            // the first text of an element, unless other text stands beside the element
)

// laid is an element, text or part after layout. Layout is done with it once it stands: pruning works on nodes made
// from it. There are many, so what few of them have is apart.
type laid struct {
	kind     kind
	breaks   lineBreak
	required bool

	// Containers.
	chunk, legacy, pass, ifEmpty bool

	nth      int32  // its number among siblings of its name, from 1; 0 where it is the only one
	name     string // of the element; "" for text and parts that are none
	up       *laid  // the element around it; nil for the root
	priority *int
	group    *elements.Group
	finished *finished // of finished messages
	children []*laid

	text   string
	tokens int // of a text or part, or uncounted

	rare *rare
}

// uncounted is the tokens of a text of which layout did not ask them.
const uncounted = -1

// rare is what few elements have.
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

// nothing is what there is of the rare where nothing was set. It is never written to.
var nothing rare

// more reads what few elements have.
func (l *laid) more() *rare {
	if l.rare == nil {
		return &nothing
	}
	return l.rare
}

// set gives what few elements have to be written to.
func (l *laid) set() *rare {
	if l.rare == nil {
		l.rare = &rare{}
	}
	return l.rare
}

// leaf tells a piece of text, a part or a breakpoint from what holds others.
func (l *laid) leaf() bool { return l.kind != container && l.kind != message }

// rootPath is the first element of every path.
const rootPath = "Root"

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
	if l.name == "" {
		return to
	}
	return l.appendName(to)
}

func (l *laid) appendName(to []byte) []byte {
	if len(to) > 0 {
		to = append(to, " > "...)
	}
	to = append(to, l.name...)
	if l.nth > 0 {
		to = append(to, '#')
		to = strconv.AppendInt(to, int64(l.nth), 10)
	}
	return to
}

// size is what a tree needs to be pruned.
type size struct {
	nodes   int
	insides int  // of nodes that hold others
	noted   bool // there is metadata in it
}

// survey adds a tree's size up. Locked tells that it stands in what is required.
func (l *laid) survey(s *size, locked bool) {
	s.nodes++
	s.noted = s.noted || l.rare != nil && (l.rare.globals != nil || l.rare.locals != nil)
	if l.leaf() {
		return
	}
	s.insides++
	locked = locked || l.required
	if locked && l.finished != nil {
		return
	}
	for _, c := range l.children {
		c.survey(s, locked)
	}
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
	for _, c := range l.children {
		if c.name != "" && !yield(c) {
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
