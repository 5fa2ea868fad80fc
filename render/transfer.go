package render

import (
	"context"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/transfer"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Transfer renders a tree of content to the form in which it can be put into a prompt elsewhere: by
// [elements.Transferred] here, by elementJSON in prompt-tsx. Its content type is that of prompt-tsx,
// application/vnd.codechat.prompt+json.1. Nothing is pruned; the budget only tells the elements what they should not
// exceed. References are transferred, but no other metadata, no limits and no Required, because the form has no place for
// them.
func Transfer(ctx context.Context, root elements.Node, opts Options) ([]byte, error) {
	l, err := opts.layouter()
	if err != nil {
		return nil, err
	}
	l.Transfer = true
	return guarded(ctx, l, func(ctx context.Context, w *guard.Watch) (data []byte, err error) {
		var laidOut *tree.Tree
		if laidOut, err = l.Lay(ctx, w, root, opts.Budget); err == nil {
			data, err = transfer.Write(laidOut)
		}
		return data, err
	})
}
