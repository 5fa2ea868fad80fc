package layout

import (
	"context"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// layTextChunk lays out a text chunk: its texts joined to one, cut to the budget if a break is set.
func layTextChunk(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	c := n.(elements.TextChunk)
	if err := s.checkPlace(n); err != nil {
		return nil, err
	}
	if err := checkBreak(&c); err != nil {
		return nil, err
	}
	if text, ok := onlyText(&c); ok && !s.layouter.Transfer { // most chunks: the element is the text
		s.tree.BecomeText(s.id, s.escaped(text))
		s.node().Flags |= textElement
		return nil, s.countText(s.id, s.lazy)
	}
	text, references, charged, err := s.join(c.Children)
	if err != nil {
		return nil, err
	}
	piece := tree.Node{Flags: tree.StartsLine}
	piece.InheritPriority(s.node())
	cuts := s.newCuts(&c, text)
	if cuts == nil {
		id := s.tree.AddText(s.id, piece, s.escaped(text))
		s.tree.Refer(id, references...)
		err = s.countText(id, true)
		s.tree.SetTokens(id, s.layouter.Tokenizer.CountText(s.tree.Text(id)))
		s.used += charged
		s.lines++
		return nil, err
	}
	piece.SetFlag(tree.Trimmable, !s.layouter.cutsAllToShare())
	if !s.staysWhole(&s.item.props) {
		cuts.cut(s.budget)
	}
	if text = cuts.Given(); cuts.kept >= 0 {
		text, piece.Flags = "", piece.Flags|tree.Cut
		if !cuts.Blank(cuts.kept) || s.layouter.cutsAllToShare() {
			text = cuts.Text(cuts.kept)
		}
	}
	id := s.tree.AddText(s.id, piece, text)
	s.tree.EnsureExtra(id).Trim = cuts
	s.tree.Refer(id, references...)
	return nil, s.countText(id, s.lazy)
}

// textElement are the flags of a text that is an element itself.
const textElement = tree.StartsLine | tree.Element

// cutsAllToShare reports whether layout cuts every text with a break to its share, as prompt-tsx does: it never trims,
// and neither does who receives a transferred tree.
func (l *Layouter) cutsAllToShare() bool { return l.Compatible || l.Transfer }

// staysWhole reports whether a text with a break is not cut to a share at layout, because it does not ask for one or
// because it is required.
func (s *site) staysWhole(c *elements.Props) bool {
	required := s.required || c.Required || s.layouter.KeepUnranked && !(s.offered || offers(c.Priority))
	return !s.layouter.cutsAllToShare() && (required || !asksItself(c))
}

// asksItself reports whether the properties of a text with a break ask for a share.
func asksItself(p *elements.Props) bool { return p.FlexGrow != 0 || p.FlexBasis != 0 }

// offers reports whether a priority offers an element to pruning.
func offers(priority *int) bool { return priority != nil && *priority < tree.Unset }

// onlyText returns the text of a chunk that holds nothing else and is never cut.
func onlyText(c *elements.TextChunk) (s string, ok bool) {
	if len(c.Children) != 1 || c.PassPriority || hasBreak(c) || c.Cut != elements.CutEnd || c.Mark != "" || c.Least != 0 {
		return "", false
	}
	text, ok := c.Children[0].(elements.Text)
	return string(text), ok
}

// join joins the children of a text chunk to one text, not escaped. It also returns what a chunk that is not cut is
// charged: the sum of the tokens of each text by itself, as in prompt-tsx.
func (s *site) join(children elements.Nodes) (text string, references []elements.Reference, charged int, err error) {
	items, err := s.flatten(nil, children)
	if err != nil {
		return "", nil, 0, err
	}
	var b strings.Builder
	for _, it := range items {
		switch n := it.element.(type) {
		case elements.Text:
			b.WriteString(string(n))
			charged += s.layouter.Tokenizer.CountText(s.escaped(string(n)))
		case elements.LineBreak:
			b.WriteByte('\n')
		case elements.Reference:
			references = append(references, n)
		case elements.Opaque:
			s.addOpaque(tree.Node{}, n, n.Priority)
		case metadataElement:
			if err := s.note(n); err != nil {
				return "", nil, 0, err
			}
		default:
			return "", nil, 0, fmt.Errorf("a %s in a text chunk: only text, line breaks, metadata and opaque values may be in one", typeName(it.element))
		}
	}
	return b.String(), references, charged, nil
}

// textOf returns the texts in a list, joined and not escaped.
func (s *site) textOf(children elements.Nodes) (string, error) {
	items, err := s.flatten(nil, children)
	var b strings.Builder
	for _, it := range items {
		text, _ := literal(it.element)
		b.WriteString(text)
	}
	return b.String(), err
}

// literal returns the text of a Text or a LineBreak. ok is false for any other node.
func literal(n elements.Node) (text string, ok bool) {
	switch n := n.(type) {
	case elements.Text:
		return string(n), true
	case elements.LineBreak:
		return "\n", true
	}
	return "", false
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escaped returns a text as it is written in a place: escaped in a tag.
func (p place) escaped(text string) string {
	if p.escape {
		return escaper.Replace(text)
	}
	return text
}
