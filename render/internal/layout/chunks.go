package layout

import (
	"cmp"
	"context"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/draft"
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
	for _, n := range list {
		if _, ok := n.(elements.TextChunk); !ok {
			return false, nil
		}
	}
	children, bytes := make([]draft.Node, len(list)), 0
	for i, n := range list {
		c := n.(elements.TextChunk)
		text, ok := onlyText(&c)
		if !ok || c.FlexGrow != 0 || c.FlexBasis != 0 || c.FlexReserve != (elements.Reserve{}) {
			return false, nil
		}
		if i%1024 == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		child := &children[i]
		child.Name = cmp.Or(c.ReportName, "TextChunk")
		s.become(child, text)
		child.SetPriority(c.Priority)
		child.SetFlag(tree.Required, c.Required)
		bytes += len(child.Text)
	}
	s.node.Adopt(children)
	return true, s.watch.Count(s.node, len(list), bytes)
}
