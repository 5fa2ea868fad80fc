// Package layout renders elements from the root down to a draft: flex groups, shares of the budget, and the concurrency of the
// caller's own elements. What it knows of each type of package elements stands in one place, builtinOf.
package layout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Layouter lays out elements.
type Layouter struct {
	// Tokenizer counts texts at layout. It is checked.
	Tokenizer chat.Tokenizer
	// Told is what elements are told, but for the budget of each.
	Sizing elements.Sizing
	// Compatible is set if what prompt-tsx allows is no mistake.
	Compatible bool
	// KeepUnranked is set if what is not offered to pruning is required.
	KeepUnranked bool
	// Transfer is set if the tree is content that is to be transferred.
	Transfer bool
}

// Lay lays out a tree with a budget in tokens.
func (l *Layouter) Lay(ctx context.Context, w *guard.Watch, root elements.Node, budget int) (*draft.Node, error) {
	e := &draft.Node{Name: tree.RootPath}
	_, joins := l.Sizing.Tokenizer.(chat.Joiner)
	s := &site{layouter: l, watch: w, node: e, place: place{inMessage: l.Transfer, lazy: joins && !l.Transfer}, room: room{budget: min(budget, MaxBudget)}}
	if err := s.contents(ctx, listOf(root)); err != nil || !w.HoldsTools.Load() {
		return e, err
	}
	return e, e.CheckTools(nil)
}

// Grow renders an expandable again with another budget. It returns what the expandable grew to, and how many tokens that takes, at most
// the budget.
func (l *Layouter) Grow(ctx context.Context, w *guard.Watch, e *draft.Node, budget int) (grown *draft.Node, used int, err error) {
	s := &site{layouter: l, watch: w, node: e.Like(), place: e.RareOrZero().Place.(place), room: room{budget: min(budget, MaxBudget)}}
	children, err := s.render(ctx, *e.RareOrZero().Expandable)
	if err == nil {
		err = s.contents(ctx, children)
	}
	return s.node, s.consumed(), err
}

// site is where an element is laid out.
type site struct {
	layouter *Layouter
	watch    *guard.Watch
	node     *draft.Node // that is written
	item     *item       // that the node is laid out from, nil for the root
	place
	room

	besides int // lines and uncharged tokens of the room when the elements in it were begun

	// Used again for one element after the other.
	items []item
	inner *site
}

// inside returns the site of an element in this one. It is the same for each: a list may be long.
func (s *site) inside() *site {
	if s.inner == nil {
		s.inner = &site{}
	}
	return s.inner
}

// place says what an element stands in.
type place struct {
	depth     int
	inMessage bool
	escape    bool // in a Tag
	required  bool
	offered   bool // to pruning: a priority is set on it or around it
	overhead  int  // tokens of what stands around it in its message that are not charged at layout
	// eitherSide is set in an IfEmpty that stands outside messages, of which a side may hold what may not stand there if it is not taken.
	eitherSide bool
	// lazy is set if nobody is told what is left after the element: its texts need not be counted, and much of what goes never is.
	lazy bool
	// quiet is set if no element in the one given asks for a share.
	quiet bool
}

// room is a budget that is being used up, in tokens.
type room struct {
	budget, used int
	// What counts in messages but is not charged at layout, as in prompt-tsx: line breaks, at most, and images and the like.
	lines, uncharged int
}

// MaxBudget is a budget that nothing exceeds, as far as shares of it can be told apart in float64.
const MaxBudget = 1<<53 - 1

// left returns what later elements may be offered.
func (r *room) left() int { return max(0, r.budget-r.used) }

// cost returns what was charged, and what counts besides.
func (r *room) cost() int { return r.used + r.lines + r.uncharged }

// charge charges what an element took of the room.
func (r *room) charge(of room) {
	r.used += of.consumed()
	r.lines += of.lines
	r.uncharged += of.uncharged
}

// consumed returns what the parent is charged: never more than was offered.
func (r *room) consumed() int { return min(r.used, r.budget) }

