package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/transfer"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Render makes messages from a tree of elements and prunes them until they fit the budget, in four steps.
//
//  1. Lay out. Elements are rendered from the root down, each with a share of its parent's budget: siblings without
//     FlexGrow first, then each FlexGrow value from high to low. The share only says how much an element may use; see
//     [elements.Props].
//  2. Limit and grow. Token limits are kept in the reverse order of layout, the whole prompt's budget last. If a limit
//     has tokens left, they are offered to each [elements.Expandable] and [elements.First] in it, those of the highest
//     priority first.
//  3. Prune. If a limit is exceeded, one piece after the other is removed, the least important first, until the exact
//     count fits. Required pieces stay.
//  4. If nothing more may be removed and it still does not fit, an element that can make room ([elements.MakesRoom]) does,
//     and the tree is rendered once more; else the error is a [*BudgetExceededError]. If the prompt had
//     a message and pruning left none, the error is an [*EmptyPromptError], unless the options say Compatible.
//
// A tree without a message is not an error, because nothing was lost: for example one with only tools, with conditions
// that are all false, or with a session in which nothing was said yet. [chat.ValidateRequest] refuses it.
//
// An error or a panic in an element is returned as an [*ElementError] with its path, one in the tokenizer as a
// [*TokenizerError]. A cancelled context ends the render with its cause, as soon as the elements that are running have
// returned. After a second the render ends anyway: the error names the element that has not returned, and its goroutine
// is left behind.
//
// The same tree, budget and tokenizer always give the same messages.
func Render(ctx context.Context, root elements.Node, opts Options) (*Result, error) {
	laidOut, err := Lay(ctx, root, opts)
	if err != nil {
		return nil, err
	}
	result, err := laidOut.Fit(ctx, opts.Budget)
	if over, ok := errors.AsType[*BudgetExceededError](err); ok && over.Limit == "" {
		smaller, failed := laidOut.makeRoom(ctx, over.Needed-over.Budget)
		if failed != nil {
			return nil, fmt.Errorf("%w: making room: %w", err, failed)
		}
		if smaller {
			if laidOut, err = Lay(ctx, root, opts); err == nil {
				result, err = laidOut.Fit(ctx, opts.Budget)
			}
		}
	}
	return result, err
}

// makeRoom asks the first element that can to take less room, and reports whether it does.
func (l *Layout) makeRoom(ctx context.Context, over int) (smaller bool, err error) {
	for _, m := range l.tree.Marks() {
		room, ok := m.(elements.MakesRoom)
		if !ok {
			continue
		}
		smaller, err = callback.Call(ctx, func(ctx context.Context) (bool, error) { return room.MakeRoom(ctx, over) })
		if smaller || err != nil {
			return smaller, err
		}
	}
	return false, nil
}

// Lay does the first step of [Render]. Elements get shares of the budget in the options.
func Lay(ctx context.Context, root elements.Node, opts Options) (*Layout, error) {
	l, err := opts.layouter()
	if err != nil {
		return nil, err
	}
	if root == nil && !opts.Compatible {
		return nil, &ElementError{Path: tree.RootPath, Err: fmt.Errorf("%w: the tree", tree.ErrNilElement)}
	}
	laidOut, err := guarded(ctx, l, func(ctx context.Context, w *guard.Watch) (*tree.Tree, error) {
		return l.Lay(ctx, w, root, opts.Budget)
	})
	if err != nil {
		return nil, err
	}
	if c := marks.Of(ctx); c != nil {
		c.All = laidOut.Marks()
	}
	return &Layout{tree: laidOut, layouter: l, opts: opts}, nil
}

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
