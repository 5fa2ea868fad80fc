package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteJSON writes the outline as a tree of JSON objects. Only tokens is always present:
//
//	name      of the element as in paths
//	tag       opening end of a tag
//	role      of a message: system, user, assistant or tool
//	priority  that the element was given
//	tokens    object with the tokens of its pieces: kept, trimmed and dropped
//	kept      in tokens: of the pieces that are left
//	trimmed   in tokens: removed by trimming
//	dropped   in tokens: of the pieces that were dropped
//	counted   tokens of a message as it is sent; for the root, of messages and tools
//	piece     object as in Report.WriteJSON, for a piece
//	text      of a piece as it was given
//	children  list of such objects, in document order
func (o *Outline) WriteJSON(w io.Writer) error { return writeJSON(w, o) }

// Fold returns a table for people of the elements down to a depth, 0 for the root alone. A line has the kept, trimmed
// and dropped tokens, and for messages their count as sent. An element that holds only a text has one line. Successive
// siblings with the same name, priority and outcome share a line.
func (o *Outline) Fold(depth int) string {
	if o == nil {
		return ""
	}
	table := [][]string{{"", "kept", "trimmed", "dropped", "as sent", ""}}
	for _, line := range fold(nil, 0, depth, o) {
		t, counted := line.tokens[0], ""
		if line.counted > 0 {
			counted = thousands(line.counted)
		}
		table = append(table, []string{line.label(), thousands(t.Kept), thousands(t.Trimmed), thousands(t.Dropped), counted, line.note})
	}
	if o.Counted > 0 {
		table = append(table, []string{joinsAndFrames, "", "", "", thousands(o.frames()), ""})
	}
	return aligned(table, 1, 2, 3, 4)
}

// Compare returns a table for people of one prompt at several budgets, with a column for each result, down to a depth
// as in [Outline.Fold]. An element that does not have the same shape in all results, such as an expandable that grew,
// is one line. Tokens are those of the pieces by themselves; the last line has what the tags and messages around them
// take ([Report.Frames]). For a budget at which no message is left, use the result in the [*EmptyError].
func Compare(depth int, results ...*Result) string {
	if len(results) == 0 {
		return ""
	}
	head, outlines := []string{""}, make([]*Outline, len(results))
	for i, r := range results {
		if outlines[i] = r.Outline(); outlines[i] == nil {
			return ""
		}
		head = append(head, thousands(r.Budget))
	}
	table := [][]string{head}
	for _, line := range fold(nil, 0, depth, outlines...) {
		cells := []string{line.label()}
		for _, t := range line.tokens {
			cells = append(cells, t.String())
		}
		table = append(table, cells)
	}
	frames := []string{joinsAndFrames}
	for _, o := range outlines {
		frames = append(frames, thousands(o.frames()))
	}
	return aligned(append(table, frames))
}

// joinsAndFrames is the title of what a prompt takes beyond its pieces.
const joinsAndFrames = "joins and frames"

// frames returns what a whole prompt takes beyond its pieces: see [Report.Frames].
func (o *Outline) frames() int { return o.Counted - o.Tokens.Kept }

// foldedLine is a line of a table: siblings with the same outcome, in each of several outlines.
type foldedLine struct {
	indent int
	name   string // without a number
	note   string // the priority, and whether it is required
	number string // if n is 1
	n      int    // number of siblings
	leaf   bool
	tokens []OutlineTokens

	counted int // in the first outline
}

func (l *foldedLine) label() string {
	name := strings.Repeat("  ", l.indent) + l.name
	if l.n > 1 {
		return fmt.Sprintf("%s ×%d", name, l.n)
	}
	return name + l.number
}

// like reports whether another line may be merged into this one: both are folded or of a piece, and have the same name
// and outcome.
func (l *foldedLine) like(other *foldedLine) bool {
	same := func(a, b OutlineTokens) bool {
		return a.Trimmed == 0 && b.Trimmed == 0 && (a.Kept == 0) == (b.Kept == 0) && (a.Dropped == 0) == (b.Dropped == 0)
	}
	return l.leaf && other.leaf && l.indent == other.indent && l.name == other.name && l.note == other.note && slices.EqualFunc(l.tokens, other.tokens, same)
}

// fold appends the lines of an element, which is given as it is in each of several outlines.
func fold(to []*foldedLine, indent, depth int, of ...*Outline) []*foldedLine {
	o := of[0]
	other := slices.ContainsFunc(of, func(c *Outline) bool { return len(c.Children) != len(o.Children) })
	piece := o.onlyText()
	line := &foldedLine{indent: indent, n: 1, counted: o.Counted, leaf: depth == 0 || piece != nil || len(o.Children) == 0 || other}
	line.name, line.number = splitNumber(o.title())
	if o.Priority != nil {
		line.note = fmt.Sprint("priority ", *o.Priority)
	}
	if piece != nil && piece.Required {
		line.note = strings.TrimPrefix(line.note+", required", ", ")
	}
	for _, o := range of {
		line.tokens = append(line.tokens, o.Tokens)
	}
	if last := len(to) - 1; last >= 0 && to[last].like(line) {
		to[last].n++
		to[last].counted += line.counted
		for i := range line.tokens {
			to[last].tokens[i].add(line.tokens[i])
		}
		return to
	}
	to = append(to, line)
	if line.leaf {
		return to
	}
	for i := range o.Children {
		children := make([]*Outline, len(of))
		for k := range of {
			children[k] = of[k].Children[i]
		}
		to = fold(to, indent+1, depth-1, children...)
	}
	return to
}

// onlyText returns the piece that an element is, or the only text in it if nothing around that has a priority; nil if
// the element holds anything else.
func (o *Outline) onlyText() *Piece {
	if o.Piece != nil || len(o.Children) != 1 || o.Children[0].Priority != nil {
		return o.Piece
	}
	if p := o.Children[0].onlyText(); p != nil && p.Kind == PieceText {
		return p
	}
	return nil
}

// title returns the name of an element, or the kind of a piece that is not an element.
func (o *Outline) title() string {
	switch {
	case o.Piece == nil:
		return o.Name
	case o.Name == "":
		return string(o.Piece.Kind)
	case o.Piece.Kind != PieceText:
		return fmt.Sprintf("%s (%s)", o.Name, o.Piece.Kind)
	}
	return o.Name
}
