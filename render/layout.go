package render

import (
	"context"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/layout"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Layout is a tree that was laid out and can be fitted to any budget. It is safe for concurrent use.
type Layout struct {
	tree     *tree.Tree // as it was laid out
	layouter *layout.Layouter
	opts     Options

	mu    sync.Mutex
	trees [tree.HistoryModes]*tree.Tree // by mode, nil until needed
	seams [tree.HistoryModes]count.Seams
}

// inMode returns the tree of a history mode.
func (l *Layout) inMode(mode HistoryMode) *tree.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trees[mode] == nil {
		l.trees[mode] = l.tree.WithHistory(tree.HistoryMode(mode))
	}
	return l.trees[mode]
}

// Tools returns the tools in the tree, in its order; nil if there are none. Tools that an Expandable adds when it grows
// are not among them.
func (l *Layout) Tools() []chat.Tool { return l.tree.ToolsOf(l.tree.Tools) }

// Fit does the other steps, for a budget that need not be the one that the tree was laid out for. Expandables are
// rendered again; no other element is, so an element that would have filled a larger share stays as it is.
//
// Each fit prunes anew, but a text is counted only once. To learn what other budgets would keep, call [Result.Survey],
// which prunes once for all of them.
func (l *Layout) Fit(ctx context.Context, budget int) (*Result, error) {
	return l.FitWith(ctx, FitOptions{budget, l.opts.KeepUnranked, l.opts.History})
}

// FitWith does what [Layout.Fit] does, with other options. Low water and backfill are those of the layout.
func (l *Layout) FitWith(ctx context.Context, o FitOptions) (*Result, error) {
	return l.fitted(ctx, o, (*fitting).fit)
}

// fitted returns what a method of a new fitting does.
func (l *Layout) fitted(ctx context.Context, o FitOptions, to func(*fitting, context.Context) (*Result, error)) (*Result, error) {
	if err := l.opts.checkFit(o); err != nil {
		return nil, err
	}
	return guarded(ctx, l.layouter, func(ctx context.Context, w *guard.Watch) (*Result, error) {
		return to(newFitting(l, w, o), ctx)
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
func (f *fitting) floor(ctx context.Context) (*Result, error) {
	f.growth.fixed = true
	if err := f.keepLimits(ctx); err != nil {
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
