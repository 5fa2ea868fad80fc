// Package layout is the stage of the render engine that renders elements, from the root down, and writes the tree that
// is pruned.
//
// [Layouter.Lay] takes a tree of elements and a budget, and returns a [tree.Tree]; [Layouter.Grow] renders an expandable
// again. Each element is told a share of the budget: siblings are divided into flex groups (share.go), and
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
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/transfer"
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

	keepsCounts bool // counts by Sizing.Tokenizer may be kept
}

// Lay lays out a tree with a budget in tokens.
func (l *Layouter) Lay(ctx context.Context, w *guard.Watch, root elements.Node, budget int) (*tree.Tree, error) {
	l.keepsCounts = counting.MayKeep(l.Sizing.Tokenizer)
	_, joins := l.Sizing.Tokenizer.(chat.Joiner)
	s := l.outermost(w, tree.Node{}, tree.RootPath, place{inMessage: l.Transfer, lazy: joins && !l.Transfer}, budget)
	s.tree.SetName(s.id, tree.RootPath)
	if err := s.contents(ctx, listOf(root)); err != nil {
		return nil, err
	}
	s.tree.Close(s.id)
	t := s.tree.Finish()
	return t, CheckTools(t)
}

// Grow renders an expandable of a tree again with another budget. It returns the tree of the new node, the tokens that it
// takes, at most the budget, and whether it cannot grow any more.
func (l *Layouter) Grow(ctx context.Context, w *guard.Watch, t *tree.Tree, e tree.Expandable, budget int) (grown *tree.Tree, used int, largest bool, err error) {
	was := &t.Nodes[e.ID]
	like := tree.Node{Flags: was.Flags & (tree.Required | tree.Offered), Category: was.Category}
	if _, first := e.Element.(elements.First); first {
		like.InheritPriority(was)
	}
	s := l.outermost(w, like, t.Path(e.ID), e.Place.(place), budget)
	s.tree.SetName(s.id, t.Name(e.ID))
	s.growing = &tree.Expandable{}
	children, err := s.value(ctx, e.Element)
	if err == nil {
		err = s.contents(ctx, children)
	}
	if err != nil {
		return nil, 0, false, err
	}
	s.tree.Close(s.id)
	return s.tree.Finish(), s.consumed(), s.growing.Largest, nil
}

// outermost returns a site that is in no other, with a node in a tree of its own.
func (l *Layouter) outermost(w *guard.Watch, n tree.Node, path string, p place, budget int) *site {
	t := tree.New()
	return &site{
		layouter: l, watch: w, tree: t, id: t.Add(tree.None, n), path: path, askingLists: &askingLists{}, place: p,
		account: account{budget: min(budget, MaxBudget)},
	}
}

// site is the state of the layout of one element.
type site struct {
	layouter *Layouter
	watch    *guard.Watch
	tree     *tree.Tree // that is written
	id       tree.ID    // of the element in it
	up       *site      // around this one
	item     *item      // of up that the element is, nil if it is outermost
	path     string     // of an outermost one
	place
	account
	askingLists *askingLists // of the whole layout

	growing *tree.Expandable // of an expandable

	// Reused for each element in this one.
	items []item
	order []tree.ID // nodes of the items, in document order
	inner *site
}

// node returns the node of the element, until the next one is written.
func (s *site) node() *tree.Node { return &s.tree.Nodes[s.id] }

// Path implements [guard.Element].
func (s *site) Path() string {
	if s.item == nil {
		return s.path
	}
	return tree.JoinPath(s.up.Path(), s.item.kind.name, s.item.nth)
}

// PathWithoutNumbers implements [guard.Element].
func (s *site) PathWithoutNumbers() string {
	if s.item == nil {
		return s.path
	}
	return tree.JoinPath(s.up.PathWithoutNumbers(), s.item.kind.name, 0)
}

// pathOf returns the path of a node in the element.
func (s *site) pathOf(n tree.ID) string {
	if n == s.id {
		return s.Path()
	}
	return s.tree.PathIn(s.pathOf(s.tree.Nodes[n].Parent), n)
}

