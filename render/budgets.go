package render

import (
	"context"
	"errors"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// fitShared fits a budget in a run that it shares with other fits. If runs cannot be shared, the result is nil.
func (l *Layout) fitShared(ctx context.Context, w *guard.Watch, budget int) (result *Result, err error) {
	if l.opts.Backfill || !l.joins() {
		return nil, nil
	}
	if err := l.takeTurn(ctx, w); err != nil {
		return nil, err
	}
	defer l.releaseTurn(w)
	l.dropRunsOnPanic(func() {
		var r *run
		if r, err = l.sharedRun(ctx, w, budget); r != nil {
			result, err = r.fit(ctx, w, budget)
		}
	})
	return result, err
}

// fitted runs a fit, which may take the layout's turn. If the fit is left behind while it has the turn, the layout is
// abandoned.
func fitted[T any](ctx context.Context, l *Layout, fit func(context.Context, *guard.Watch) (T, error)) (T, error) {
	value, w, err := guarded(ctx, l.layouter, fit)
	if _, left := errors.AsType[*callback.LeftError](err); left && w.HoldsTurn.CompareAndSwap(true, false) {
		close(l.abandoned)
	}
	return value, err
}

// takeTurn waits for the layout's turn: like a lock, but the context and an abandoned layout end the wait.
func (l *Layout) takeTurn(ctx context.Context, w *guard.Watch) error {
	select {
	case l.turn <- struct{}{}:
		w.HoldsTurn.Store(true)
		return nil
	case <-l.abandoned:
		return ErrLeftBehind
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// releaseTurn gives the turn back, unless the fit that took it was left behind.
func (l *Layout) releaseTurn(w *guard.Watch) {
	if w.HoldsTurn.CompareAndSwap(true, false) {
		<-l.turn
	}
}

// dropRunsOnPanic calls do, which uses a shared run. If do panics or ends its goroutine, all runs are dropped: a
// tokenizer may have panicked in the middle of a step.
func (l *Layout) dropRunsOnPanic(do func()) {
	returned := false
	defer func() {
		if !returned {
			l.runs = nil
		}
	}()
	do()
	returned = true
}

// run is a pruning of the whole prompt that several fits share. Its limits are kept before it begins.
type run struct {
	fitting *fitting
	base    tree.Step         // the last step of its limits
	whole   int               // with a low water, the count at that step
	fits    map[int]tree.Step // by target, the first step at which the prompt fits, as far as that is known
}

// sharedRun returns the run that is shared by all fits to a budget, nil if fits cannot share a run. A limit above the
// whole budget is skipped, so budgets on the two sides of a limit have different runs.
func (l *Layout) sharedRun(ctx context.Context, w *guard.Watch, budget int) (*run, error) {
	const remembered = 16
	if r := l.runs[l.limitsWithin(budget)]; r != nil || l.unshared {
		return r, nil
	}
	from := l.builtLocked(l.opts.History)
	f := newFitting(l, from, FitOptions{KeepUnranked: l.opts.KeepUnranked, History: l.opts.History})
	f.watch = w
	if !f.count.Joins() || len(from.Expandables) > 0 {
		l.unshared = true
		return nil, nil
	}
	if err := f.keepLimits(ctx, budget); err != nil {
		return nil, err
	}
	f.lockUnranked()
	r := &run{fitting: f, base: f.state.Now, fits: map[int]tree.Step{}}
	if l.opts.LowWater != 0 {
		r.whole = f.count.Count(tree.Root)
	}
	if l.runs == nil || len(l.runs) == remembered {
		l.runs = map[int]*run{}
		l.limits = l.limits[:0]
		for _, limit := range f.limits {
			l.limits = append(l.limits, limit.max)
		}
	}
	l.runs[l.limitsWithin(budget)] = r
	return r, nil
}

// built returns the tree of a history mode.
func (l *Layout) built(ctx context.Context, w *guard.Watch, mode HistoryMode) (*tree.Tree, error) {
	if !w.HoldsTurn.Load() {
		if err := l.takeTurn(ctx, w); err != nil {
			return nil, err
		}
		defer l.releaseTurn(w)
	}
	return l.builtLocked(mode), nil
}

// builtLocked is built for a caller that has the turn.
func (l *Layout) builtLocked(mode HistoryMode) *tree.Tree {
	if l.trees[mode] == nil {
		l.trees[mode] = l.tree.WithHistory(tree.HistoryMode(mode))
	}
	return l.trees[mode]
}

// fitAlone fits with a pruning of its own.
func (l *Layout) fitAlone(ctx context.Context, w *guard.Watch, o FitOptions) (*Result, error) {
	from, err := l.built(ctx, w, o.History)
	if err != nil {
		return nil, err
	}
	f := newFitting(l, from, o)
	f.watch = w
	return f.fit(ctx, o.Budget)
}

// limitsWithin returns the number of limits that are kept at a budget: those up to it.
func (l *Layout) limitsWithin(budget int) (n int) {
	for _, limit := range l.limits {
		if limit <= budget {
			n++
		}
	}
	return n
}

// fit fits a budget, starting where the previous fit ended.
func (r *run) fit(ctx context.Context, w *guard.Watch, budget int) (*Result, error) {
	f := r.fitting
	f.watch = w
	target := f.layout.opts.target(budget, r.whole)
	from := r.base // or the step at which the prompt fits a larger target
	for larger, step := range r.fits {
		if larger >= target {
			from = max(from, step)
		}
	}
	if f.state.Now > from {
		f.backtrack(tree.Root, target, f.count.LowerBoundWithTools(tree.Root), from)
	}
	for f.state.Now < from && ctx.Err() == nil {
		f.step(tree.Root)
	}
	trimmed, stuck := f.prune(ctx, tree.Root, target)
	defer func() { trimmed.undo(f.count) }()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	tokens := f.count.Count(tree.Root)
	if stuck == tree.None {
		r.fits[target] = f.state.Now
	} else if tokens > budget {
		return nil, f.exceeded(ctx, tree.Root, budget, stuck)
	}
	return f.notEmpty(ctx, f.result(budget, tokens, f.state.Now))
}

// joins reports whether the tokenizer's counts add up.
func (l *Layout) joins() bool {
	_, joins := l.layouter.Tokenizer.(chat.Joiner)
	return joins
}