// element lays out an element in a site of its own, whose room says then what it took.
func (s *site) element(ctx context.Context, in *site, it *item, lazy bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.watch.Endless(); err != nil {
		return err
	}
	e := it.node
	in.layouter, in.watch, in.node, in.item, in.place, in.room = s.layouter, s.watch, e, it, s.place, room{budget: it.share}
	in.required = in.required || it.props.Required
	in.offered = in.offered || it.props.Priority != nil && *it.props.Priority < tree.Unset
	in.overhead += s.besides
	in.lazy, in.quiet = lazy, !it.kind.caller && (s.quiet || it.quiet)
	if in.depth++; in.depth > guard.MaxDepth {
		return s.watch.SetEndless(e, fmt.Errorf("%w: more than %d elements stand in each other", guard.ErrEndless, guard.MaxDepth))
	}
	if err := draft.CheckProps(&it.props); err != nil {
		return inElement(e, err)
	}
	e.SetPriority(it.props.Priority)
	e.SetFlag(tree.Required, it.props.Required)
	if s.layouter.Transfer {
		rare := e.EnsureRare()
		rare.Element, rare.Props = it.element, it.props
	}
	children, err := it.kind.layOut(ctx, it.element, in)
	if err != nil {
		return inElement(e, err)
	}
	e.SetFlag(tree.PassesPriority, it.props.PassPriority && (s.layouter.Compatible || s.layouter.Transfer || !e.Is(tree.Chunk)))
	if err := in.contents(ctx, children); err != nil {
		return err
	}
	if e.IfEmpty && !s.inMessage && !s.eitherSide {
		if wrong := e.Taken().OutsideMessage(); wrong != nil {
			return inElement(wrong, draft.ErrOutsideMessage)
		}
	}
	if e.Kind == tree.Message {
		in.lines = max(0, in.lines-1) // the first text of a message stands on no new line
	}
	if rare := e.RareOrZero(); rare.Expandable != nil {
		rare.Used = in.consumed()
	}
	return nil
}

// render calls the element's own Render.
func (s *site) render(ctx context.Context, n elements.Node) (children elements.Nodes, err error) {
	var template elements.Node
	told := s.layouter.Sizing
	told.TokenBudget = s.budget
	if failed := s.watch.Call(s.node, func() { template, err = n.Render(ctx, told) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		return nil, inElement(s.node, err)
	}
	return listOf(template), nil
}

// inElement returns an error with the path of the element in which it happened.
func inElement(e *draft.Node, err error) error {
	if known, ok := err.(*guard.ElementError); ok {
		return known
	}
	return &guard.ElementError{Path: e.Path(), Err: err}
}

// contents lays out what stands in an element: texts and other parts first, which are charged as they are, then the elements among
// them, flex group by flex group.
func (s *site) contents(ctx context.Context, list elements.Nodes) (err error) {
	defer func() {
		if p := recover(); p != nil { // a tokenizer's, say, that nobody else would see: in a goroutine
			err = guard.Panicked(s.node, p)
		}
	}()
	if len(list) == 0 {
		return nil
	}
	if done, err := s.onlyChunks(ctx, list); done || err != nil {
		return err
	}
	items, err := flatten(s.node, s.watch, s.items[:0], list)
	if err != nil {
		return err
	}
	s.items = items
	s.node.Children = make([]draft.Node, 0, len(items))
	lazy := s.lazy
	if lazy && slices.ContainsFunc(items, func(it item) bool { return it.kind.literal != nil }) {
		lazy = !slices.ContainsFunc(items, func(it item) bool { return s.asks(it.element, true) })
	}
	if err := s.watch.Endless(); err != nil {
		return err
	}
	for i := range items {
		it := &items[i]
		switch {
		case it.kind.literal != nil:
			if err := it.kind.literal(it.element, s, it.priority, lazy); err != nil {
				return inElement(s.node, err)
			}
			continue
		case it.kind.caller && guard.IsNil(it.element):
			return inElement(s.node, fmt.Errorf("%w: %T", ErrNilElement, it.element))
		}
		it.node = s.node.Add(draft.Node{Name: it.kind.name})
		if it.kind.caller {
			_, it.node.History = it.element.(elements.ShowsHistory)
		}
	}
	inside := 0
	for i := range items {
		if items[i].node == nil {
			continue
		}
		if err := items[i].readProps(s.watch); err != nil {
			return err
		}
		if inside != i {
			items[inside] = items[i]
		}
		inside++
	}
	return s.groups(ctx, items[:inside])
}
