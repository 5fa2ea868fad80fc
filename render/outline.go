package render

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Outline is a prompt as a tree after pruning: its elements, messages and pieces, with what became of each. It holds what a page needs
// that shows them.
type Outline struct {
	// Name of the element as paths have it, with its number among siblings; "" of a piece that is no element of its own.
	Name string `json:"name,omitempty"`
	// Tag is the opening end of a tag with children, as it is sent; "" of anything else.
	Tag string `json:"tag,omitempty"`
	// Role of a message, "" of anything else.
	Role chat.Role `json:"role,omitempty"`
	// Priority that the element was given, nil if it was given none.
	Priority *int `json:"priority,omitempty"`
	// Tokens of the pieces in it.
	Tokens OutlineTokens `json:"tokens"`
	// Counted is what a message counts as it is sent, with what wraps it, and of the whole what messages and tools do
	// ([Result.Tokens]). 0 of anything else, and of what is not sent.
	Counted int `json:"counted,omitempty"`
	// Piece is what the report says of a piece, nil of what holds others.
	Piece *Piece `json:"piece,omitempty"`
	// Text of a piece as it was laid out, trimmed or not: of a text the text, of a tool call its arguments, of thinking the thought,
	// of an image its source, of a tool its description. "" of other pieces.
	Text string `json:"text,omitempty"`
	// Children in document order, dropped ones too.
	Children []*Outline `json:"children,omitempty"`

	piece int // index of Piece in the report, plus one
}

// OutlineTokens are the tokens that the pieces in an element count by themselves.
type OutlineTokens struct {
	Kept    int `json:"kept"`              // of what is left
	Trimmed int `json:"trimmed,omitempty"` // that trimming took
	Dropped int `json:"dropped,omitempty"` // of what went
}

func (t *OutlineTokens) add(u OutlineTokens) {
	t.Kept, t.Trimmed, t.Dropped = t.Kept+u.Kept, t.Trimmed+u.Trimmed, t.Dropped+u.Dropped
}

// String returns what became of them in words.
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

// tokens returns what became of the tokens of a piece.
func (p *Piece) tokens() OutlineTokens {
	switch {
	case p.Dropped != Kept:
		return OutlineTokens{Dropped: p.Tokens}
	case p.TrimmedFrom > 0:
		return OutlineTokens{Kept: p.Tokens, Trimmed: p.TrimmedFrom - p.Tokens}
	}
	return OutlineTokens{Kept: p.Tokens}
}

// child adds what a node of a tree is to the outline of the one around it.
func (o *Outline) child(t *tree.Tree, n tree.ID) *Outline {
	node, extra := &t.Nodes[n], t.Extra(n)
	child := &Outline{Name: tree.JoinPath("", t.Names[node.Name], node.Nth)}
	if node.Is(tree.HasPriority) {
		child.Priority = new(node.Priority)
	}
	if extra.Tag != nil {
		child.Tag = strings.TrimSuffix(extra.Tag.Open, "\n")
	}
	switch node.Kind {
	case tree.Message:
		child.Role = extra.Frame.Role
	case tree.Text:
		child.Text = node.Text
	case tree.Tool:
		child.Text = extra.Tool.Description
	case tree.Part:
		switch p := extra.Part.(type) {
		case chat.Thinking:
			child.Text = p.Text
		case chat.Image:
			child.Text = p.URL
		}
	}
	o.Children = append(o.Children, child)
	return child
}

// call adds a call of a message.
func (o *Outline) call(c chat.ToolCall) *Outline {
	child := &Outline{Name: c.Name, Text: c.Arguments}
	o.Children = append(o.Children, child)
	return child
}

// sum adds up the tokens, and points to the pieces of a report.
func (o *Outline) sum(report Report) {
	if o.piece > 0 {
		o.Piece = &report[o.piece-1]
		o.Tokens = o.Piece.tokens()
	}
	for _, c := range o.Children {
		c.sum(report)
		o.Tokens.add(c.Tokens)
	}
}

// Outline returns the prompt as a tree. Its pieces are those of [Result.Report], in the same order. It costs what the report does, and a
// count of each message. It is nil if the tokenizer fails, or a fit of the layout was left behind.
func (r *Result) Outline() *Outline {
	if r == nil || r.outlined == nil {
		return nil
	}
	return r.outlined()
}

// counted returns the outline of a result with what its messages count.
func (l *Layout) counted(r *Result) *Outline {
	t := r.told()
	outline, _ := fitted(context.Background(), l, func(context.Context, *guard.Watch) (*Outline, error) {
		if t.outline == nil || len(t.sent) != len(r.Messages) { // the caller changed them
			return t.outline, nil
		}
		t.outline.Counted = r.Tokens
		for i, o := range t.sent {
			o.Counted = l.layouter.Tokenizer.CountMessage(r.Messages[i])
		}
		return t.outline, nil
	})
	return outline
}

// WriteJSON writes the outline as JSON, as [Report.WriteJSON] does.
func (o *Outline) WriteJSON(w io.Writer) error { return writeJSON(w, o) }

// Fold returns a table for people of what stands in a prompt down to a depth, 0 for the whole of it alone: kept, trimmed and dropped tokens
// a line, and of messages what they count as they are sent. An element in which only a text stands has one line, and so have siblings of
// one name and priority of which the same became.
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
	return aligned(table, 1, 2, 3, 4)
}

// Compare returns a table for people of one prompt at several budgets, a column for each result, down to a depth as [Outline.Fold] does. What is
// not of the same shape in all results, such as an expandable that grew, is one line. Tokens are those that the pieces count by themselves,
// without the tags and messages around them: what is sent takes more ([Result.Tokens]). The results should be fits of one [Layout]: a
// text that was cut to its share when it was laid out counts as kept.
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
	return aligned(table)
}

// foldedLine is a line of a table: siblings of which the same became, in each of some outlines.
type foldedLine struct {
	indent int
	name   string // without a number
	note   string // priority, and that it is required
	number string // of the only one
	n      int
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

// like reports whether another line may be part of one: they are siblings, folded or of a piece, and the same became of them.
func (l *foldedLine) like(other *foldedLine) bool {
	same := func(a, b OutlineTokens) bool {
		return a.Trimmed == 0 && b.Trimmed == 0 && (a.Kept == 0) == (b.Kept == 0) && (a.Dropped == 0) == (b.Dropped == 0)
	}
	return l.leaf && other.leaf && l.indent == other.indent && l.name == other.name && l.note == other.note && slices.EqualFunc(l.tokens, other.tokens, same)
}

// fold appends the lines of an element as it is in some outlines.
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

// onlyText returns the piece that an element is, or the only one in it if that is a text and nothing around it has a priority; nil if it
// holds anything else.
func (o *Outline) onlyText() *Piece {
	if o.Piece != nil || len(o.Children) != 1 || o.Children[0].Priority != nil {
		return o.Piece
	}
	if p := o.Children[0].onlyText(); p != nil && p.Kind == PieceText {
		return p
	}
	return nil
}

// title returns the name of an element, or the kind of a piece that is none.
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

// splitNumber splits a name from its number among siblings.
func splitNumber(name string) (plain, number string) {
	at := siblingNumber.FindStringIndex(name)
	if at == nil || strings.Contains(name, " (") {
		return name, ""
	}
	return name[:at[0]], name[at[0]:]
}

// aligned returns a table in columns, some of them aligned at the right.
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
