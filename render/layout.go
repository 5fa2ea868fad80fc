package render

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	own       sizing.Tokenizer // the caller's
	tokenizer sizing.Tokenizer // that one, checked
	window    int              // budget of the whole prompt
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

	watch *watch // of the call
}

// element lays out one element within a budget and tells how much of it the element consumed. What is known of the
// element by the place in which it stands is in e.
func (l *layouter) element(ctx context.Context, e *node, n elements.Node, props elements.Props, at place, budget int) (consumed int, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if over := at.watch.over.Load(); over != nil {
		return 0, over
	}
	if at.depth > maxDepth {
		return 0, at.watch.endless(e, fmt.Errorf("%w: more than %d elements stand in each other", ErrEndless, maxDepth))
	}
	if err := checkProps(&props); err != nil {
		return 0, &ElementError{Path: e.path(), Err: err}
	}
	e.prioritize(props.Priority)
	e.traits.has(isRequired, props.Required)
	if at.transfer {
		more := e.set()
		more.node, more.props = n, props
	}
	r := &room{budget: budget}
	own, node := true, n
	var children elements.Nodes // of one of ours
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
	case *elements.Finished:
		e.traits |= isChunk
		at.free, own = false, false
		if !at.inMessage && !at.transfer {
			l.passOn(e, props.PassPriority, at)
			err := l.finished(ctx, e, n, at, r)
			return r.consumed(), err
		}
	case elements.Tag:
		if !at.inMessage {
			return 0, &ElementError{Path: e.path(), Err: ErrOutsideMessage}
		}
		if err := l.tag(e, n, r); err != nil {
			return 0, &ElementError{Path: e.path(), Err: err}
		}
		at.escape, children = true, n.Children
	case elements.Wrap:
		children = n.Children
	case elements.Chunk:
		e.traits |= isChunk
		children = n.Children
	case elements.LegacyPrioritization:
		e.traits |= isLegacy
		children = n.Children
	case elements.KeepWith:
		if n.Group != nil {
			e.holding().with = n.Group
			e.traits |= isGrouped
		}
		children = n.Children
	case elements.TokenLimit:
		if n.Max < 1 {
			return 0, &ElementError{Path: e.path(), Err: fmt.Errorf("a limit of %d tokens: it is 1 or more", n.Max)}
		}
		e.set().limit, children = n.Max, n.Children
	case elements.PrioritizedList:
		n.Priority = props.Priority // where it was given one from outside, its children's follow from that
		own, node = false, n
	case elements.IfEmpty:
		e.traits |= isIfEmpty
		own = false
	case elements.Expandable:
		e.set().expand = &n
		at.free, own = false, false
	default:
		var frame chat.Message
		var calls []elements.ToolCall
		if frame, calls, children, own = messageOf(n); own {
			if err := l.checkMessage(frame, calls, at); err != nil {
				return 0, &ElementError{Path: e.path(), Err: err}
			}
			l.message(e, frame, calls, r)
			at.inMessage = true
		}
	}
	l.passOn(e, props.PassPriority, at)
	if !own {
		template, err := l.call(ctx, e, node, at.watch, budget)
		if err != nil {
			return 0, err
		}
		children = listOf(template)
	}
	if err := l.contents(ctx, e, children, at, r); err != nil {
		return 0, err
	}
	if more := e.more(); more.expand != nil {
		more.expandMax = r.consumed()
	}
	return r.consumed(), nil
}

// passOn has an element pass its priority on, if it is to. What stays together does not, but in prompt-tsx.
func (l *layouter) passOn(e *node, passes bool, at place) {
	e.traits.has(passesOn, passes && (l.lenient || at.transfer || !e.is(isChunk)))
}

// call renders a node, its panic turned into an error.
func (l *layouter) call(ctx context.Context, e *node, n elements.Node, w *watch, budget int) (template elements.Node, err error) {
	returned := false
	w.begins(e)
	defer func() {
		p := recover()
		if p != nil {
			err = panicked(e, p)
		}
		w.ended(e, !returned && p == nil)
	}()
	template, err = n.Render(ctx, sizing.Sizing{TokenBudget: budget, Window: l.window, Tokenizer: l.own})
	returned = true
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		return nil, &ElementError{Path: e.path(), Err: err}
	}
	return template, nil
}

// panicked is the error of a panic in an element; it is made while the stack still tells where.
func panicked(e *node, p any) error {
	if counting, ok := p.(*TokenizerError); ok {
		return &ElementError{Path: e.path(), Err: counting, Stack: counting.Stack}
	}
	return &ElementError{Path: e.path(), Err: fmt.Errorf("panic: %v", p), Stack: debug.Stack()}
}

