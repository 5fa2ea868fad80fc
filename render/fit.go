package render

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/sizing"
)

// fitting makes a laid-out tree fit: one budget, or, where nothing depends on the budget but how far it must go, any.
type fitting struct {
	pruner
	layout      *Layout
	live        map[*laid]*node // the nodes of limits and expandables
	limits      []*laid         // in the order in which they are met
	expandables []*laid         // in the order in which they were rendered
	size        int32           // nodes there have been
	cited       []elements.Reference

	// Of the whole prompt's pruning: the step before it, and the count before it; the least count up to each step since, the
	// last count, and where nothing more was to be found.
	base        step
	least       []int
	whole, last int
	stuck       *node
}

// newFitting makes a fresh tree to prune from a layout.
func newFitting(l *Layout) *fitting {
	r := &fitting{layout: l, live: map[*laid]*node{}, size: int32(l.size)}
	r.tokenizer = l.layouter.tokenizer
	r.joiner, _ = r.tokenizer.(sizing.Joiner)
	var found *treeBuilder
	r.root, found = newTree(l.tree, l.size)
	r.cited = found.cited
	r.take(found)
	if len(r.live) > 0 {
		r.met(l.tree)
		r.rendered(l.tree)
	}
	return r
}

// take takes note of what there is in a tree that was built.
func (r *fitting) take(found *treeBuilder) {
	r.breakpoints = r.breakpoints || found.breakpoints
	r.grouped = r.grouped || found.grouped
	if found.nested {
		r.joiner = nil // what is in two messages counts in both
	}
	for _, n := range found.live {
		r.live[n.laid] = n
	}
	switch {
	case !found.required && !r.held:
	case r.held || r.grouped || found.partly: // what is required makes more required
		r.held = lock(r.root)
	default:
		r.held = true
	}
}

// met lists limits level by level: all siblings in document order, then what is in them, in the order of their layout.
func (r *fitting) met(l *laid) {
	for _, c := range l.children {
		if c.more().limit > 0 {
			r.limits = append(r.limits, c)
		}
	}
	l.laidOrder(func(c *laid) bool {
		r.met(c)
		return true
	})
}

// rendered lists expandables in the order in which their layout was done.
func (r *fitting) rendered(l *laid) {
	l.laidOrder(func(c *laid) bool {
		r.rendered(c)
		return true
	})
	if l.more().expand != nil {
		r.expandables = append(r.expandables, l)
	}
}

// shared gives the run that fits to a budget share, all limits kept, or nil where each has one of its own. A limit above
// the whole budget is passed over, so budgets on the two sides of a limit have different runs.
func (l *Layout) shared(ctx context.Context, budget int) (*fitting, error) {
	const most = 16 // that are remembered
	if l.alone || l.opts.Backfill {
		return nil, nil
	}
	limits := 0
	for _, limit := range l.limits {
		if limit <= budget {
			limits++
		}
	}
	if r := l.runs[limits]; r != nil {
		return r, nil
	}
	r := newFitting(l)
	if r.joiner == nil || len(r.expandables) > 0 {
		l.alone = true
		return nil, nil
	}
	if len(r.limits) != len(l.limits) { // the first run
		for _, limit := range r.limits {
			l.limits = append(l.limits, limit.rare.limit)
		}
		return l.shared(ctx, budget)
	}
	if err := r.keepLimits(ctx, budget); err != nil {
		return nil, err
	}
	r.base, r.whole = r.now, r.count(r.root)
	r.least, r.last = append(r.least, r.whole), r.whole
	if l.runs == nil || len(l.runs) == most {
		l.runs = map[int]*fitting{}
	}
	l.runs[limits] = r
	return r, nil
}

// fitShared looks up, or finds out, how far the whole prompt's pruning must go.
func (r *fitting) fitShared(ctx context.Context, budget int) (*Result, error) {
	target := r.layout.opts.target(budget, r.whole)
	i := sort.Search(len(r.least), func(i int) bool { return r.least[i] <= target })
	for i == len(r.least) && r.stuck == nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if r.stuck = r.removeLowest(r.root); r.stuck != nil {
			break
		}
		r.last = r.count(r.root)
		r.least = append(r.least, min(r.last, r.least[i-1]))
		if r.last > target {
			i++
		}
	}
	if i < len(r.least) { // the first so small, and so its own count
		return r.result(budget, r.least[i], r.base+step(i)), nil
	}
	if r.last > budget {
		return nil, r.exceeded(r.root, budget, r.stuck)
	}
	return r.result(budget, r.last, r.base+step(i-1)), nil
}

// fit fits one budget.
func (r *fitting) fit(ctx context.Context, budget int) (*Result, error) {
	if err := r.keepLimits(ctx, budget); err != nil {
		return nil, err
	}
	if err := r.keepBudget(ctx, budget); err != nil {
		return nil, err
	}
	return r.result(budget, r.count(r.root), latest), nil
}

