package render

import (
	"cmp"
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements"
)

// fitting makes a laid-out tree fit a budget.
type fitting struct {
	layout *layouter
	opts   Options
	budget int
	root   *node
	live   map[*laid]*node // the nodes of limits and expandables
	pruner pruner

	limits      []*laid // in the order in which they are met
	expandables []*laid // in the order in which they were rendered
}

// newFitting makes a fresh tree to prune from a layout.
func newFitting(l *Layout, budget int) *fitting {
	f := &fitting{layout: l.layouter, opts: l.opts, budget: budget, live: map[*laid]*node{}, root: newNode(nil, l.tree)}
	f.met(l.tree)
	f.rendered(l.tree)
	f.root.walk(func(n *node) {
		if n.laid.limit > 0 || n.laid.expand != nil {
			f.live[n.laid] = n
		}
		if n.laid.kind == breakpoint {
			f.pruner.breakpoints = true
		}
	})
	f.pruner.count = f.count
	f.pruner.removing = map[*elements.Group]bool{}
	f.pruner.held = lock(f.root)
	return f
}

// met lists limits level by level: all siblings in document order, then what is in them, in the order of their layout.
func (f *fitting) met(l *laid) {
	for _, c := range l.children {
		if c.limit > 0 {
			f.limits = append(f.limits, c)
		}
	}
	for _, c := range l.order {
		f.met(c)
	}
}

// rendered lists expandables in the order in which their layout was done.
func (f *fitting) rendered(l *laid) {
	for _, c := range l.order {
		f.rendered(c)
	}
	if l.expand != nil {
		f.expandables = append(f.expandables, l)
	}
}

// count is a node's exact count as far as messages go. An element outside messages is the sum of its messages; one
// inside a message, which no provider would count by itself, is the sum of its pieces.
func (f *fitting) count(n *node) int {
	if n.counted {
		return n.tokens
	}
	total := 0
	switch {
	case n.leaf():
		return n.ownTokens()
	case n.laid.kind == message:
		total = f.layout.tokenizer.CountMessage(n.chatMessage())
	default:
		for _, c := range n.children {
			total += f.count(c)
		}
		if n.laid.tagTokens > 0 && !n.empty() {
			total += n.laid.tagTokens + 2 // and a line break before each of the two tags
		}
	}
	n.tokens, n.counted = total, true
	return total
}

// fit keeps every limit, from the last met to the first, and the whole tree's last: where tokens are left, expandables
// are offered them; where there are too many, pieces go. A limit above the whole budget is passed over.
func (f *fitting) fit(ctx context.Context) error {
	for _, l := range slices.Backward(f.limits) {
		n := f.live[l]
		if l.limit > f.budget || n == nil || !n.attached() {
			continue
		}
		if err := f.keep(ctx, n, l.limit, l.path); err != nil {
			return err
		}
	}
	return f.keepBudget(ctx)
}

// keep brings one container within its limit.
func (f *fitting) keep(ctx context.Context, n *node, limit int, step string) error {
	if err := f.offer(ctx, n, limit); err != nil {
		return err
	}
	f.pruner.step, f.pruner.ctx = step, ctx
	if stuck := f.pruner.prune(n, limit); stuck != nil {
		return f.exceeded(n, limit, stuck)
	}
	return nil
}

// keepBudget brings the whole prompt within its budget.
func (f *fitting) keepBudget(ctx context.Context) error {
	if err := f.offer(ctx, f.root, f.budget); err != nil {
		return err
	}
	target := f.target(f.count(f.root))
	f.pruner.step, f.pruner.ctx = "", ctx
	var pristine *snapshot
	if f.opts.Backfill && f.count(f.root) > target {
		pristine = takeSnapshot(f.root)
		f.pruner.recording = true
	}
	if stuck := f.pruner.prune(f.root, target); stuck != nil && f.count(f.root) > f.budget {
		return f.exceeded(f.root, f.budget, stuck)
	}
	if pristine != nil && ctx.Err() == nil {
		f.backfill(ctx, pristine, target)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// target is how many tokens are to be left: the budget, or with a low water as many as remain when what is dropped is
// rounded up to a multiple of (budget − low water).
func (f *fitting) target(tokens int) int {
	if f.opts.LowWater == 0 || tokens <= f.budget {
		return f.budget
	}
	step := max(1, f.budget-int(f.opts.LowWater*float64(f.budget)))
	drop := (tokens - f.budget + step - 1) / step * step
	return max(0, tokens-drop)
}

// offer gives expandables what is left.
func (f *fitting) offer(ctx context.Context, n *node, limit int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.count(n) < limit {
		return f.expand(ctx, n, limit)
	}
	return nil
}

// exceeded is the error of a container in which nothing more may go.
func (f *fitting) exceeded(n *node, limit int, stuck *node) error {
	return &BudgetExceededError{
		Budget: limit, Needed: f.count(n), Limit: f.pruner.step, Path: stuck.laid.path,
		Largest: largest(n), Metadata: f.metadata(),
	}
}

// expand offers what is left of limit to the expandables in n, one after the other. Each may take what is left and
// what its first rendering used, so that it can shrink too.
func (f *fitting) expand(ctx context.Context, n *node, limit int) error {
	used := f.count(n)
	for _, l := range f.expandables {
		old := f.live[l]
		if old == nil || !old.attached() || !old.within(n) {
			continue
		}
		r := &room{budget: limit - used + l.used}
		grown := &laid{path: l.path, required: l.required}
		template, err := f.layout.call(ctx, *l.expand, l.path, r.budget)
		if err != nil {
			return err
		}
		at := place{path: l.path, inMessage: inMessage(old), escape: inTag(old)}
		if err := f.layout.contents(ctx, grown, template, at, r); err != nil {
			return err
		}
		f.replace(old, newNode(old.parent, grown))
		used += r.consumed() - l.used
		if used >= limit {
			break
		}
	}
	return nil
}

// replace puts a grown expandable's node in the place of the one before.
func (f *fitting) replace(old, grown *node) {
	for key, n := range f.live {
		if n == old {
			f.live[key] = grown
		}
	}
	for _, list := range [][]*node{old.parent.children, old.parent.all} {
		if i := slices.Index(list, old); i >= 0 {
			list[i] = grown
		}
	}
	old.gone = true
	old.parent.changed()
	if f.pruner.held {
		lock(f.root)
	}
}

func inMessage(n *node) bool {
	for ; n != nil; n = n.parent {
		if n.laid.kind == message {
			return true
		}
	}
	return false
}

func inTag(n *node) bool {
	for ; n != nil; n = n.parent {
		if n.laid.tagOpen != "" {
			return true
		}
	}
	return false
}

// largest gives the five largest pieces in n.
func largest(n *node) []Piece {
	pieces := report(n).Kept()
	slices.SortStableFunc(pieces, func(a, b Piece) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return slices.Clip(pieces[:min(5, len(pieces))])
}

// metadata gives global values in the order of their layout, then the local ones that are left, in document order.
func (f *fitting) metadata() elements.Metadata {
	var all elements.Metadata
	var globals func(l *laid)
	globals = func(l *laid) {
		all = append(all, l.globals...)
		for _, c := range l.order {
			globals(c)
		}
	}
	globals(f.root.laid)
	f.root.walk(func(n *node) { all = append(all, n.laid.locals...) })
	return all
}

// references lists the references in the tree, in document order.
func references(root *node) []elements.Reference {
	var all []elements.Reference
	root.walk(func(n *node) { all = append(all, n.laid.references...) })
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
