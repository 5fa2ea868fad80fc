package render

import (
	"cmp"
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// fit fits the budget.
func (f *fitting) fit(ctx context.Context) (*Result, error) {
	if err := f.keepLimits(ctx); err != nil {
		return nil, err
	}
	if err := f.keepBudget(ctx, f.options.Budget); err != nil {
		return nil, err
	}
	return f.notEmpty(f.result())
}

// keepLimits keeps every limit, in the reverse order of layout: if tokens are left, expandables are offered them; if
// there are too many, pieces are removed. A limit above the whole budget is skipped.
func (f *fitting) keepLimits(ctx context.Context) error {
	for i := len(f.limits) - 1; i >= 0; i-- {
		l := f.limits[i]
		if l.max > f.options.Budget || l.id == tree.None || !f.state.Attached(l.id, tree.None) {
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
	base := f.state.Now
	if stuck := f.prune(ctx, tree.Root, target); stuck != tree.None && f.count.Count(tree.Root) > budget {
		return f.exceeded(tree.Root, budget, stuck)
	}
	if f.layout.opts.Backfill && ctx.Err() == nil {
		f.backfill(ctx, base, target)
	}
	return context.Cause(ctx)
}

// lockUnranked locks the pieces that are not offered, if the options say so. It is called after the limits are kept,
// because these may remove any piece in them.
func (f *fitting) lockUnranked() {
	if f.options.KeepUnranked {
		f.order.Lock(true)
	}
}

// prune removes pieces from a container until its exact count is at most limit. While that is enough, it removes none
// that come before the last cache breakpoint; if it is not, it starts again as if there were no breakpoints. stuck is the
// node in which nothing more may be removed, None if the container fits.
func (f *fitting) prune(ctx context.Context, container tree.ID, limit int) (stuck tree.ID) {
	before, removed := f.state.Now, len(f.state.Log)
	end, held := f.order.Hold(container)
	if stuck, _ = f.remove(ctx, container, limit); !held {
		return stuck
	}
	f.order.Release()
	if stuck == tree.None {
		return tree.None
	}
	f.rewind(before)
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
	if n == tree.None || ctx.Err() != nil {
		return tree.None, tree.None
	}
	return tree.None, f.trim(container, limit, n, why)
}

// exceeded returns the error of a container in which nothing more may be removed.
func (f *fitting) exceeded(n tree.ID, limit int, stuck tree.ID) error {
	before := tree.NewState(f.layout.inMode(f.options.History))
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

// notEmpty returns a result, or an [*EmptyPromptError] if pruning left none of the messages.
func (f *fitting) notEmpty(r *Result) (*Result, error) {
	if len(r.Messages) > 0 || f.layout.layouter.Compatible {
		return r, nil
	}
	before := tree.NewState(f.layout.inMode(f.options.History))
	messages := join.Messages(before)
	if len(messages) == 0 {
		return r, nil
	}
	dropped := slices.DeleteFunc(f.tell(tree.Root, true).report.Dropped(), func(p Piece) bool { return p.Kind == pieceTool })
	if len(dropped) == 0 { // an expandable grew to nothing
		return r, nil
	}
	return nil, &EmptyPromptError{
		Budget: r.Budget, Tokens: count.New(before, f.layout.layouter.Tokenizer).Count(tree.Root),
		Largest: largest(dropped), Messages: messages, Result: r,
	}
}

// largest returns the five largest pieces of a list, which it sorts.
func largest(pieces []Piece) []Piece {
	slices.SortStableFunc(pieces, func(a, b Piece) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return slices.Clip(pieces[:min(5, len(pieces))])
}

// result returns what is left.
func (f *fitting) result() *Result {
	t, left := f.state.Tree, f.state.At(tree.Latest)
	result := &Result{Messages: join.Messages(f.state), Tools: f.tools(), Tokens: f.count.Count(tree.Root), Budget: f.options.Budget, Metadata: f.metadata()}
	if len(t.References) > 0 {
		var kept []elements.Reference
		left.Walk(tree.Root, func(n tree.ID) { kept = append(kept, t.Extra(n).References...) })
		result.References, result.OmittedReferences = splitReferences(t.References, kept)
	}
	result.survey = func(ctx context.Context) (*survey, error) { return f.layout.survey(ctx, f.options) }
	result.left, result.all = f.accounts()
	return result
}

// splitReferences separates the references that were kept from those that were omitted, each name once.
func splitReferences(before, after []elements.Reference) (kept, omitted []elements.Reference) {
	seen := map[string]bool{}
	pick := func(from []elements.Reference) (list []elements.Reference) {
		for _, r := range from {
			if !seen[r.Name] {
				seen[r.Name] = r.Name != ""
				list = append(list, r)
			}
		}
		return list
	}
	return pick(after), pick(before)
}