// keepLimits keeps every limit, from the last met to the first: where tokens are left, expandables are offered them;
// where there are too many, pieces go. A limit above the whole budget is passed over.
func (r *fitting) keepLimits(ctx context.Context, budget int) error {
	for i, l := range slices.Backward(r.limits) {
		n, limit := r.live[l], l.rare.limit
		if limit > budget || n == nil || !n.attached() {
			continue
		}
		if err := r.offer(ctx, n, limit); err != nil {
			return err
		}
		r.pruner.limit, r.ctx = int32(i)+1, ctx
		stuck := r.prune(n, limit)
		if stuck != nil {
			return r.exceeded(n, limit, stuck)
		}
		r.pruner.limit = 0
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// keepBudget brings the whole prompt within its budget.
func (r *fitting) keepBudget(ctx context.Context, budget int) error {
	if err := r.offer(ctx, r.root, budget); err != nil {
		return err
	}
	r.ctx = ctx
	target := r.layout.opts.target(budget, r.count(r.root))
	base := r.now
	r.recording = r.layout.opts.Backfill
	if stuck := r.prune(r.root, target); stuck != nil && r.count(r.root) > budget {
		return r.exceeded(r.root, budget, stuck)
	}
	r.recording = false
	if len(r.taken) > 0 && ctx.Err() == nil {
		r.backfill(base, target)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// target is how many tokens are to be left of so many: the budget, or with a low water as many as remain when what is
// dropped is rounded up to a multiple of (budget − low water).
func (o Options) target(budget, tokens int) int {
	if o.LowWater == 0 || tokens <= budget {
		return budget
	}
	step := max(1, budget-int(o.LowWater*float64(budget)))
	drop := (tokens - budget + step - 1) / step * step
	return max(0, tokens-drop)
}

// result is the prompt as it was after a step.
func (r *fitting) result(budget, tokens int, at step) *Result {
	result := &Result{
		Messages: r.root.messages(at),
		Tokens:   tokens,
		Budget:   budget,
		Metadata: r.metadata(at),
	}
	if len(r.cited) > 0 {
		var left []elements.Reference
		r.root.walk(at, func(n *node) { left = append(left, n.laid.more().references...) })
		result.References, result.OmittedReferences = splitReferences(r.cited, left)
	}
	result.report = sync.OnceValue(func() Report {
		r.layout.mu.Lock()
		defer r.layout.mu.Unlock()
		return r.pieces(r.root, at)
	})
	return result
}

// offer gives expandables what is left.
func (r *fitting) offer(ctx context.Context, n *node, limit int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(r.expandables) > 0 && r.count(n) < limit {
		return r.expand(ctx, n, limit)
	}
	return nil
}

// limitPath is the path of a limit for which pieces went.
func (r *fitting) limitPath(number int32) string {
	if number == 0 {
		return ""
	}
	return r.limits[number-1].path()
}

// exceeded is the error of a container in which nothing more may go.
func (r *fitting) exceeded(n *node, limit int, stuck *node) error {
	before, _ := newTree(r.layout.tree, r.layout.size)
	return &BudgetExceededError{
		Budget: limit, Needed: r.count(n), Limit: r.limitPath(r.pruner.limit), Path: stuck.path(),
		Largest: r.largest(n), Metadata: r.metadata(latest), Messages: before.messages(latest),
	}
}

// expand offers what is left of limit to the expandables in n, one after the other. Each may take what is left and
// what its first rendering used, so that it can shrink too.
func (r *fitting) expand(ctx context.Context, n *node, limit int) error {
	used := r.count(n)
	for _, l := range r.expandables {
		old := r.live[l]
		if old == nil || !old.attached() || !old.within(n) {
			continue
		}
		have := &room{budget: limit - used + l.rare.expandMax}
		grown := &laid{up: l.up, name: l.name, nth: l.nth, required: l.required}
		template, err := r.layout.layouter.call(ctx, l, *l.rare.expand, have.budget)
		if err != nil {
			return err
		}
		at := place{inMessage: old.message() != nil, escape: inTag(old)}
		if err := r.layout.layouter.contents(ctx, grown, template, at, have); err != nil {
			return err
		}
		r.replace(old, grown)
		used += have.consumed() - l.rare.expandMax
		if used >= limit {
			break
		}
	}
	return nil
}

// replace makes a node one of a grown expandable.
func (r *fitting) replace(n *node, grown *laid) {
	size, _ := grown.survey(n.parent.locked)
	b := treeBuilder{nodes: make([]node, size-1), order: r.size}
	b.build(n, n.parent, grown, surroundings{message: n.parent.message() != nil, locked: n.parent.locked})
	r.size, r.groups = b.order, nil
	for up := n.parent; up != nil; up = up.parent {
		up.resettle()
	}
	r.held = r.held || b.required // what it stands in holds something now
	r.take(&b)
}

func inTag(n *node) bool {
	for ; n != nil; n = n.parent {
		if n.laid.more().tag != nil {
			return true
		}
	}
	return false
}

// largest gives the five largest pieces in n.
func (r *fitting) largest(n *node) []Piece {
	pieces := r.pieces(n, latest).Kept()
	slices.SortStableFunc(pieces, func(a, b Piece) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return slices.Clip(pieces[:min(5, len(pieces))])
}

// metadata gives global values in the order of their layout, then the local ones that were left after a step, in
// document order.
func (r *fitting) metadata(at step) elements.Metadata {
	var all elements.Metadata
	if !r.layout.noted && len(r.expandables) == 0 {
		return nil
	}
	var globals func(l *laid)
	globals = func(l *laid) {
		all = append(all, l.more().globals...)
		l.laidOrder(func(c *laid) bool {
			globals(c)
			return true
		})
	}
	globals(r.root.laid)
	r.root.walk(at, func(n *node) { all = append(all, n.laid.more().locals...) })
	return all
}

// splitReferences tells what was kept from what was omitted, each name once.
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
