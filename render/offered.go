package render

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// FitWith does what [Layout.Fit] does, with other options. Low water and backfill are those of the layout.
func (l *Layout) FitWith(ctx context.Context, o FitOptions) (*Result, error) {
	if err := l.checkFit(o); err != nil {
		return nil, err
	}
	return l.validated(guarded(ctx, l.layouter, func(ctx context.Context, w *guard.Watch) (*Result, error) {
		return newFitting(l, w, o).fit(ctx, o.Budget)
	}))
}

// Floor returns how many tokens and which tools are left once everything that may be removed is. The tokens are the
// exact count that a [*BudgetExceededError] of FitWith returns as Needed. They may be more than the budget, which only
// decides which token limits are kept: those up to it. Expandables do not grow. A TokenLimit that cannot be kept is a
// [*BudgetExceededError].
//
// If nothing may be removed it costs a pass over the tree and one count. Other fits do not count the same texts again.
func (l *Layout) Floor(ctx context.Context, o FitOptions) (tokens int, tools []chat.Tool, err error) {
	if err := l.checkFit(o); err != nil {
		return 0, nil, err
	}
	left, err := guarded(ctx, l.layouter, func(ctx context.Context, w *guard.Watch) (floor, error) { return l.floor(ctx, w, o) })
	return left.tokens, left.tools, err
}

// floor is the result of [Layout.Floor].
type floor struct {
	tokens int
	tools  []chat.Tool
}

func (l *Layout) floor(ctx context.Context, w *guard.Watch, o FitOptions) (left floor, err error) {
	f := newFitting(l, w, o)
	f.growth.fixed = true
	if err := f.keepLimits(ctx, o.Budget); err != nil {
		return floor{}, err
	}
	f.lockUnranked()
	f.removeAll(ctx, tree.Root)
	if ctx.Err() != nil {
		return floor{}, context.Cause(ctx)
	}
	return floor{f.count.Count(tree.Root), f.tools()}, nil
}
