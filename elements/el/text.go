package el

import (
	"fmt"

	"github.com/promptree-go/promptree/elements"
)

// Text returns text on lines of its own, kept or dropped as one piece. Besides options it takes content for the same
// text: a [Ref], a [Meta], more text:
//
//	elements.TextChunk{Children: elements.Nodes{elements.Text(text)}}
//
// Text in the middle of a line is [elements.Text].
func Text(text string, args ...Node) elements.TextChunk {
	var t elements.TextChunk
	t.Children = append(elements.Nodes{elements.Text(text)}, fill(&struct{}{}, &t.Props, args)...)
	return t
}

// Textf returns a formatted [Text]. It takes no options; for a formatted text with options, write Text(fmt.Sprintf(…),
// …).
func Textf(format string, args ...any) elements.TextChunk { return Text(fmt.Sprintf(format, args...)) }

// Lines returns a [Text] that is trimmed at a line's end rather than dropped, such as a file or a log:
//
//	elements.TextChunk{BreakOn: "\n", Children: elements.Nodes{elements.Text(text)}}
func Lines(text string, args ...Node) elements.TextChunk {
	return breakable(elements.TextChunk{BreakOn: "\n"}, text, args)
}

// Words returns a [Text] that is trimmed at white space rather than dropped, such as prose:
//
//	elements.TextChunk{BreakOnWhitespace: true, Children: elements.Nodes{elements.Text(text)}}
func Words(text string, args ...Node) elements.TextChunk {
	return breakable(elements.TextChunk{BreakOnWhitespace: true}, text, args)
}

func breakable(t elements.TextChunk, text string, args []Node) elements.TextChunk {
	t.Children = append(elements.Nodes{elements.Text(text)}, fill(&t, &t.Props, args)...)
	return t
}

// Fence returns code between fences, not escaped and trimmed at a line's end, such as a file or a diff. It takes the
// options of [Lines]; but [Basis] and [Grow] are those of the fence, so they do not cut the text to a share. The
// language may be "":
//
//	elements.Fence{Language: language, Children: elements.Nodes{Lines(source)}}
func Fence(language, source string, args ...Node) elements.Fence {
	f := elements.Fence{Language: language}
	text := elements.TextChunk{BreakOn: "\n"}
	text.Children = append(elements.Nodes{elements.Text(source)}, fill(&text, &f.Props, args)...)
	f.Children = elements.Nodes{text}
	return f
}

// trimming returns an option of text that may be trimmed.
func trimming(name string, set func(*elements.TextChunk)) Option[elements.TextChunk] {
	return Option[elements.TextChunk]{name: name, home: "Lines, Words or Fence", set: set}
}

// The sides from which [Lines], [Words] and a [Fence] are trimmed. Their end by default.
var (
	CutStart  = trimming("CutStart", func(t *elements.TextChunk) { t.Cut = elements.CutStart })   // the end stays
	CutMiddle = trimming("CutMiddle", func(t *elements.TextChunk) { t.Cut = elements.CutMiddle }) // the beginning and the end stay
)

// Mark sets the text that replaces the part trimmed from [Lines], [Words] or a [Fence]. None by default.
func Mark(text string) Option[elements.TextChunk] {
	return trimming("Mark", func(t *elements.TextChunk) { t.Mark = text })
}

// Least sets the fewest tokens to which [Lines], [Words] or a [Fence] are trimmed. If no more would fit, they are
// dropped. Defaults to 16.
func Least(tokens int) Option[elements.TextChunk] {
	return trimming("Least", func(t *elements.TextChunk) { t.Least = tokens })
}

// Tag returns an XML-style block, in which text is escaped. [Attr] adds attributes:
//
//	elements.Tag{Name: name, Attributes: []elements.Attribute{…}, Children: elements.Nodes{…}}
func Tag(name string, args ...Node) elements.Tag {
	t := elements.Tag{Name: name}
	t.Children = fill(&t, &t.Props, args)
	return t
}

// Attr appends to the Attributes of a [Tag].
func Attr(name, value string) Option[elements.Tag] {
	return Option[elements.Tag]{name: "Attr", home: "Tag", set: func(t *elements.Tag) {
		t.Attributes = append(t.Attributes, elements.Attribute{Name: name, Value: value})
	}}
}
