package render

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// FitWith does what [Layout.Fit] does, with other options. Low water and backfill are those of the layout.
func (l *Layout) FitWith(ctx context.Context, o FitOptions) (*Result, error) {
	return l.fitted(ctx, o, (*fitting).fit)
}

// fitted returns what a method of a new fitting does with the budget.
func (l *Layout) fitted(ctx context.Context, o FitOptions, to func(*fitting, context.Context, int) (*Result, error)) (*Result, error) {
	if err := l.opts.checkFit(o); err != nil {
		return nil, err
	}
	return guarded(ctx, l.layouter, func(ctx context.Context, w *guard.Watch) (*Result, error) {
		return to(newFitting(l, w, o), ctx, o.Budget)
	})
}

// Floor returns how many tokens and which tools are left once everything that may be removed is. The tokens are the
// exact count that a [*BudgetExceededError] of FitWith returns as Needed. They may be more than the budget, which only
// decides which token limits are kept: those up to it. Expandables do not grow. A TokenLimit that cannot be kept is a
// [*BudgetExceededError].
//
// If nothing may be removed it costs a pass over the tree and one count. Other fits do not count the same texts again.
func (l *Layout) Floor(ctx context.Context, o FitOptions) (tokens int, tools []chat.Tool, err error) {
	left, err := l.fitted(ctx, o, (*fitting).floor)
	if err != nil {
		return 0, nil, err
	}
	return left.Tokens, left.Tools, nil
}

// floor removes everything that may be removed, and returns what is left without its messages.
func (f *fitting) floor(ctx context.Context, budget int) (*Result, error) {
	f.growth.fixed = true
	if err := f.keepLimits(ctx, budget); err != nil {
		return nil, err
	}
	f.lockUnranked()
	for ctx.Err() == nil {
		if n, _, _ := f.step(tree.Root); n == tree.None {
			return &Result{Tokens: f.count.Count(tree.Root), Tools: f.tools()}, nil
		}
	}
	return nil, context.Cause(ctx)
}
