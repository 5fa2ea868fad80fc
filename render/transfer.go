package render

import (
	"context"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/transfer"
)

// TransferContentType names the form that [Transfer] writes, as prompt-tsx does.
const TransferContentType = "application/vnd.codechat.prompt+json.1"

// Transfer renders a tree of content to the form in which it can be put into a prompt elsewhere: by
// [elements.Transferred] here, by elementJSON in prompt-tsx. Nothing is pruned; the budget tells the elements what they
// should not exceed. Of metadata only references are transferred, of limits none, and Required is not known there.
func Transfer(ctx context.Context, root elements.Node, opts Options) ([]byte, error) {
	l, err := opts.layouter()
	if err != nil {
		return nil, err
	}
	l.Transfer = true
	data, _, err := guarded(ctx, l, func(ctx context.Context, w *guard.Watch) (data []byte, err error) {
		var laidOut *draft.Node
		if laidOut, err = l.Lay(ctx, w, root, opts.Budget); err == nil {
			data, err = transfer.Write(laidOut)
		}
		return data, err
	})
	return data, err
}
