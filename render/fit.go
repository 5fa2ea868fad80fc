package render

import (
	"cmp"
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/order"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// fitting fits a laid-out tree to one budget, or surveys it.
type fitting struct {
	state     *tree.State
	order     *order.Order
	count     *count.Counter
	layout    *Layout
	watch     *guard.Watch // of the call
	limits    []limit
	phases    []phase // in order
	growth    growth
	recording *recording // of the removals, nil if they are not recorded
	cacheLost bool       // something before a cache breakpoint was removed or trimmed
	unranked  bool       // for the whole prompt's budget, pieces that are not offered are required
}

// limit is a node with a TokenLimit.
type limit struct {
	id   tree.ID // None once an expandable grew in its place
	max  int
	path string // set once an expandable grew in its place
}

// phase says for which limit pieces are removed from a step on.
type phase struct {
	from  tree.Step
	limit int // index of the limit
}

// wholePrompt is the index of the limit that is the budget.
const wholePrompt = -1

// newFitting returns a fitting of a layout. The options may differ from those of the layout.
func newFitting(l *Layout, w *guard.Watch, o FitOptions) *fitting {
	from := l.inMode(o.History)
	f := &fitting{layout: l, unranked: o.KeepUnranked, watch: w}
	f.growth = growth{mode: o.History, all: slices.Clone(from.Expandables)}
	if !l.layouter.Compatible {
		f.growth.sortByPriority(from)
	}
	f.prepare(tree.NewState(from))
	f.removeShareless()
	for _, id := range from.Limits {
		f.limits = append(f.limits, limit{id: id, max: from.Extra(id).Limit})
	}
	return f
}

// prepare makes the fitting continue with a state.
func (f *fitting) prepare(s *tree.State) {
	f.state = s
	f.order = order.New(s, !f.layout.layouter.Compatible)
	f.count = count.New(s, f.layout.layouter.Tokenizer)
}

// removeShareless removes the texts that layout cut to nothing, with everything that is removed along with them.
func (f *fitting) removeShareless() {
	for _, n := range f.state.Tree.Shareless {
		if f.order.Strict && !f.order.Locked(n) && f.state.Attached(n, tree.None) {
			f.order.Remove(n, tree.ByShare)
		}
	}
}

// fit fits one budget.
func (f *fitting) fit(ctx context.Context, budget int) (*Result, error) {
	if err := f.keepLimits(ctx, budget); err != nil {
		return nil, err
	}
	if err := f.keepBudget(ctx, budget); err != nil {
		return nil, err
	}
	return f.notEmpty(f.result(budget))
}

// keepLimits keeps every limit, in the reverse order of layout: if tokens are left, expandables are offered them; if
// there are too many, pieces are removed. A limit above the whole budget is skipped.
func (f *fitting) keepLimits(ctx context.Context, budget int) error {
	for i := len(f.limits) - 1; i >= 0; i-- {
		l := f.limits[i]
		if l.max > budget || l.id == tree.None || !f.state.Attached(l.id, tree.None) {
			continue
		}
		if err := f.offer(ctx, i, l.max); err != nil {
			return err
		}
		f.phases = append(f.phases, phase{f.state.Now + 1, i})
		if stuck := f.prune(ctx, f.limits[i].id, l.max); stuck != tree.None && !f.trimRequired(f.limits[i].id, l.max) {
			return f.exceeded(f.limits[i].id, l.max, stuck)
		}
		f.phases = append(f.phases, phase{f.state.Now + 1, wholePrompt})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// keepBudget brings the whole prompt within its budget.
func (f *fitting) keepBudget(ctx context.Context, budget int) error {
	if err := f.offer(ctx, wholePrompt, budget); err != nil {
		return err
	}
	f.lockUnranked()
	target := budget
	if f.layout.opts.LowWater != 0 {
		target = f.layout.opts.target(budget, f.count.Count(tree.Root))
	}
	if f.layout.opts.Backfill {
		f.recording, f.order.SingleTexts = &recording{}, true
	}
	if stuck := f.prune(ctx, tree.Root, target); stuck != tree.None && f.count.Count(tree.Root) > budget {
		return f.exceeded(tree.Root, budget, stuck)
	}
	if f.recording != nil && ctx.Err() == nil {
		f.backfill(ctx, target)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// lockUnranked locks the pieces that are not offered, if the options say so. It is called after the limits are kept,
// because these may remove any piece in them.
func (f *fitting) lockUnranked() {
	if f.unranked {
		f.order.Lock(true)
	}
}

// target returns how many tokens of a prompt may be left: the budget, or with a low water the rest after the number of
// dropped tokens is rounded up to a multiple of (budget − low water).
func (o Options) target(budget, tokens int) int {
	if tokens <= budget {
		return budget
	}
	step := max(1, budget-int(o.LowWater*float64(budget)))
	drop := (tokens - budget + step - 1) / step * step
	return max(0, tokens-drop)
}

// prune removes pieces from a container until its exact count is at most limit. While that is enough, it removes none
// that come before the last cache breakpoint; if it is not, it starts again as if there were no breakpoints. stuck is the
// node in which nothing more may be removed, None if the container fits.
func (f *fitting) prune(ctx context.Context, container tree.ID, limit int) (stuck tree.ID) {
	before, removed := f.state.Now, len(f.state.Log)
	end, held := f.order.Hold(container)
	if !held {
		stuck, _ = f.remove(ctx, container, limit)
		return stuck
	}
	stuck, _ = f.remove(ctx, container, limit)
	f.order.Release()
	if stuck == tree.None {
		return tree.None
	}
	f.rewind(before)
	if f.recording != nil {
		f.recording.tokens = f.recording.tokens[:0]
	}
	stuck, trimmed := f.remove(ctx, container, limit)
	f.cacheLost = f.cacheLost || tree.None < trimmed && trimmed < end || slices.ContainsFunc(f.state.Log[removed:], func(c tree.Change) bool {
		return c.Node < end || f.state.Tree.Nodes[c.Node].Kind == tree.Tool
	})
	return stuck
}

// remove removes pieces from a container, one at a time, until its exact count is at most limit, and trims the last of
// them if it may. stuck is the node in which nothing more may be removed, None if the container fits.
func (f *fitting) remove(ctx context.Context, container tree.ID, limit int) (stuck, trimmed tree.ID) {
	f.skip(ctx, container, limit)
	n, why := tree.None, tree.Cause(0)
	for ctx.Err() == nil && !f.order.RemovedWithChunk(container) && f.count.Over(container, limit) {
		if n, why, stuck = f.step(container); n == tree.None {
			return stuck, tree.None
		}
	}
	if n != tree.None && ctx.Err() == nil {
		trimmed = f.trim(container, limit, n, why)
	} else {
		trimmed = tree.None
	}
	return tree.None, trimmed
}

// step removes one piece from a container, and returns it with the cause. If there is none, n is None and stuck is the
// node in which nothing may be removed.
func (f *fitting) step(container tree.ID) (n tree.ID, why tree.Cause, stuck tree.ID) {
	if n, why, stuck = f.order.Choose(container); n == tree.None {
		return n, why, stuck
	}
	if f.recording != nil {
		f.recording.tokens = append(f.recording.tokens, f.count.Fewest(n))
	}
	f.order.Remove(n, why)
	return n, why, tree.None
}

// limitPath returns the path of the limit for which pieces were removed at a step, "" for the whole prompt.
func (f *fitting) limitPath(at tree.Step) string {
	after, _ := slices.BinarySearchFunc(f.phases, at, func(g phase, at tree.Step) int { return cmp.Or(cmp.Compare(g.from, at), -1) })
	if after == 0 || f.phases[after-1].limit == wholePrompt {
		return ""
	}
	l := f.limits[f.phases[after-1].limit]
	if l.id == tree.None {
		return l.path
	}
	return f.state.Tree.Path(l.id)
}

// exceeded returns the error of a container in which nothing more may be removed.
func (f *fitting) exceeded(n tree.ID, limit int, stuck tree.ID) error {
	before := tree.NewState(f.layout.inMode(f.growth.mode))
	breakable := ""
	if n == tree.Root {
		breakable = f.breakable()
	}
	told := f.tell(n, true)
	return &BudgetExceededError{
		Budget: limit, Needed: f.count.Count(n), Limit: f.limitPath(tree.Latest), Path: f.state.Tree.Path(stuck),
		Largest: largest(told.report.Kept()), Breakable: breakable, Metadata: f.metadata(), Breakdown: told.breakdown, Messages: join.Messages(before), Tools: f.tools(),
	}
}

// breakable returns the path of the largest required text with a break that is in no limit, "" for none.
func (f *fitting) breakable() (path string) {
	largest := 0
	f.state.At(tree.Latest).Walk(tree.Root, func(n tree.ID) {
		if !f.state.Tree.Nodes[n].Is(tree.Trimmable) || !f.order.Locked(n) || f.count.Piece(n) <= largest {
			return
		}
		for up := n; up != tree.None; up = f.state.Tree.Nodes[up].Parent {
			if f.state.Tree.Extra(up).Limit > 0 {
				return
			}
		}
		largest, path = f.count.Piece(n), f.state.Tree.Path(n)
	})
	return path
}

// notEmpty returns a result, or an [*EmptyError] if pruning left none of the messages.
func (f *fitting) notEmpty(r *Result) (*Result, error) {
	if len(r.Messages) > 0 || f.layout.layouter.Compatible {
		return r, nil
	}
	before := tree.NewState(f.layout.inMode(f.growth.mode))
	messages := join.Messages(before)
	if len(messages) == 0 {
		return r, nil
	}
	dropped := slices.DeleteFunc(f.tell(tree.Root, true).report.Dropped(), func(p Piece) bool { return p.Kind == PieceTool })
	if len(dropped) == 0 { // an expandable grew to nothing
		return r, nil
	}
	return nil, &EmptyError{
		Budget: r.Budget, Tokens: count.New(before, f.layout.layouter.Tokenizer).Count(tree.Root),
		Largest: largest(dropped), Messages: messages, Result: r,
	}
}

// tools returns the tools that are left, nil if none are.
func (f *fitting) tools() []chat.Tool {
	return f.state.Tree.ToolsOf(f.state.At(tree.Latest).Tools(tree.Root))
}

// joins reports whether the tokenizer's counts add up.
func (l *Layout) joins() bool {
	_, joins := l.layouter.Tokenizer.(chat.Joiner)
	return joins
}

// largest returns the five largest pieces of a list, which it sorts.
func largest(pieces []Piece) []Piece {
	slices.SortStableFunc(pieces, func(a, b Piece) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return slices.Clip(pieces[:min(5, len(pieces))])
}
