package render

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// room is a budget that is being used up.
type room struct{ budget, used int }

// most is a budget that nothing exceeds, as far as shares of it can be told apart in float64.
const most = 1<<53 - 1

// left is what later elements may be offered.
func (r *room) left() int { return max(0, r.budget-r.used) }

// consumed is what the parent is charged: never more than was offered.
func (r *room) consumed() int { return min(r.used, r.budget) }

// layouter renders elements from the root down.
type layouter struct {
	tokenizer sizing.Tokenizer
	window    int // budget of the whole prompt
	lenient   bool
	lasting   bool // what the tokenizer counted may be kept
	joins     bool // the tokenizer is a [sizing.Joiner]
}

// place is where in the tree an element stands.
type place struct {
	depth     int
	transfer  bool // the tree is to be transferred
	inMessage bool
	escape    bool // inside a Tag
	free      bool // nobody is told what is left once the element has taken its part
}

// maxDepth is how deep elements may stand in each other.
const maxDepth = 500

// element lays out one element within a budget and tells how much of it the element consumed. What is known of the
// element by the place in which it stands is in e.
func (l *layouter) element(ctx context.Context, e *laid, n elements.Node, props elements.Props, at place, budget int) (consumed int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if at.depth > maxDepth {
		return 0, &ElementError{Path: e.path()[:maxDepth] + "…", Err: ErrEndless}
	}
	if err := checkProps(&props); err != nil {
		return 0, &ElementError{Path: e.path(), Err: err}
	}
	e.priority, e.required = props.Priority, props.Required
	if at.transfer {
		e.set().node, e.set().props = n, props
	}
	r := &room{budget: budget}
	switch n := n.(type) {
	case elements.TextChunk:
		err := l.textChunk(e, &n, at, r)
		return r.consumed(), err
	case elements.Image:
		return 0, l.partElement(e, n.Part(), at)
	case elements.Document:
		return 0, l.partElement(e, n.Part(), at)
	case elements.Thinking:
		return 0, l.partElement(e, n.Part(), at)
	case elements.PrioritizedList:
		n.Priority = props.Priority // where it was given one from outside, its children's follow from that
		return l.inside(ctx, e, n, props, at, r)
	case elements.Tag:
		if !at.inMessage {
			return 0, &ElementError{Path: e.path(), Err: ErrOutsideMessage}
		}
		if err := l.tag(e, n, r); err != nil {
			return 0, &ElementError{Path: e.path(), Err: err}
		}
		at.escape = true
	case elements.Chunk:
		e.chunk = true
	case *elements.Finished:
		e.chunk, at.free = true, false
		if !at.inMessage && !at.transfer {
			e.pass = props.PassPriority
			err := l.finished(ctx, e, n, at, r)
			return r.consumed(), err
		}
	case elements.LegacyPrioritization:
		e.legacy = true
	case elements.IfEmpty:
		e.ifEmpty = true
	case elements.KeepWith:
		if n.Group != nil {
			e.group = n.Group
		}
	case elements.TokenLimit:
		if n.Max < 1 {
			return 0, &ElementError{Path: e.path(), Err: fmt.Errorf("a limit of %d tokens: it is 1 or more", n.Max)}
		}
		e.set().limit = n.Max
	case elements.Expandable:
		e.set().expand = &n
		at.free = false
	default:
		if frame, calls, ok := messageOf(n); ok {
			if err := l.checkMessage(frame, calls, at); err != nil {
				return 0, &ElementError{Path: e.path(), Err: err}
			}
			l.message(e, frame, calls, r)
			at.inMessage = true
		}
	}
	return l.inside(ctx, e, n, props, at, r)
}

// inside lays out what an element renders to.
func (l *layouter) inside(ctx context.Context, e *laid, n elements.Node, props elements.Props, at place, r *room) (consumed int, err error) {
	e.pass = props.PassPriority
	template, err := l.call(ctx, e, n, r.budget)
	if err != nil {
		return 0, err
	}
	if err := l.contents(ctx, e, template, at, r); err != nil {
		return 0, err
	}
	if e.more().expand != nil {
		e.rare.expandMax = r.consumed()
	}
	return r.consumed(), nil
}