// contents lays out what stands in an element: literals first, which are charged as they are, then the elements among
// them, group by group.
func (l *layouter) contents(ctx context.Context, e *node, list elements.Nodes, at place, r *room) (err error) {
	defer func() {
		if p := recover(); p != nil { // a tokenizer's, say, where nobody else would see it: in a goroutine
			err = panicked(e, p)
		}
	}()
	if len(list) == 0 {
		return nil
	}
	if err := at.watch.meets(e, len(list), 0); err != nil {
		return err
	}
	if done, err := l.onlyChunks(ctx, e, list, at); done || err != nil {
		return err
	}
	if (siblings{plain: list}).even() {
		e.holding().children = make([]node, len(list))
		for i, n := range list {
			c := &e.children[i]
			c.parent, c.index, c.own = e, int32(i), builtinOf(n)
		}
		return l.evenly(ctx, e, nil, list, len(list), at, r)
	}
	var few [4]item
	items, err := flatten(e, at.watch, few[:0], list)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return nil
	}
	in := e.holding()
	in.children = make([]node, len(items))[:0]
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
		if !it.ownValue() {
			if v := reflect.ValueOf(it.node); v.Kind() == reflect.Pointer && v.IsNil() {
				return &ElementError{Path: e.path(), Err: fmt.Errorf("%w: %T", ErrNilElement, it.node)}
			}
		}
		it.slot = int32(len(in.children))
		it.begin(e.add(node{}))
		inside++
		even = even && it.sharesEvenly()
	}
	if inside == 0 {
		return nil
	}
	if even {
		return l.evenly(ctx, e, items, nil, inside, at, r)
	}
	todo := make([]task, 0, inside)
	for i := range items {
		it := &items[i]
		if it.node == nil {
			continue
		}
		t := task{node: it.node, piece: &in.children[it.slot], builtin: it.builtin != 0}
		if t.props, err = it.propsOf(t.piece, at.watch); err != nil {
			return &ElementError{Path: t.piece.path(), Err: err}
		}
		todo = append(todo, t)
	}
	return l.groups(ctx, e, todo, at, r)
}

// onlyChunks lays out what is nothing but text chunks of one text each, none of which can tell what it is offered: as contents
// would, but at once, for there are many. Where it is something else, nothing is done.
func (l *layouter) onlyChunks(ctx context.Context, e *node, list elements.Nodes, at place) (done bool, err error) {
	if !at.free || !at.inMessage || at.transfer || at.depth == maxDepth {
		return false, nil
	}
	for _, n := range list {
		switch n.(type) { // an assertion would read the chunk
		case elements.TextChunk:
		default:
			return false, nil
		}
	}
	c := chunks{parent: e, list: list, nodes: make([]node, len(list)), escape: at.escape}
	if !c.layOut(ctx) {
		return false, context.Cause(ctx)
	}
	if err := at.watch.meets(e, 0, c.bytes); err != nil {
		return false, err
	}
	e.holding().children = c.nodes
	return true, nil
}

// chunks is a list of text chunks.
type chunks struct {
	parent *node
	list   elements.Nodes
	nodes  []node // that they are laid out to
	escape bool

	bytes int // of their texts
}

// layOut lays out some of them, unless there is one of another kind.
func (c *chunks) layOut(ctx context.Context) (done bool) {
	bytes := 0
	for i := range c.list {
		n := c.list[i].(elements.TextChunk)
		s, ok := plainText(&n)
		if !ok || n.FlexGrow != 0 || n.FlexBasis != 0 || n.FlexReserve != (elements.Reserve{}) {
			return false
		}
		if c.escape {
			s = escapeText(s)
		}
		bytes += len(s)
		piece := &c.nodes[i]
		piece.parent, piece.index, piece.own = c.parent, int32(i), builtinTextChunk
		piece.kind, piece.traits, piece.text, piece.number = text, isElement|breaksAlways, s, uncounted
		piece.prioritize(n.Priority)
		if n.Required {
			piece.traits |= isRequired
		}
		if i%1024 == 0 && ctx.Err() != nil {
			return false
		}
	}
	c.bytes = bytes
	return true
}

// evenly lays out elements of ours that share the budget in equal parts, as most do: those among items, or a plain list.
func (l *layouter) evenly(ctx context.Context, e *node, items []item, plain elements.Nodes, inside int, at place, r *room) error {
	at.depth++
	list := siblings{items: items, plain: plain}
	budget := share(r.left(), 1, float64(inside))
	for i := range list.len() {
		it := list.at(i)
		if it.node == nil {
			continue
		}
		child := &e.children[it.slot]
		props, err := it.props()
		if err != nil {
			return &ElementError{Path: child.path(), Err: err}
		}
		consumed, err := l.element(ctx, child, it.node, props, at, budget)
		if err != nil {
			return err
		}
		r.used += consumed
	}
	return nil
}

