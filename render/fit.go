package render

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/promptree-go/promptree/elements"
)

// fitting makes a laid-out tree fit: one budget, or, where nothing depends on the budget but how far it must go, any.
type fitting struct {
	pruner
	layout      *Layout
	watch       *watch                  // of the call
	unranked    bool                    // what is not offered is required in the whole prompt
	history     HistoryMode             // of what is required
	shared      bool                    // by several fits, which lock the layout
	fixed       bool                    // expandables do not grow
	limits      []*node                 // in the order in which they are met
	expandables []*expandable           // in the order in which they were rendered
	growing     map[*node][]*expandable // those in each limit, and in the root
	noted       bool                    // there is metadata
	cited       []elements.Reference

	// Of the whole prompt's pruning: the step before it, and with a low water the count before it; the step from which on
	// counts are known, the least count from there up to each step, the last count; and where nothing more was to be found.
	base, from  step
	whole, last int
	lows        []int
	stuck       *node
}

// expandable is a node that may grow, and what grows it.
type expandable struct {
	node  *node
	value *elements.Expandable
	most  int // tokens that its first rendering used
}

// newFitting makes a tree of a layout, or a copy, one to prune.
func newFitting(l *Layout, root *node) *fitting {
	return newFittingWith(l, root, l.opts.KeepUnranked, l.opts.History)
}

// newFittingWith does so with other options than the layout's.
func newFittingWith(l *Layout, root *node, unranked bool, history HistoryMode) *fitting {
	f := &fitting{layout: l, unranked: unranked, history: history, growing: map[*node][]*expandable{}}
	history.apply(root)
	f.counter = newCounter(l.layouter.tokenizer)
	f.root, f.strict, f.watch = root, !l.layouter.lenient, &watch{}
	found := begin(root)
	f.cited = found.cited
	f.take(found)
	if found.required {
		f.held = f.grouped == 0 && !found.partly || lock(f.root, false) // what is required may make more required
	}
	if found.live {
		f.met(root)
		f.rendered(root)
	}
	for _, e := range f.expandables {
		for up := e.node.parent; up != nil; up = up.parent {
			if up == root || up.more().limit > 0 {
				f.growing[up] = append(f.growing[up], e)
			}
		}
	}
	return f
}

// take takes note of what there is in a tree that has begun.
func (f *fitting) take(found *begun) {
	f.breakpoints = f.breakpoints || found.breakpoints
	f.noted = f.noted || found.noted
	f.allPieces += found.pieces
	f.grouped += found.grouped
	f.chunks = f.chunks || found.chunks
	if found.nested {
		f.joiner = nil // what is in two messages counts in both
	}
}

// met lists limits level by level: all siblings in document order, then what is in them, in the order of their layout.
func (f *fitting) met(n *node) {
	for i := range n.children {
		if c := &n.children[i]; c.more().limit > 0 {
			f.limits = append(f.limits, c)
		}
	}
	n.laidOrder(func(c *node) bool {
		f.met(c)
		return true
	})
}

