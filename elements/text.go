package elements

import (
	"context"
	"regexp"
)

// TextChunk is text that starts on a line of its own. Without a break it is kept or dropped as one piece. With a break,
// if it is the last piece that pruning must remove, or the longest such text in the last [Chunk] or group, it is trimmed
// instead: as much of it stays as fits, up to a break, unless that is less than Least. A required text is trimmed only
// to a [TokenLimit] on or around it. At most one break may be set.
//
// Pruning takes texts by priority: all but one are whole or gone. To show a part of each of several texts instead, set
// FlexBasis or FlexGrow on the texts themselves: each is then cut to its share of the budget when it is laid out
// ([Sizing]).
//
// Its children are [Text] and [LineBreak]; [Meta], [Reference] and [Opaque] may be among them.
//
// Use it for most text. Text that is useless if incomplete, such as JSON, should have no break.
type TextChunk struct {
	Props
	// BreakOn is the string before which the text may be cut.
	BreakOn string
	// BreakOnWhitespace lets the text be cut before any run of white space.
	BreakOnWhitespace bool
	// BreakOnPattern lets the text be cut before any match. A pattern that can match nothing is an error.
	BreakOnPattern *regexp.Regexp
	// Cut is the side that is cut off. Defaults to the end.
	Cut CutSide
	// Mark replaces the text that was cut out, with the break on both sides of it. Its tokens count. None by default.
	Mark string
	// Least is the fewest tokens that trimming may leave, the mark apart: if no more would fit, the whole chunk is
	// dropped. It does not apply to the share of a text at layout, nor to required text. Defaults to 16.
	Least    int
	Children Nodes
}

// CutSide is the side from which a text is cut.
type CutSide uint8

// The sides.
const (
	CutEnd    CutSide = iota // the beginning stays
	CutStart                 // the end stays
	CutMiddle                // as many breaks stay at the beginning as at the end, or one more
)

// Render returns the children, uncut.
func (t TextChunk) Render(context.Context, Sizing) (Node, error) { return t.Children, nil }

// Tag is an XML-style block:
//
//	<file path="a.go">
//	…
//	</file>
//
// Text in it, including that of tags within it, is escaped (&, < and >), except in a [Fence]. The opening and closing
// tags stay while anything is left between them. A tag without children is written as <name/>. It costs the tokens of
// its tags and of the escapes. Put code into a Fence, because the model would copy the escapes.
type Tag struct {
	Props
	// Name of the tag: a letter or underscore, then letters, digits, and any of "_-.:". Anything else is an error.
	Name string
	// Attributes in order. Values are escaped; names follow the same rule as Name.
	Attributes []Attribute
	Children   Nodes
}

// Attribute of a [Tag].
type Attribute struct{ Name, Value string }

// Render returns the tag's children.
func (t Tag) Render(context.Context, Sizing) (Node, error) { return t.Children, nil }

// Fence is code between two fences, as in Markdown:
//
//	```go
//	if a < b && c {
//	```
//
// Nothing in it is escaped, not even if the fence is in a [Tag]. The fences have three backticks, or one more than the
// longest row of backticks between them. They stay while any text is left. Its children are [Text], [TextChunk],
// [LineBreak] and lists of these.
type Fence struct {
	Props
	// Language of the code, after the first fence, such as "go"; "" for none. A line break or a backtick in it is an
	// error.
	Language string
	Children Nodes
}

// Render returns the children.
func (f Fence) Render(context.Context, Sizing) (Node, error) { return f.Children, nil }

// LineBreak is a line break within text. It takes the priority of the element around it. A [TextChunk] starts on a new
// line without one.
type LineBreak struct{}

// Render returns the line break itself.
func (b LineBreak) Render(context.Context, Sizing) (Node, error) { return b, nil }
