package render

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// HistoryMode says whether history is required: the contents of elements with the marker [elements.ShowsHistory].
type HistoryMode uint8

// The history modes.
const (
	// HistoryAsGiven requires history if its elements are Required.
	HistoryAsGiven HistoryMode = iota
	// HistoryRequired requires all history, whatever its elements say. A TokenLimit around more history than it allows
	// is then a [*BudgetExceededError].
	HistoryRequired
	// HistoryDroppable ignores Required on an element with the marker, and on everything in it, if one of its messages,
	// or an element between it and them, has a priority. Messages are then dropped by their priorities, as if the
	// Conversation and the Rounds of package history were Droppable. An element whose messages have no priorities stays
	// Required, for example one that shows the current request. An element with the marker inside another is judged by
	// its own messages.
	HistoryDroppable
)

// check returns an error for an unknown mode.
func (m HistoryMode) check() error {
	if m > HistoryDroppable {
		return worded.Errorf(ErrBudget, "render: History is out of range: %d, must be a mode from 0 to %d", m, HistoryDroppable)
	}
	return nil
}

// FitOptions replace the options that the tree was laid out with, for [Layout.FitWith] and [Layout.Floor].
type FitOptions struct {
	// Budget is the maximum number of tokens of the messages and tools, 1 or more.
	Budget int
	// KeepUnranked requires all pieces without a priority, as [Options.KeepUnranked] does. Off by default.
	KeepUnranked bool
	// History says whether history is required. Defaults to HistoryAsGiven.
	History HistoryMode
}

func (l *Layout) checkFit(o FitOptions) error {
	if err := l.opts.checkBudget(o.Budget); err != nil {
		return err
	}
	return o.History.check()
}

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
