package render

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/order"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// fitting fits a laid-out tree to one budget, or surveys it.
type fitting struct {
	state     *tree.State
	order     *order.Order
	count     *count.Counter
	layout    *Layout
	options   FitOptions   // KeepUnranked is for the whole prompt's budget
	watch     *guard.Watch // of the call
	limits    []limit
	phases    []phase // in order
	growth    growth
	cacheLost bool // something before a cache breakpoint was removed or trimmed
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

// growth holds the expandables of a fitting.
type growth struct {
	all   []tree.Expandable // in the order in which they are offered tokens
	fixed bool              // they do not grow
}

// sortByPriority sorts the expandables by the priorities on the way from the root to each, the highest first. Equal ones
// stay in the order in which they were rendered, in which prompt-tsx offers tokens to all.
func (g *growth) sortByPriority(t *tree.Tree) {
	priorities := func(n tree.ID) (list []int) {
		for ; n != tree.Root; n = t.Nodes[n].Parent {
			if !t.Nodes[n].Is(tree.PassesPriority) {
				list = append(list, t.Nodes[n].Priority)
			}
		}
		slices.Reverse(list)
		return list
	}
	slices.SortStableFunc(g.all, func(a, b tree.Expandable) int { return slices.Compare(priorities(b.ID), priorities(a.ID)) })
}

// newFitting returns a fitting of a layout. The options may differ from those of the layout.
func newFitting(l *Layout, w *guard.Watch, o FitOptions) *fitting {
	from := l.inMode(o.History)
	f := &fitting{layout: l, options: o, watch: w, growth: growth{all: slices.Clone(from.Expandables)}}
	if !l.layouter.Compatible {
		f.growth.sortByPriority(from)
	}
	f.prepare(tree.NewState(from))
	f.count.Share(&l.seams[o.History])
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

// step removes one piece from a container, and returns it with the cause. If there is none, n is None and stuck is the
// node in which nothing may be removed.
func (f *fitting) step(container tree.ID) (n tree.ID, why tree.Cause, stuck tree.ID) {
	if n, why, stuck = f.order.Choose(container); n != tree.None {
		f.order.Remove(n, why)
	}
	return n, why, stuck
}

// rewind undoes all steps after one.
func (f *fitting) rewind(to tree.Step) { f.count.Restored(f.order.Rewind(to)) }

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

// container returns the node of a limit.
func (f *fitting) container(limit int) tree.ID {
	if limit == wholePrompt {
		return tree.Root
	}
	return f.limits[limit].id
}

// isInside reports whether a node is a descendant of a container.
func isInside(t *tree.Tree, id, container tree.ID) bool {
	return id > container && id < t.Nodes[container].End
}

// tools returns the tools that are left, nil if none are.
func (f *fitting) tools() []chat.Tool {
	return f.state.Tree.ToolsOf(f.state.At(tree.Latest).Tools(tree.Root))
}

// metadata returns the global values in the order of layout, then the local values of the nodes that are left, in
// document order.
func (f *fitting) metadata() elements.Metadata {
	all := append(elements.Metadata(nil), f.state.Tree.Globals...)
	if f.state.Tree.HasLocals {
		f.state.At(tree.Latest).Walk(tree.Root, func(n tree.ID) { all = append(all, f.state.Tree.Extra(n).Locals...) })
	}
	return all
}