// call renders a node, its panic turned into an error.
func (l *layouter) call(ctx context.Context, e *laid, n elements.Node, budget int) (template elements.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(e, p)
		}
	}()
	template, err = n.Render(ctx, sizing.Sizing{TokenBudget: budget, Window: l.window, Tokenizer: l.tokenizer})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		return nil, &ElementError{Path: e.path(), Err: err}
	}
	return template, nil
}

// panicked is the error of a panic in an element; it is made while the stack still tells where.
func panicked(e *laid, p any) error {
	return &ElementError{Path: e.path(), Err: fmt.Errorf("panic: %v", p), Stack: debug.Stack()}
}

// contents lays out what an element rendered: literals first, which are charged as they are, then the elements among
// them, group by group.
func (l *layouter) contents(ctx context.Context, e *laid, template elements.Node, at place, r *room) (err error) {
	defer func() {
		if p := recover(); p != nil { // a tokenizer's, say, where nobody else would see it: in a goroutine
			err = panicked(e, p)
		}
	}()
	var few [4]item
	items := flatten(few[:0], template)
	if len(items) == 0 {
		return nil
	}
	var slab []laid
	if len(items) == 1 && items[0].builtin != 0 { // as in most elements that hold others
		only := &struct {
			slab     [1]laid
			children [1]*laid
		}{}
		slab, e.children = only.slab[:0], only.children[:0]
	} else {
		e.children = make([]*laid, 0, len(items))
	}
	beside := at // what stands here beside elements, which are offered what it leaves
	beside.free = at.free && !slices.ContainsFunc(items, item.looks)
	inside, even := 0, true
	for i := range items {
		it := &items[i]
		if it.builtin == 0 {
			handled, err := l.leaf(e, *it, beside, r)
			if err != nil {
				return err
			}
			if handled {
				it.node = nil
				continue
			}
		}
		it.slot = int32(len(e.children))
		e.children = append(e.children, nil)
		inside++
		even = even && it.sharesEvenly()
	}
	if inside == 0 {
		return nil
	}
	if slab == nil {
		slab = make([]laid, 0, inside)
	}
	for i := range items {
		it := &items[i]
		if it.node == nil {
			continue
		}
		if v := reflect.ValueOf(it.node); (it.builtin == 0 || it.builtin == builtinFinished) && v.Kind() == reflect.Pointer && v.IsNil() {
			return &ElementError{Path: e.path(), Err: fmt.Errorf("%w: %T", ErrNilElement, it.node)}
		}
		slab = append(slab, laid{up: e, name: it.name()})
		e.children[it.slot] = &slab[len(slab)-1]
	}
	number(slab)
	if even {
		return l.evenly(ctx, e, items, inside, at, r)
	}
	todo := make([]task, 0, inside)
	for i := range items {
		it := &items[i]
		if it.node == nil {
			continue
		}
		t := task{node: it.node, laid: e.children[it.slot], builtin: it.builtin != 0}
		var err error
		if t.props, err = it.props(); err != nil {
			return &ElementError{Path: t.laid.path(), Err: err}
		}
		todo = append(todo, t)
	}
	return l.groups(ctx, e, todo, at, r)
}

// evenly lays out elements of ours that share the budget in equal parts, as most do.
func (l *layouter) evenly(ctx context.Context, e *laid, items []item, inside int, at place, r *room) error {
	at.depth++
	budget := share(r.left(), 1, float64(inside))
	for i := range items {
		it := &items[i]
		if it.node == nil {
			continue
		}
		if chunk, ok := it.node.(elements.TextChunk); ok && !at.transfer && at.depth <= maxDepth {
			consumed, err := l.chunk(ctx, e.children[it.slot], &chunk, it.priority, at, budget)
			if err != nil {
				return err
			}
			r.used += consumed
			continue
		}
		props, err := it.props()
		if err != nil {
			return &ElementError{Path: e.children[it.slot].path(), Err: err}
		}
		consumed, err := l.element(ctx, e.children[it.slot], it.node, props, at, budget)
		if err != nil {
			return err
		}
		r.used += consumed
	}
	return nil
}

