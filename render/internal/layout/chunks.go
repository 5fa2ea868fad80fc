package layout

import (
	"context"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// onlyChunks lays out a list of text chunks with one text each, none of which is told what is left. It reports false,
// and does nothing, for any other list. The result is that of contents in a fourth of the time; long lists are mostly
// of this form.
func (s *site) onlyChunks(ctx context.Context, list elements.Nodes) (done bool, err error) {
	if !s.lazy || !s.inMessage || s.layouter.Transfer || s.depth == guard.MaxDepth {
		return false, nil
	}
	if _, ok := list[0].(elements.TextChunk); !ok {
		return false, nil
	}
	t, nodes, texts, bytes := s.tree, len(s.tree.Nodes), len(s.tree.Texts), 0
	t.Grow(len(list), len(list))
	name := t.NameIndex("Text")
	for i, n := range list {
		c, ok := n.(elements.TextChunk)
		text, plain := onlyText(&c)
		if !ok || !plain || c.ReportName != "" || c.FlexGrow != 0 || c.FlexBasis != 0 || c.FlexReserve != (elements.Reserve{}) {
			t.Nodes, t.Details, t.Texts = t.Nodes[:nodes], t.Details[:nodes], t.Texts[:texts]
			return false, nil
		}
		if i%1024 == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		piece := tree.Node{Flags: textElement, Category: c.Category}
		piece.SetPriority(c.Priority)
		piece.SetFlag(tree.Required, c.Required)
		text = s.escaped(text)
		details := &t.Details[t.AddText(s.id, piece, text)]
		if details.Name = name; len(list) > 1 {
			details.Nth = int32(i + 1)
		}
		bytes += len(text)
	}
	return true, s.watch.Count(s, len(list), bytes)
}
