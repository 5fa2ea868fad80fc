package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// Outline is a prompt as a tree after pruning: its elements, messages and pieces, with the outcome of each. It holds
// everything that a page needs to show a prompt.
type Outline struct {
	// Name of the element as in paths, with its number among siblings; "" for a piece that is not an element itself.
	Name string `json:"name,omitempty"`
	// Tag is the opening end of a tag with children, as it is sent; "" for anything else.
	Tag string `json:"tag,omitempty"`
	// Role of a message, "" for anything else.
	Role chat.Role `json:"role,omitempty"`
	// Priority that was set on the element, nil if none was.
	Priority *int `json:"priority,omitempty"`
	// Tokens of the pieces in it.
	Tokens OutlineTokens `json:"tokens"`
	// Counted is the exact count of a message as it is sent, with its frame. For the root it is that of messages and
	// tools ([Result.Tokens]). It is 0 for anything else, and for a message that is not sent.
	Counted int `json:"counted,omitempty"`
	// Piece is the entry of the report for a piece, nil for anything that holds others.
	Piece *Piece `json:"piece,omitempty"`
	// Text of a piece as it was given, trimmed or not: the text itself, the arguments of a tool call, the thought of
	// thinking, the source of an image, the description of a tool. "" for other pieces.
	Text string `json:"text,omitempty"`
	// Children in document order, dropped ones too.
	Children []*Outline `json:"children,omitempty"`

	at pieceRef // of Piece
}

// OutlineTokens are the tokens of the pieces in an element, each counted by itself.
type OutlineTokens struct {
	Kept    int `json:"kept"`              // of the pieces that are left
	Trimmed int `json:"trimmed,omitempty"` // removed by trimming
	Dropped int `json:"dropped,omitempty"` // of the pieces that were dropped
}

func (t *OutlineTokens) add(u OutlineTokens) {
	t.Kept, t.Trimmed, t.Dropped = t.Kept+u.Kept, t.Trimmed+u.Trimmed, t.Dropped+u.Dropped
}

// String returns in words whether the tokens were kept.
func (t OutlineTokens) String() string {
	switch all := t.Kept + t.Trimmed + t.Dropped; {
	case t.Trimmed+t.Dropped == 0:
		return "kept"
	case t.Kept+t.Trimmed == 0:
		return "dropped"
	case t.Dropped == 0:
		return fmt.Sprintf("trimmed: %s of %s", thousands(t.Kept), thousands(all))
	default:
		return fmt.Sprintf("%s of %s", thousands(t.Kept), thousands(all))
	}
}

// tokens returns the tokens of a piece by outcome.
func (p *Piece) tokens() OutlineTokens {
	switch {
	case p.Dropped != Kept:
		return OutlineTokens{Dropped: p.Tokens}
	case p.TrimmedFrom > 0:
		return OutlineTokens{Kept: p.Tokens, Trimmed: p.TrimmedFrom - p.Tokens}
	}
	return OutlineTokens{Kept: p.Tokens}
}

// Outline returns the prompt as a tree. Its pieces are those of [Result.Report], in the same order. It costs as much as
// the report, and a count of each message. It is nil if the tokenizer fails, or a fit of the layout was left behind.
func (r *Result) Outline() *Outline {
	if r == nil || r.all == nil {
		return nil
	}
	return r.all().outline
}

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

// splitNumber splits a name and its number among siblings.
func splitNumber(name string) (plain, number string) {
	at := siblingNumber.FindStringIndex(name)
	if at == nil || strings.Contains(name, " (") {
		return name, ""
	}
	return name[:at[0]], name[at[0]:]
}

// aligned formats a table in columns. The columns in right are aligned at the right.
func aligned(table [][]string, right ...int) string {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range table {
		var row strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if slices.Contains(right, i) {
				row.WriteString(pad + cell + "  ")
			} else {
				row.WriteString(cell + pad + "  ")
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}