// chunk lays out a text chunk as element does, but without ado: of most there are many.
func (l *layouter) chunk(ctx context.Context, e *laid, c *elements.TextChunk, priority *int, at place, budget int) (consumed int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err := checkProps(&c.Props); err != nil {
		return 0, &ElementError{Path: e.path(), Err: err}
	}
	e.priority, e.required = c.Priority, c.Required
	if priority != nil {
		e.priority = priority
	}
	r := room{budget: budget}
	err = l.textChunk(e, c, at, &r)
	return r.consumed(), err
}

// leaf lays out an item that is not an element with children, if it is one.
func (l *layouter) leaf(e *laid, it item, at place, r *room) (handled bool, err error) {
	priority := e.priority
	if it.priority != nil {
		priority = it.priority
	}
	add := func(c *laid) error {
		if !at.inMessage {
			return &ElementError{Path: e.path(), Err: ErrOutsideMessage}
		}
		c.up = e
		if c.breaks == breakNever && c.kind == text && len(e.children) == 0 {
			c.breaks = breakFirst
		}
		e.children = append(e.children, c)
		return nil
	}
	switch n := it.node.(type) {
	case elements.Text:
		s := string(n)
		if at.escape {
			s = escapeText(s)
		}
		piece := &laid{kind: text, text: s, priority: e.priority}
		l.charge(piece, at, r)
		return true, add(piece)
	case elements.LineBreak:
		return true, add(&laid{kind: text, text: "\n", priority: priority, tokens: l.tokenizer.CountText("\n")})
	case elements.Opaque:
		if n.Priority != nil && it.priority == nil {
			priority = n.Priority
		}
		return true, add(&laid{kind: part, priority: priority, tokens: max(0, n.Tokens), rare: &rare{part: n.Part()}})
	case elements.CacheBreakpoint:
		if e.kind != message {
			return true, &ElementError{Path: e.path(), Err: ErrBreakpointPlace}
		}
		return true, add(&laid{kind: breakpoint, rare: &rare{part: n.Part()}})
	case elements.Transferred:
		child, err := l.transferred(n, e, at)
		if err != nil {
			return true, &ElementError{Path: e.path(), Err: err}
		}
		e.children = append(e.children, child)
		return true, nil
	case elements.Reference:
		more := e.set()
		more.references = append(more.references, n)
		return true, nil
	case interface{ Entry() elements.MetaEntry }:
		if v := reflect.ValueOf(n); v.Kind() == reflect.Pointer && v.IsNil() {
			return false, nil // an error, and no entry
		}
		e.note(n.Entry())
		return true, nil
	}
	return false, nil
}

// charge counts a text. Where nobody is told what is left, that can wait: much of what goes is never counted.
func (l *layouter) charge(piece *laid, at place, r *room) {
	if at.free {
		piece.tokens = uncounted
		return
	}
	piece.tokens = l.tokenizer.CountText(piece.text)
	r.used += piece.tokens
}

// partElement lays out an element that is one part of a message. It costs nothing at layout.
func (l *layouter) partElement(e *laid, p chat.Part, at place) error {
	if !at.inMessage {
		return &ElementError{Path: e.path(), Err: ErrOutsideMessage}
	}
	e.kind, e.set().part, e.tokens = part, p, l.tokenizer.CountPart(p)
	return nil
}

// checkProps refuses properties that mean nothing.
func checkProps(p *elements.Props) error {
	switch {
	case p.FlexGrow < 0:
		return fmt.Errorf("a FlexGrow of %d: it is 0 or more", p.FlexGrow)
	case !(p.FlexBasis >= 0): // also NaN
		return fmt.Errorf("a FlexBasis of %v: it is 0 or more", p.FlexBasis)
	case p.FlexReserve.Tokens < 0 || p.FlexReserve.Fraction < 0:
		return fmt.Errorf("a FlexReserve of %+v: it is 0 or more", p.FlexReserve)
	}
	return nil
}
