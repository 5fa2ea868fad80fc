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
	budget int
	root   *node
	live   map[*laid]*node // the nodes of limits and expandables
	pruner pruner

	limits      []*laid // in the order in which they are met
	expandables []*laid // in the order in which they were rendered
}

// newFitting makes a fresh tree to prune from a layout.
func newFitting(l *layouter, root *laid, budget int) *fitting {
	f := &fitting{layout: l, budget: budget, live: map[*laid]*node{}, root: newNode(nil, root)}
	f.met(root)
	f.rendered(root)
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
	return f.keep(ctx, f.root, f.budget, "")
}

// keep brings one container within its limit.
func (f *fitting) keep(ctx context.Context, n *node, limit int, step string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if f.count(n) < limit {
		if err := f.expand(ctx, n, limit); err != nil {
			return err
		}
	}
	f.pruner.step = step
	if stuck := f.pruner.prune(n, limit); stuck != nil {
		return &BudgetExceededError{
			Budget: limit, Needed: f.count(n), Limit: step, Path: stuck.laid.path,
			Largest: largest(n), Metadata: f.metadata(),
		}
	}
	return nil
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

// fitTree makes a layout fit and says what became of it.
func fitTree(ctx context.Context, l *layouter, root *laid, budget int) (*Result, error) {
	f := newFitting(l, root, budget)
	before := f.root.messages()
	cited := references(f.root)
	if err := f.fit(ctx); err != nil {
		if exceeded, ok := err.(*BudgetExceededError); ok {
			exceeded.Messages = before
		}
		return nil, err
	}
	result := &Result{
		Messages: f.root.messages(),
		Tokens:   f.count(f.root),
		Budget:   budget,
		Metadata: f.metadata(),
		Report:   report(f.root),
	}
	result.References, result.OmittedReferences = splitReferences(cited, references(f.root))
	return result, nil
}

// splitReferences tells what was kept from what was omitted, each name once.
func splitReferences(before, after []elements.Reference) (kept, omitted []elements.Reference) {
	seen := map[string]bool{}
	pick := func(from []elements.Reference) (list []elements.Reference) {
		for _, r := range from {
			if !seen[r.Name] {
				seen[r.Name] = true
				list = append(list, r)
			}
		}
		return list
	}
	return pick(after), pick(before)
}