// rendered lists expandables in the order in which their layout was done.
func (f *fitting) rendered(n *node) {
	n.laidOrder(func(c *node) bool {
		f.rendered(c)
		return true
	})
	if more := n.more(); more.expand != nil {
		f.expandables = append(f.expandables, &expandable{n, more.expand, more.expandMax})
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
	return f.result(budget, f.count(f.root), latest), nil
}

// keepLimits keeps every limit, from the last met to the first: where tokens are left, expandables are offered them;
// where there are too many, pieces go. A limit above the whole budget is passed over.
func (f *fitting) keepLimits(ctx context.Context, budget int) error {
	for i, n := range slices.Backward(f.limits) {
		limit := n.more().limit
		if limit > budget || !n.attached() {
			continue
		}
		if err := f.offer(ctx, n, limit); err != nil {
			return err
		}
		f.goFor(i)
		stuck := f.prune(ctx, n, limit)
		if stuck != nil {
			return f.exceeded(ctx, n, limit, stuck)
		}
		f.goFor(wholePrompt)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// keepBudget brings the whole prompt within its budget.
func (f *fitting) keepBudget(ctx context.Context, budget int) error {
	if err := f.offer(ctx, f.root, budget); err != nil {
		return err
	}
	f.lockUnranked()
	target := f.layout.opts.target(budget, f.count(f.root))
	base := f.now
	f.recording = f.layout.opts.Backfill
	if stuck := f.prune(ctx, f.root, target); stuck != nil && f.count(f.root) > budget {
		return f.exceeded(ctx, f.root, budget, stuck)
	}
	f.recording = false
	if len(f.taken) > 0 && ctx.Err() == nil {
		f.backfill(ctx, base, target)
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
func (f *fitting) result(budget, tokens int, at step) *Result {
	seen := at
	if at == f.now {
		seen = latest // the same, and found sooner
	}
	result := &Result{
		Messages: f.root.messages(seen),
		Tokens:   tokens,
		Budget:   budget,
		Metadata: f.metadata(seen),
	}
	if len(f.cited) > 0 {
		var left []elements.Reference
		f.root.walk(seen, func(n *node) { left = append(left, n.more().references...) })
		result.References, result.OmittedReferences = splitReferences(f.cited, left)
	}
	result.report = sync.OnceValue(func() (report Report) {
		report, _ = fitted(context.Background(), f.layout, func(ctx context.Context, w *watch) (report Report, err error) {
			if err := f.layout.take(ctx, w); err != nil {
				return nil, err
			}
			defer f.layout.release(w)
			f.layout.orForget(func() {
				for at != latest && f.now < at { // another fit went back
					f.advance()
				}
				report = f.pieces(f.root, at)
			})
			return report, nil
		})
		return report
	})
	return result
}

// offer gives expandables what is left.
func (f *fitting) offer(ctx context.Context, n *node, limit int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !f.fixed && len(f.growing[n]) > 0 && f.count(n) < limit {
		return f.expand(ctx, n, limit)
	}
	return nil
}

// limitPath is the path of the limit for which pieces went at a step, "" where it was for the whole prompt.
func (f *fitting) limitPath(at step, known paths) string {
	if limit := f.goneFor(at); limit != wholePrompt {
		return known.of(f.limits[limit])
	}
	return ""
}

// exceeded is the error of a container in which nothing more may go.
func (f *fitting) exceeded(ctx context.Context, n *node, limit int, stuck *node) error {
	var before *node
	if f.shared {
		before = f.layout.tree.copy()
	} else {
		var err error
		if before, err = f.layout.copyTree(ctx, f.watch); err != nil {
			return err
		}
	}
	begin(before)
	return &BudgetExceededError{
		Budget: limit, Needed: f.count(n), Limit: f.limitPath(latest, paths{}), Path: stuck.path(),
		Largest: f.largest(n), Metadata: f.metadata(latest), Messages: before.messages(latest),
	}
}

// expand offers what is left of limit to the expandables in n, one after the other. Each may take what is left and
// what its first rendering used, so that it can shrink too.
func (f *fitting) expand(ctx context.Context, n *node, limit int) error {
	used := f.count(n)
	grew := false
	for _, e := range f.growing[n] {
		if !e.node.attached() {
			continue
		}
		have := &room{budget: min(limit, most) - used + e.most}
		grown := &node{parent: e.node.parent, own: e.node.own, index: e.node.index, traits: e.node.traits & (isRequired | isOffered)}
		grown.holding().name = e.node.name
		template, err := f.layout.layouter.call(ctx, e.node, *e.value, f.watch, have.budget)
		if err != nil {
			return err
		}
		at := place{inMessage: e.node.message() != nil, escape: inTag(e.node), watch: f.watch}
		for up := e.node; up != nil; up = up.parent {
			at.depth++
		}
		if err := f.layout.layouter.contents(ctx, grown, listOf(template), at, have); err != nil {
			return err
		}
		f.history.apply(grown)
		f.replace(e.node, grown)
		grew = true
		used += have.consumed() - e.most
		if used >= limit {
			break
		}
	}
	if grew && f.held { // what is required may make more required, or is not there any more
		f.held = lock(f.root, false)
	}
	return nil
}

// replace makes a node one of a grown expandable.
func (f *fitting) replace(n, grown *node) {
	var around lineage
	around.add(n.parent)
	around.apart()
	n.lend(-1)
	before := *n // where what is replaced stays: pieces may have gone for a limit in it, and its path is asked for
	before.gone = latest
	for i := range before.children {
		before.children[i].parent = &before
	}
	*n = *grown
	for i := range n.children {
		n.children[i].parent = n
	}
	n.begin()
	b := &begun{}
	b.walk(n, surroundings{message: n.parent.message() != nil, locked: n.parent.locked, legacy: n.inLegacy()})
	f.groups, f.cited = nil, append(f.cited, b.cited...)
	for up := n.parent; up != nil; up = up.parent {
		up.lines = up.lines && n.lines
	}
	n.lend(1)
	around.settle()
	f.held = f.held || b.required // what it stands in holds something now
	f.take(b)
}

// inLegacy reports whether n stands in a legacy element.
func (n *node) inLegacy() bool {
	for up := n.parent; up != nil; up = up.parent {
		if up.is(isLegacy) {
			return true
		}
	}
	return false
}

func inTag(n *node) bool {
	for ; n != nil; n = n.parent {
		if n.is(isTagged) {
			return true
		}
	}
	return false
}

// largest gives the five largest pieces in n.
func (f *fitting) largest(n *node) []Piece {
	pieces := f.pieces(n, latest).Kept()
	slices.SortStableFunc(pieces, func(a, b Piece) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return slices.Clip(pieces[:min(5, len(pieces))])
}

// metadata gives global values in the order of their layout, then the local ones that were left after a step, in
// document order.
func (f *fitting) metadata(at step) elements.Metadata {
	var all elements.Metadata
	if !f.noted {
		return nil
	}
	var globals func(n *node)
	globals = func(n *node) {
		all = append(all, n.more().globals...)
		n.laidOrder(func(c *node) bool {
			globals(c)
			return true
		})
	}
	globals(f.root)
	f.root.walk(at, func(n *node) { all = append(all, n.more().locals...) })
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
