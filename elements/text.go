package elements

import (
	"context"
	"regexp"
)

// TextChunk is text that starts on a line of its own. Without a break it is kept or dropped as one piece. With a break it is cut to
// its share of the budget when it is laid out: it ends before the first break up to which it would be larger. And when it is the
// last that has to go, it is trimmed: as much of it stays as fits, unless that is less than Least. At most one break is set.
//
// Its children are [Text] and [LineBreak]; [Meta], [Reference] and [Opaque] may stand among them.
//
// It is for most text. One that is cut to its share has to be counted when it is laid out, and so have those beside it; of others, what
// surely goes is never counted. Text of which a part is worth nothing, such as JSON, has no break.
type TextChunk struct {
	Props
	// BreakOn is the string before which the text may be cut.
	BreakOn string
	// BreakOnWhitespace lets the text be cut before any run of white space.
	BreakOnWhitespace bool
	// BreakOnPattern lets the text be cut before any match. A pattern that can match nothing is an error.
	BreakOnPattern *regexp.Regexp
	// Cut is the side from which the text is cut. Defaults to its end.
	Cut CutSide
	// Mark stands where text was cut, with the break on both sides of it, and counts as text does. None by default.
	Mark string
	// Least is the fewest tokens that trimming may leave: where no more would fit, the whole chunk goes. Defaults to 16.
	Least    int
	Children Nodes
}

// CutSide is a side from which a text is cut.
type CutSide uint8

// The sides.
const (
	CutEnd    CutSide = iota // the beginning stays
	CutStart                 // the end stays
	CutMiddle                // as many breaks stay at the beginning as at the end, or one more
)

// Render returns the chunk's children, uncut.
func (t TextChunk) Render(context.Context, Sizing) (Node, error) { return t.Children, nil }

// Tag is an XML-style block:
//
//	<file path="a.go">
//	…
//	</file>
//
// Text in it is escaped (&, < and >), that of tags within it included. The two tags stand as long as anything is left
// between them and are never pruned apart from it. A tag without children is written as one, <name/>. It costs the tokens of its tags,
// and of the escaping: text for which that is wrong, such as code that the model is to copy, stands in a [TextChunk] with fences of its own.
type Tag struct {
	Props
	// Name of the tag: a letter or underscore, then letters, digits, and any of "_-.:". Anything else is an error.
	Name string
	// Attributes in order. Values are escaped; names obey the rule of Name.
	Attributes []Attribute
	Children   Nodes
}

// Attribute of a [Tag].
type Attribute struct{ Name, Value string }

// Render returns the tag's children.
func (t Tag) Render(context.Context, Sizing) (Node, error) { return t.Children, nil }

// LineBreak is a line break, in text that goes on in a line. It takes the priority of the element it stands in. A [TextChunk] needs none.
type LineBreak struct{}

// Render returns the line break itself.
func (b LineBreak) Render(context.Context, Sizing) (Node, error) { return b, nil }
