// Package layout is the stage of the render engine that renders elements, from the root down, to a draft.
//
// [Layouter.Lay] takes a tree of elements and a budget, and returns a [draft.Node]; [Layouter.Grow] renders an
// expandable again. Each element is told a share of the budget: siblings are divided into flex groups (share.go), and
// the tokens that an element takes, up to its share, are charged to its parent's account. Elements of the caller's own
// types in one flex group render concurrently (concurrent.go), with the same result as one after the other. Layout
// never drops anything, but it cuts text to its share (cut.go).
//
// Each type of package elements is handled in a case of builtinOf (kinds.go).
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
	// Tokenizer counts texts at layout. It is the result of guard.Check.
	Tokenizer chat.Tokenizer
	// Sizing is passed to each element, in a copy with the element's budget.
	Sizing elements.Sizing
	// Compatible accepts everything that prompt-tsx accepts.
	Compatible bool
	// KeepUnranked says that pieces not offered to pruning are required.
	KeepUnranked bool
	// Transfer says that the tree is content that is to be transferred.
	Transfer bool
}

// Lay lays out a tree with a budget in tokens.
func (l *Layouter) Lay(ctx context.Context, w *guard.Watch, root elements.Node, budget int) (*draft.Node, error) {
	e := &draft.Node{Name: tree.RootPath}
	_, joins := l.Sizing.Tokenizer.(chat.Joiner)
	s := &site{layouter: l, watch: w, node: e, askingLists: &askingLists{}, place: place{inMessage: l.Transfer, lazy: joins && !l.Transfer}, account: account{budget: min(budget, MaxBudget)}}
	if err := s.contents(ctx, listOf(root)); err != nil || !w.HoldsTools.Load() {
		return e, err
	}
	return e, e.CheckTools(nil)
}

// Grow renders an expandable again with another budget. It returns the new node, and the tokens that it takes, at most
// the budget.
func (l *Layouter) Grow(ctx context.Context, w *guard.Watch, e *draft.Node, budget int) (grown *draft.Node, used int, err error) {
	s := &site{layouter: l, watch: w, node: e.Like(), askingLists: &askingLists{}, place: e.RareOrZero().Place.(place), account: account{budget: min(budget, MaxBudget)}}
	if _, first := e.RareOrZero().Expandable.(elements.First); first {
		s.node.InheritPriority(e)
	}
	children, err := s.value(ctx, e.RareOrZero().Expandable)
	if err == nil {
		err = s.contents(ctx, children)
	}
	return s.node, s.consumed(), err
}

// site is the state of the layout of one element.
type site struct {
	layouter *Layouter
	watch    *guard.Watch
	node     *draft.Node // that is written
	item     *item       // that the node is laid out from, nil for the root
	place
	account
	askingLists *askingLists // of the whole layout

	// Reused for each element in this one.
	items []item
	inner *site
}

// innerSite returns the site for an element in this one. Elements share it one after the other, because a list may be
// long.
func (s *site) innerSite() *site {
	if s.inner == nil {
		s.inner = &site{}
	}
	return s.inner
}

// place says what is around an element.
type place struct {
	depth     int
	inMessage bool
	escape    bool // it is in a Tag
	required  bool
	offered   bool // to pruning: a priority is set on it or around it
	// eitherSide is set in an IfEmpty outside messages: content that may not be there is a mistake only on the side
	// that is taken.
	eitherSide bool
	// lazy is set if no element is told what is left after this one. Its texts are then not counted at layout. Many of
	// those that pruning removes are never counted.
	lazy bool
	// noShare is set if no element in this one asks for a share, quiet if, moreover, none is of the caller's own type.
	noShare, quiet bool
}

// account is a budget that is used up, in tokens.
type account struct {
	budget, used int
	// Tokens that count in messages but are not charged at layout, as in prompt-tsx: those of line breaks, an upper
	// bound, and those of parts that are not text.
	lines, uncharged int
	over             int // tokens that elements took beyond their shares, which are not charged either
}

// MaxBudget is the largest budget: up to it, shares are exact in float64.
const MaxBudget = 1<<53 - 1

// left returns what later elements may be offered.
func (a *account) left() int { return max(0, a.budget-a.used) }

// cost returns the charged tokens plus the uncharged ones.
func (a *account) cost() int { return a.used + a.lines + a.uncharged }

// charge charges the account of an element to this one.
func (a *account) charge(of account) {
	a.used += of.consumed()
	a.over += of.over + of.used - of.consumed()
	a.lines += of.lines
	a.uncharged += of.uncharged
}

// consumed returns the tokens that the parent is charged: never more than the share that it offered.
func (a *account) consumed() int { return min(a.used, a.budget) }

// element lays out an element in a site of its own, whose account then has the tokens that the element took.
func (s *site) element(ctx context.Context, in *site, it *item, lazy bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.watch.Endless(); err != nil {
		return err
	}
	e := it.node
	in.layouter, in.watch, in.askingLists = s.layouter, s.watch, s.askingLists
	in.node, in.item, in.place, in.account = e, it, s.place, account{budget: it.share}
	in.required = in.required || it.props.Required
	in.offered = in.offered || offers(it.props.Priority)
	in.lazy, in.noShare = lazy, s.quiet || !it.kind.caller && (s.noShare || it.noShare)
	if in.depth++; in.depth > guard.MaxDepth {
		return s.watch.SetEndless(e, fmt.Errorf("%w: more than %d nested elements", guard.ErrEndless, guard.MaxDepth))
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
		in.lines = max(0, in.lines-1) // no line break precedes the first text of a message
	}
	if rare := e.RareOrZero(); rare.Expandable != nil {
		rare.Used = in.consumed()
	}
	if limit := it.kind.max; limit > 0 { // it will be pruned to that
		in.over = max(0, min(in.used+in.over, limit)-in.budget)
		in.used = min(in.used, in.budget)
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

// contents lays out the contents of an element: first its texts and other literals, which are charged in full, then the
// elements among them, flex group by flex group.
func (s *site) contents(ctx context.Context, list elements.Nodes) (err error) {
	defer func() {
		if p := recover(); p != nil { // in a goroutine nobody else would recover it, for example a tokenizer's
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
	if lazy && !s.quiet && slices.ContainsFunc(items, func(it item) bool { return it.kind.literal != nil }) {
		s.quiet = !slices.ContainsFunc(items, func(it item) bool { return s.asks(it.element, true) })
		lazy = s.quiet
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
