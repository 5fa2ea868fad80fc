package render

import (
	"fmt"
	"slices"
	"strings"
)

// Compare returns a table for people of one prompt at several budgets, with a column for each result, of the elements
// down to a depth, 0 for the root alone. An element that holds only a text has one line, and so have successive siblings
// with the same name and outcome. One that does not have the same shape in all results, such as an expandable that grew,
// is one line. Tokens are those of the pieces by themselves; the last line has what the tags and messages around them
// take ([Report.Frames]). For a budget at which no message is left, use the result in the [*EmptyPromptError].
func Compare(depth int, results ...*Result) string {
	if len(results) == 0 {
		return ""
	}
	head, frames, outlines := []string{""}, []string{"joins and frames"}, make([]*Outline, len(results))
	for i, r := range results {
		o := r.Outline()
		if o == nil {
			return ""
		}
		outlines[i], head, frames = o, append(head, thousands(r.Budget)), append(frames, thousands(o.Counted-o.Tokens.Kept))
	}
	table := [][]string{head}
	for _, line := range fold(nil, 0, depth, outlines...) {
		cells := []string{line.label()}
		for _, t := range line.tokens {
			cells = append(cells, t.String())
		}
		table = append(table, cells)
	}
	return aligned(append(table, frames))
}

// foldedLine is a line of a table: siblings with the same outcome, in each of several outlines.
type foldedLine struct {
	indent int
	name   string // without a number
	number string // if n is 1
	n      int    // number of siblings
	leaf   bool
	tokens []OutlineTokens
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
	return l.leaf && other.leaf && l.indent == other.indent && l.name == other.name && slices.EqualFunc(l.tokens, other.tokens, same)
}

// fold appends the lines of an element, which is given as it is in each of several outlines.
func fold(to []*foldedLine, indent, depth int, of ...*Outline) []*foldedLine {
	o := of[0]
	other := slices.ContainsFunc(of, func(c *Outline) bool { return len(c.Children) != len(o.Children) })
	line := &foldedLine{indent: indent, n: 1, leaf: depth == 0 || o.onlyText() || len(o.Children) == 0 || other}
	line.name, line.number = splitNumber(o.title())
	for _, o := range of {
		line.tokens = append(line.tokens, o.Tokens)
	}
	if last := len(to) - 1; last >= 0 && to[last].like(line) {
		to[last].n++
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

// onlyText reports whether an element holds one text and nothing else.
func (o *Outline) onlyText() bool {
	if o.Piece != nil {
		return o.Piece.Kind == pieceText
	}
	return len(o.Children) == 1 && o.Children[0].onlyText()
}

// title returns the name of an element, or the kind of a piece that is not an element.
func (o *Outline) title() string {
	switch {
	case o.Piece == nil:
		return o.Name
	case o.Name == "":
		return string(o.Piece.Kind)
	case o.Piece.Kind != pieceText:
		return fmt.Sprintf("%s (%s)", o.Name, o.Piece.Kind)
	}
	return o.Name
}
