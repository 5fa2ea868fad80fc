package render

import (
	"context"
	"errors"
	"sort"

	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// fitTogether fits a budget in the run that it shares with others. If none is shared the result is nil.
func (l *Layout) fitTogether(ctx context.Context, w *guard.Watch, budget int) (result *Result, err error) {
	if l.opts.Backfill || !l.joins() {
		return nil, nil
	}
	if err := l.take(ctx, w); err != nil {
		return nil, err
	}
	defer l.release(w)
	l.orForget(func() {
		var r *run
		if r, err = l.shared(ctx, w, budget); r != nil {
			result, err = r.fit(ctx, w, budget)
		}
	})
	return result, err
}

// fitted runs a fit, which may take the layout's turn.
func fitted[T any](ctx context.Context, l *Layout, fit func(context.Context, *guard.Watch) (T, error)) (T, error) {
	value, w, err := guarded(ctx, l.layouter, fit)
	if _, left := errors.AsType[*callback.LeftError](err); left && w.HoldsTurn.CompareAndSwap(true, false) {
		close(l.lost)
	}
	return value, err
}

// take takes the layout's turn.
func (l *Layout) take(ctx context.Context, w *guard.Watch) error {
	select {
	case l.turn <- struct{}{}:
		w.HoldsTurn.Store(true)
		return nil
	case <-l.lost:
		return ErrLeftBehind
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives the turn back, unless whoever took it was left behind.
func (l *Layout) release(w *guard.Watch) {
	if w.HoldsTurn.CompareAndSwap(true, false) {
		<-l.turn
	}
}

// orForget does something with a shared run, and forgets all of them if it does not return: a tokenizer panicked, maybe
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

// run is a pruning of the whole prompt that fits share, all limits kept.
type run struct {
	*fitting
	base  tree.Step // the step before it
	whole int       // with a low water the count before it
	from  tree.Step // the step from which on counts are known
	lows  []int     // the least count from there up to each step
	last  int       // the last count
	stuck tree.ID   // in which nothing more was to be found, None before
}

// shared returns the run that fits to a budget share; nil if each must have one of its own. A limit above
// the whole budget is passed over, so budgets on the two sides of a limit have different runs.
func (l *Layout) shared(ctx context.Context, w *guard.Watch, budget int) (*run, error) {
	const remembered = 16
	if r := l.runs[l.limitsWithin(budget)]; r != nil || l.alone {
		return r, nil
	}
	from := l.builtNow(l.opts.History)
	r := &run{fitting: newFitting(l, from, FitOptions{KeepUnranked: l.opts.KeepUnranked, History: l.opts.History}), stuck: tree.None}
	r.watch = w
	if !r.count.Joins() || len(from.Expandables) > 0 {
		l.alone = true
		return nil, nil
	}
	if err := r.keepLimits(ctx, budget); err != nil {
		return nil, err
	}
	r.lockUnranked()
	r.base, r.from = r.Now, r.Now
	if l.opts.LowWater != 0 {
		r.whole = r.count.Count(tree.Root)
	}
	if l.runs == nil || len(l.runs) == remembered {
		l.runs = map[int]*run{}
		l.limits = l.limits[:0]
		for _, limit := range r.limits {
			l.limits = append(l.limits, limit.max)
		}
	}
	l.runs[l.limitsWithin(budget)] = r
	return r, nil
}

// built returns the tree of a mode.
func (l *Layout) built(ctx context.Context, w *guard.Watch, mode HistoryMode) (*draft.Tree, error) {
	if !w.HoldsTurn.Load() {
		if err := l.take(ctx, w); err != nil {
			return nil, err
		}
		defer l.release(w)
	}
	return l.builtNow(mode), nil
}

// builtNow is built for whoever has the turn.
func (l *Layout) builtNow(mode HistoryMode) *draft.Tree {
	if l.trees[mode] == nil {
		l.trees[mode] = draft.Build(l.draft, draft.History(mode))
	}
	return l.trees[mode]
}

// fitAlone fits a tree of its own.
func (l *Layout) fitAlone(ctx context.Context, w *guard.Watch, o FitOptions) (*Result, error) {
	from, err := l.built(ctx, w, o.History)
	if err != nil {
		return nil, err
	}
	f := newFitting(l, from, o)
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

// fit looks up, or finds out, how far the pruning must go for a budget.
func (r *run) fit(ctx context.Context, w *guard.Watch, budget int) (*Result, error) {
	r.watch = w
	target := r.layout.opts.target(budget, r.whole)
	r.approach(ctx, target)
	if ctx.Err() != nil { // maybe on the way, beyond where it fits
		return nil, context.Cause(ctx)
	}
	i := sort.Search(len(r.lows), func(i int) bool { return r.lows[i] <= target })
	for i == len(r.lows) && r.stuck == tree.None {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if r.advance(); r.last > target && r.stuck == tree.None {
			i++
		}
	}
	if i < len(r.lows) { // the first so small, and so its own count
		return r.result(budget, r.lows[i], r.from+tree.Step(i)), nil
	}
	if r.last > budget {
		return nil, r.exceeded(ctx, tree.Root, budget, r.stuck)
	}
	return r.result(budget, r.last, r.Now), nil
}

// approach brings the pruning near the step at which it first fits a target: not beyond it, or to before it if counts
// are known from it on.
func (r *run) approach(ctx context.Context, target int) {
	switch at := r.Now; {
	case len(r.lows) == 0 || r.lows[len(r.lows)-1] > target:
		if r.skip(ctx, tree.Root, target); r.Now == at && len(r.lows) > 0 {
			return
		}
	case r.lows[0] <= target && r.from > r.base:
		r.retreat(tree.Root, target, r.count.Least(tree.Root, tree.Latest), r.base)
	default:
		return
	}
	r.from, r.stuck = r.Now, tree.None
	r.last = r.count.Count(tree.Root)
	r.lows = append(r.lows[:0], r.last)
}

// advance takes the next step.
func (r *run) advance() {
	if r.stuck = r.step(tree.Root); r.stuck == tree.None {
		r.last = r.count.Count(tree.Root)
		r.lows = append(r.lows, min(r.last, r.lows[len(r.lows)-1]))
	}
}

// joins reports whether the tokenizer's counts add up.
func (l *Layout) joins() bool {
	_, joins := l.layouter.Tokenizer.(sizing.Joiner)
	return joins
}
