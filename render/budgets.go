package render

import (
	"context"
	"errors"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
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
	fitting *fitting
	base    tree.Step         // the step before it
	whole   int               // with a low water the count before it
	fits    map[int]tree.Step // the first step at which the prompt fits a target, as far as that is known
}

// shared returns the run that fits to a budget share; nil if each must have one of its own. A limit above
// the whole budget is passed over, so budgets on the two sides of a limit have different runs.
func (l *Layout) shared(ctx context.Context, w *guard.Watch, budget int) (*run, error) {
	const remembered = 16
	if r := l.runs[l.limitsWithin(budget)]; r != nil || l.alone {
		return r, nil
	}
	from := l.builtNow(l.opts.History)
	f := newFitting(l, from, FitOptions{KeepUnranked: l.opts.KeepUnranked, History: l.opts.History})
	f.watch = w
	if !f.count.Joins() || len(from.Expandables) > 0 {
		l.alone = true
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

// limitsWithin returns how many limits are kept within a budget.
func (l *Layout) limitsWithin(budget int) (n int) {
	for _, limit := range l.limits {
		if limit <= budget {
			n++
		}
	}
	return n
}

// fit fits a budget, from where the fit before ended.
func (r *run) fit(ctx context.Context, w *guard.Watch, budget int) (*Result, error) {
	f := r.fitting
	f.watch = w
	target := f.layout.opts.target(budget, r.whole)
	from := r.base // or where a larger budget was kept
	for larger, step := range r.fits {
		if larger >= target {
			from = max(from, step)
		}
	}
	if f.state.Now > from {
		f.retreat(tree.Root, target, f.count.LowerBoundWithTools(tree.Root), from)
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
	return f.result(budget, tokens, f.state.Now), nil
}

// joins reports whether the tokenizer's counts add up.
func (l *Layout) joins() bool {
	_, joins := l.layouter.Tokenizer.(chat.Joiner)
	return joins
}