// leaf lays out an item that is not an element with children, if it is one.
func (l *layouter) leaf(e *node, it item, at place, r *room) (handled bool, err error) {
	add := func(c node, priority *int) (*node, error) {
		if !at.inMessage {
			return nil, &ElementError{Path: e.path(), Err: ErrOutsideMessage}
		}
		c.inherit(e)
		c.prioritize(priority)
		c.traits.has(breaksFirst, c.kind == text && len(e.all()) == 0)
		return e.add(c), nil
	}
	switch n := it.node.(type) {
	case elements.Text:
		s := string(n)
		if at.escape {
			s = escapeText(s)
		}
		piece, err := add(node{kind: text, text: s}, nil)
		if err == nil {
			err = l.charge(piece, at, r)
		}
		return true, err
	case elements.LineBreak:
		piece, err := add(node{kind: text, text: "\n"}, it.priority)
		if err == nil {
			piece.cost(l.tokenizer.CountText(piece.text))
		}
		return true, err
	case elements.Opaque:
		priority := it.priority
		if priority == nil {
			priority = n.Priority
		}
		_, err := add(opaque(n), priority)
		return true, err
	case elements.CacheBreakpoint:
		if e.kind != message {
			return true, &ElementError{Path: e.path(), Err: ErrBreakpointPlace}
		}
		e.add(partOf(n.Part(), 0)).kind = breakpoint
		return true, nil
	case elements.Transferred:
		if err := l.transferred(n, e.add(node{}), at); err != nil {
			return true, &ElementError{Path: e.path(), Err: err}
		}
		return true, nil
	case elements.Reference:
		more := e.set()
		more.references = append(more.references, n)
		return true, nil
	case metadata:
		if v := reflect.ValueOf(n); v.Kind() == reflect.Pointer && v.IsNil() {
			return false, nil // an error, and no entry
		}
		e.note(at.watch.entry(e, n))
		return true, nil
	}
	return false, nil
}

// opaque is an opaque value, which counts 0 at least and no more than can be added up, whatever it is said to.
func opaque(o elements.Opaque) node {
	o.Tokens = min(max(0, o.Tokens), math.MaxInt32)
	return partOf(o.Part(), o.Tokens)
}

// partOf is a part of a message that counts so much.
func partOf(p chat.Part, tokens int) node {
	n := node{kind: part}
	more := n.set()
	more.part, more.tokens = p, tokens
	return n
}

// becomeText makes e a text that starts on a line of its own.
func (n *node) becomeText(s string, at place) {
	if at.escape {
		s = escapeText(s)
	}
	n.kind, n.text = text, s
	n.traits |= breaksAlways
	n.traits.has(isElement, n.own != 0)
}

// charge counts a text. Where nobody is told what is left, that can wait: much of what goes is never counted.
func (l *layouter) charge(piece *node, at place, r *room) error {
	if err := at.watch.meets(piece.parent, 0, len(piece.text)); err != nil {
		return err
	}
	if at.free {
		piece.number = uncounted
		return nil
	}
	tokens := l.tokenizer.CountText(piece.text)
	piece.cost(tokens)
	r.used += tokens
	return nil
}

// partElement lays out an element that is one part of a message. It costs nothing at layout.
func (l *layouter) partElement(e *node, p chat.Part, at place) error {
	if !at.inMessage {
		return &ElementError{Path: e.path(), Err: ErrOutsideMessage}
	}
	more := e.set()
	e.kind, more.part, more.tokens = part, p, l.tokenizer.CountPart(p)
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

// grow renders an expandable again, with room for more, and returns what it grew to.
func (l *layouter) grow(ctx context.Context, e *node, w *watch, r *room) (*node, error) {
	grown := &node{parent: e.parent, own: e.own, index: e.index, traits: e.traits & (isRequired | isOffered)}
	grown.holding().name = e.name
	template, err := l.call(ctx, e, *e.more().expand, w, r.budget)
	if err != nil {
		return nil, err
	}
	at := place{watch: w}
	for up := e; up != nil; up = up.parent {
		at.inMessage = at.inMessage || up.kind == message
		at.escape = at.escape || up.is(isTagged)
		at.depth++
	}
	return grown, l.contents(ctx, grown, listOf(template), at, r)
}