// of returns the element of an item, for its path.
func (s *site) of(it *item) guard.Element { return &site{up: s, item: it} }

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

// element lays out an element in a site of its own, whose account then has the tokens that the element took. The site has
// the tree to which the element is written.
func (s *site) element(ctx context.Context, in *site, it *item, lazy bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.watch.Endless(); err != nil {
		return err
	}
	parent := tree.None
	if in.tree == s.tree {
		parent = s.id
	}
	in.layouter, in.watch, in.askingLists, in.up, in.item = s.layouter, s.watch, s.askingLists, s, it
	in.growing, in.place, in.account = nil, s.place, account{budget: it.share}
	in.id = in.tree.Add(parent, tree.Node{})
	in.tree.SetName(in.id, it.kind.name)
	if s.layouter.Transfer && it.kind.ctor != "" {
		in.tree.SetName(in.id, it.kind.ctor)
	}
	in.tree.Details[in.id].Nth = it.nth
	globals := len(in.tree.Globals)
	in.required = in.required || it.props.Required
	in.offered = in.offered || offers(it.props.Priority)
	in.lazy, in.noShare = lazy, s.quiet || !it.kind.caller && (s.noShare || it.noShare)
	if in.depth++; in.depth > guard.MaxDepth {
		return s.watch.SetEndless(in, fmt.Errorf("%w: more than %d nested elements", tree.ErrEndless, guard.MaxDepth))
	}
	if err := tree.CheckProps(&it.props); err != nil {
		return inElement(in, err)
	}
	e := in.node()
	e.SetPriority(it.props.Priority)
	e.SetFlag(tree.Required, it.props.Required)
	e.Category = it.props.Category
	if it.kind.caller {
		_, shows := it.element.(elements.ShowsHistory)
		if e.SetFlag(tree.ShowsHistory, shows); shows && e.Category == elements.CategoryUnset {
			e.Category = elements.CategoryHistory
		}
		if room, can := it.element.(elements.MakesRoom); can {
			in.tree.EnsureExtra(in.id).Marks = []any{room}
		}
	}
	if s.layouter.Transfer {
		in.tree.EnsureExtra(in.id).Transfer = transfer.Source{Element: it.element, Props: it.props}
	}
	children, err := it.kind.layOut(ctx, it.element, in)
	if err != nil {
		return inElement(in, err)
	}
	e = in.node()
	e.SetFlag(tree.PassesPriority, it.props.PassPriority && (s.layouter.Compatible || s.layouter.Transfer || !e.Is(tree.Chunk)))
	if err := in.contents(ctx, children); err != nil {
		return err
	}
	return s.close(in, it, globals)
}

