package render

import (
	"context"
	"errors"
	"sort"

	"github.com/promptree-go/promptree/internal/callback"
)

// fitTogether fits a budget in the run that it shares with others. Where none is shared it gives no result.
func (l *Layout) fitTogether(ctx context.Context, w *watch, budget int) (result *Result, err error) {
	if l.opts.Backfill || !l.layouter.joins {
		return nil, nil
	}
	if err := l.take(ctx, w); err != nil {
		return nil, err
	}
	defer l.release(w)
	l.orForget(func() {
		var run *fitting
		if run, err = l.shared(ctx, budget); run != nil {
			result, err = run.fitShared(ctx, budget)
		}
	})
	return result, err
}

// fitted runs a fit, which may take the layout's turn.
func fitted[T any](ctx context.Context, l *Layout, fit func(context.Context, *watch) (T, error)) (T, error) {
	value, w, err := guarded(ctx, l.layouter, fit)
	if _, left := errors.AsType[*callback.LeftError](err); left && w.holds.CompareAndSwap(true, false) {
		close(l.lost)
	}
	return value, err
}

// take takes the layout's turn.
func (l *Layout) take(ctx context.Context, w *watch) error {
	select {
	case l.turn <- struct{}{}:
		w.holds.Store(true)
		return nil
	case <-l.lost:
		return ErrLeftBehind
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives the turn back, unless whoever took it was left behind.
func (l *Layout) release(w *watch) {
	if w.holds.CompareAndSwap(true, false) {
		<-l.turn
	}
}

// orForget does something with a shared run, and forgets all of them where it does not return: a tokenizer panicked, maybe
// in the middle of a step.
func (l *Layout) orForget(do func()) {
	returned := false
	defer func() {
		if !returned {
			l.runs = nil
		}
	}()
	do()
	returned = true
}

// shared gives the run that fits to a budget share, all limits kept; nil where each must have one of its own. A limit above
// the whole budget is passed over, so budgets on the two sides of a limit have different runs. The first run prunes the
// tree that was laid out, the others copies.
func (l *Layout) shared(ctx context.Context, budget int) (*fitting, error) {
	const remembered = 16
	if r := l.runs[l.limitsWithin(budget)]; r != nil || l.alone {
		return r, nil
	}
	r := newFitting(l, l.pruned())
	r.shared = true
	if r.joiner == nil || len(r.expandables) > 0 {
		l.alone = true
		return nil, nil
	}
	if err := r.keepLimits(ctx, budget); err != nil {
		return nil, err
	}
	r.lockUnranked()
	r.base, r.from = r.now, r.now
	if l.opts.LowWater != 0 {
		r.whole = r.count(r.root)
	}
	if l.runs == nil || len(l.runs) == remembered {
		l.runs = map[int]*fitting{}
		l.limits = l.limits[:0]
		for _, limit := range r.limits {
			l.limits = append(l.limits, limit.more().limit)
		}
	}
	l.runs[l.limitsWithin(budget)] = r
	return r, nil
}

// pruned returns a tree to prune: the one that was laid out, and once that is taken copies. It is never taken if the
// history mode changes what is required in it: fits with another mode need it as it was laid out.
func (l *Layout) pruned() *node {
	if l.taken || l.opts.History != HistoryAsGiven {
		return l.tree.copy()
	}
	l.taken = true
	return l.tree
}

// copyTree returns a copy of the tree that was laid out, for a fit of its own.
func (l *Layout) copyTree(ctx context.Context, w *watch) (*node, error) {
	if err := l.take(ctx, w); err != nil {
		return nil, err
	}
	defer l.release(w)
	return l.tree.copy(), nil
}

// fitAlone fits a tree of its own.
func (l *Layout) fitAlone(ctx context.Context, w *watch, o FitOptions) (*Result, error) {
	tree, err := l.copyTree(ctx, w)
	if err != nil {
		return nil, err
	}
	f := newFittingWith(l, tree, o.KeepUnranked, o.History)
	f.watch = w
	return f.fit(ctx, o.Budget)
}

// limitsWithin is how many limits are kept within a budget.
func (l *Layout) limitsWithin(budget int) (n int) {
	for _, limit := range l.limits {
		if limit <= budget {
			n++
		}
	}
	return n
}

// fitShared looks up, or finds out, how far the whole prompt's pruning must go.
func (f *fitting) fitShared(ctx context.Context, budget int) (*Result, error) {
	target := f.layout.opts.target(budget, f.whole)
	f.approach(ctx, target)
	if ctx.Err() != nil { // maybe on the way, beyond where it fits
		return nil, context.Cause(ctx)
	}
	i := sort.Search(len(f.lows), func(i int) bool { return f.lows[i] <= target })
	for i == len(f.lows) && f.stuck == nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if f.advance(); f.last > target && f.stuck == nil {
			i++
		}
	}
	if i < len(f.lows) { // the first so small, and so its own count
		return f.result(budget, f.lows[i], f.from+step(i)), nil
	}
	if f.last > budget {
		return nil, f.exceeded(ctx, f.root, budget, f.stuck)
	}
	return f.result(budget, f.last, f.now), nil
}

// approach brings the whole prompt's pruning near the step at which it first fits a target: not beyond it, or where counts
// are known from before it on.
func (f *fitting) approach(ctx context.Context, target int) {
	switch at := f.now; {
	case len(f.lows) == 0 || f.lows[len(f.lows)-1] > target:
		if f.ahead(ctx, f.root, target); f.now == at && len(f.lows) > 0 {
			return
		}
	case f.lows[0] <= target && f.from > f.base:
		f.retreat(f.root, target, f.least(f.root), f.base)
	default:
		return
	}
	f.from, f.stuck = f.now, nil
	f.last = f.count(f.root)
	f.lows = append(f.lows[:0], f.last)
}

// advance takes the next step of the whole prompt's pruning.
func (f *fitting) advance() {
	if f.stuck = f.removeLowest(f.root); f.stuck == nil {
		f.last = f.count(f.root)
		f.lows = append(f.lows, min(f.last, f.lows[len(f.lows)-1]))
	}
}