// close ends an element whose contents are laid out. The metadata of the whole prompt from globals on are its own.
func (s *site) close(in *site, it *item, globals int) error {
	in.tree.Close(in.id)
	e := in.node()
	if e.Is(tree.IfEmpty) {
		if wrong := in.outsideMessage(in.tree.Taken(in.id)); wrong != tree.None && !s.inMessage && !s.eitherSide {
			return &guard.ElementError{Path: in.pathOf(wrong), Err: tree.ErrOutsideMessage}
		}
		if !s.layouter.Transfer {
			in.tree.LeaveOut(in.id)
		}
	}
	if e.Kind == tree.Message {
		in.lines = max(0, in.lines-1) // no line break precedes the first text of a message
	}
	if in.growing != nil {
		in.growing.ID, in.growing.Used, in.growing.Told = in.id, in.consumed(), in.budget
		in.tree.AddExpandable(*in.growing, globals)
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
	var in *marks.Element
	if s.item != nil && s.item.kind.caller && marks.Of(ctx) != nil {
		ctx, in = marks.In(ctx)
	}
	if failed := s.watch.Call(s, func() { template, err = n.Render(ctx, told) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		return nil, inElement(s, err)
	}
	if in != nil {
		if added := in.Marks(); len(added) > 0 {
			extra := s.tree.EnsureExtra(s.id)
			extra.Marks = append(extra.Marks, added...)
		}
	}
	return listOf(template), nil
}

// inElement returns an error with the path of the element in which it happened.
func inElement(e guard.Element, err error) error {
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
			err = guard.Panicked(s, p)
		}
	}()
	if len(list) == 0 {
		return nil
	}
	if done, err := s.onlyChunks(ctx, list); done || err != nil {
		return err
	}
	items, err := s.flatten(s.items[:0], list)
	if err != nil {
		return err
	}
	s.items, s.order = items, s.order[:0]
	lazy, literals := s.lazy, anyOf(items, func(it *item) bool { return it.kind.literal != nil })
	if lazy && !s.quiet && literals {
		s.quiet = !anyOf(items, func(it *item) bool { return s.asks(it.element, true) })
		lazy = s.quiet
	}
	if err := s.watch.Endless(); err != nil {
		return err
	}
	for i := range items {
		it := &items[i]
		it.node = tree.None
		switch {
		case it.kind.literal != nil:
			if err := s.literal(it, lazy); err != nil {
				return s.inLiteral(items[:i+1], err)
			}
			continue
		case it.kind.caller && guard.IsNil(it.element):
			return inElement(s, fmt.Errorf("%w: %T", tree.ErrNilElement, it.element))
		}
		if it.place = len(s.order); it.kind.max > 0 {
			s.tree.Limits = append(s.tree.Limits, tree.None) // once it is written
			it.limit = len(s.tree.Limits)
		}
		s.order = append(s.order, tree.None)
	}
	if anyOf(items, func(it *item) bool { return it.kind.caller }) {
		s.number(items) // their methods may panic
	}
	for i := range items {
		if items[i].kind.literal == nil {
			if err := items[i].readProps(s); err != nil {
				return err
			}
		}
	}
	s.number(items)
	if literals {
		items = slices.DeleteFunc(items, func(it item) bool { return it.kind.literal != nil })
	}
	if err := s.groups(ctx, items); err != nil {
		return err
	}
	s.tree.Order(s.id, s.order)
	return nil
}

// literal writes a literal.
func (s *site) literal(it *item, lazy bool) error {
	next := tree.ID(len(s.tree.Nodes))
	err := it.kind.literal(it.element, s, it.priority, lazy)
	if len(s.tree.Nodes) > int(next) {
		it.node, it.kind.name = next, s.tree.Name(next)
		s.order = append(s.order, next)
	}
	return err
}

// inLiteral returns the error of the last of these items, a literal.
func (s *site) inLiteral(items []item, err error) error {
	if _, known := err.(*guard.ElementError); known {
		return err
	}
	s.number(items)
	if n := items[len(items)-1].node; n != tree.None {
		return &guard.ElementError{Path: s.pathOf(n), Err: err}
	}
	return inElement(s, err)
}

// outsideMessage returns the first text or part in a node that is outside messages, None if there is none.
func (s *site) outsideMessage(n tree.ID) tree.ID {
	switch node := &s.tree.Nodes[n]; {
	case node.Kind == tree.Message, node.Kind == tree.Tool, node.Kind == tree.Finished:
		return tree.None
	case node.Leaf():
		return n
	case node.Is(tree.IfEmpty):
		return s.outsideMessage(s.tree.Taken(n))
	}
	for c := n + 1; c < s.tree.Nodes[n].End; c = s.tree.Nodes[c].End {
		if wrong := s.outsideMessage(c); wrong != tree.None {
			return wrong
		}
	}
	return tree.None
}

// number numbers the items of a list by their names, in document order.
func (s *site) number(items []item) {
	for i := range items {
		items[i].nth = 0
	}
	tree.Numbers(len(items), func(i int) string { return items[i].kind.name }, func(i int, nth int32) {
		if items[i].nth = nth; items[i].node != tree.None {
			s.tree.Details[items[i].node].Nth = nth
		}
	})
}
