package render

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
)

// This is pruning a second time, written from the doc comment of prune and from nothing else, as simply as can be: a
// tree is never changed, only copied without something, and everything is looked up and counted anew at each step.

// bare is a tree as the rules speak of it. Copies of it share the nodes, which tell who is who.
type bare struct {
	*node
	calls []elements.ToolCall
	kids  []*bare
}

type naive struct {
	tree     *bare
	layout   *layouter
	required map[*node]bool // what stays as it is
	calling  map[*node]bool // messages that stay for a call they make
	unranked bool           // what is not offered is required
	strict   bool           // what must stay together does
	left     *node          // the last limit that went while it was pruned
}

// prune takes pieces out of the container that was laid out as at, until its count is at most limit. One in which a
// group stood that it stands in itself may have gone before that.
func (n *naive) prune(at *node, limit int) (stuck bool) {
	for first := true; ; first = false {
		container, inMessage := find(n.tree, at, false)
		switch {
		case container == nil:
			if !first {
				n.left = at
			}
			return false
		case n.count(container) <= limit:
			return false
		}
		chosen := n.choose(container, inMessage)
		if chosen == nil {
			return true
		}
		n.tree = n.without(chosen.node)
	}
}

// choose finds what goes next from a node down. inMessage tells that the node stands in a message.
func (n *naive) choose(from *bare, inMessage bool) *bare {
	if from.is(isLegacy) { // rule 5
		piece := lowest(n.piecesToTake(from), func(a, b *bare) bool { return a.rank() < b.rank() })
		return n.chunkAround(from, piece)
	}
	rivals := rivals(from)
	if from.kind == message || !inMessage { // rule 6
		last := 0
		for i, r := range rivals {
			if r.holdsBreakpoint() {
				last = i
			}
		}
		rivals = slices.DeleteFunc(rivals[min(last, len(rivals)):], func(r *bare) bool { return r.kind == breakpoint })
	}
	rivals = slices.DeleteFunc(rivals, func(r *bare) bool { return !n.givesAny(r) }) // rule 7
	next := lowest(rivals, func(a, b *bare) bool {                                   // rules 1 and 3
		return a.rank() < b.rank() || a.rank() == b.rank() && a.lowestWithin() < b.lowestWithin()
	})
	if next == nil || next.whole() {
		return next
	}
	return n.choose(next, inMessage || from.kind == message)
}

// chunkAround is the outermost chunk within a node in which another stands, or else that other.
func (n *naive) chunkAround(from, b *bare) *bare {
	if !n.strict || b == nil {
		return b
	}
	for _, k := range from.kids {
		if in, _ := find(k, b.node, false); in != nil && !k.is(isChunk) {
			return n.chunkAround(k, b)
		} else if in != nil {
			return k
		}
	}
	return b
}

// lowest is the first of those that nothing is less than.
func lowest(list []*bare, less func(a, b *bare) bool) *bare {
	var found *bare
	for _, b := range list {
		if found == nil || less(b, found) {
			found = b
		}
	}
	return found
}

// rivals are a node's children, those of what passes its priority on in its place: rule 4.
func rivals(b *bare) []*bare {
	var list []*bare
	for _, k := range b.kids {
		if k.passes() {
			list = append(list, rivals(k)...)
		} else {
			list = append(list, k)
		}
	}
	return list
}

func (b *bare) passes() bool { return b.kind == container && b.is(passesOn) && len(b.kids) > 0 }

// holdsMessage tells that it is a message, or one is left in it.
func (b *bare) holdsMessage() bool {
	return b.kind == message || slices.ContainsFunc(b.kids, (*bare).holdsMessage)
}

// piece tells a text or another part from an element.
func (b *bare) piece() bool { return b.kind != container && b.kind != message }

// whole tells that the node goes as a whole: rule 1.
func (b *bare) whole() bool { return b.piece() || b.is(isChunk) && !b.passes() || len(b.kids) == 0 }

// rank is the priority: rule 2.
func (b *bare) rank() int {
	switch {
	case b.is(hasPriority):
		return b.priority
	case b.kind == container && b.is(passesOn):
		return 0
	}
	return unset
}

// lowestWithin breaks a tie: rule 3.
func (b *bare) lowestWithin() int {
	switch {
	case b.kind == text && b.own != 0: // an element and its one text at once
		return b.rank()
	case b.piece():
		return -1
	}
	rank := unset
	for _, k := range b.kids {
		rank = min(rank, k.rank())
	}
	return rank
}

// holdsBreakpoint is rule 6: a message does with one directly in it, another element where a message in it does.
func (b *bare) holdsBreakpoint() bool {
	if b.kind == message {
		return slices.ContainsFunc(b.kids, func(k *bare) bool { return k.kind == breakpoint })
	}
	return b.kind == breakpoint || slices.ContainsFunc(b.kids, (*bare).holdsBreakpoint)
}

// blank tells that nothing but white space is left: rule 8.
func (b *bare) blank() bool {
	switch {
	case b.kind == text:
		return blank(b.text)
	case b.piece(), len(b.calls) > 0:
		return false
	}
	return !slices.ContainsFunc(b.kids, func(k *bare) bool { return !k.blank() })
}

// without is the tree without what was chosen, and without what goes along: rules 8 and 9.
func (n *naive) without(chosen *node) *bare {
	gone := map[*node]bool{chosen: true}
	groups := map[*elements.Group]bool{}
	for again := true; again; {
		again = false
		leave := func(b *bare) {
			if !gone[b.node] {
				gone[b.node], again = true, true
			}
		}
		n.tree.walk(func(b *bare) {
			if gone[b.node] {
				b.walk(func(b *bare) {
					if b.linked() != nil && !groups[b.linked()] {
						groups[b.linked()], again = true, true
					}
					for _, call := range b.calls {
						if n.strict && call.KeepWith != nil && !groups[call.KeepWith] {
							groups[call.KeepWith], again = true, true
						}
					}
				})
				_, inMessage := find(n.tree, b.node, false)
				if chunk := n.chunkAround(n.tree, b); !inMessage && b.holdsMessage() && !n.holdsRequired(chunk) { // rule 10
					leave(chunk)
				}
			}
		})
		n.tree.walk(func(b *bare) {
			if b.linked() != nil && groups[b.linked()] {
				leave(b)
			}
		})
		n.tree.walk(func(b *bare) {
			now := b.copyWithout(gone, groups)
			lost := len(now.kids) < len(b.kids) || len(now.calls) < len(b.calls)
			if b != n.tree && lost && now.blank() && !n.holdsRequired(b) {
				leave(b)
			}
		})
	}
	return n.tree.copyWithout(gone, groups)
}

func (b *bare) copyWithout(gone map[*node]bool, groups map[*elements.Group]bool) *bare {
	c := &bare{node: b.node}
	for _, call := range b.calls {
		if call.KeepWith == nil || !groups[call.KeepWith] {
			c.calls = append(c.calls, call)
		}
	}
	for _, k := range b.kids {
		if !gone[k.node] {
			c.kids = append(c.kids, k.copyWithout(gone, groups))
		}
	}
	return c
}

// require works out what is required, by the doc comment of lock.
func (n *naive) require() {
	n.required, n.calling = map[*node]bool{}, map[*node]bool{}
	whole := map[*elements.Group]bool{}
	for before := -1; before < len(n.required)+len(n.calling)+len(whole); {
		before = len(n.required) + len(n.calling) + len(whole)
		n.tree.walk(func(b *bare) {
			chunk := b.is(isChunk) && !b.is(passesOn) && n.holdsRequired(b)
			unranked := n.unranked && !b.offered()
			if unranked && len(b.calls) > 0 {
				n.calling[b.node] = true
			}
			if b.is(isRequired) || unranked && b.piece() || chunk || b.linked() != nil && whole[b.linked()] {
				b.walk(func(b *bare) { n.required[b.node] = true })
			}
			if b.linked() != nil && n.holdsRequired(b) {
				whole[b.linked()] = true
			}
			for _, call := range b.calls {
				switch {
				case call.KeepWith == nil:
				case n.required[b.node], unranked:
					whole[call.KeepWith] = true
				case whole[call.KeepWith]:
					n.calling[b.node] = true
				}
			}
		})
	}
}

// offered reports whether a priority was set on the node or on an element that it stands in.
func (b *bare) offered() bool {
	for n := b.node; n != nil; n = n.parent {
		if n.is(hasPriority) && n.priority < unset {
			return true
		}
	}
	return false
}

// holdsRequired tells that a node, or something in it, stays.
func (n *naive) holdsRequired(b *bare) bool {
	return n.required[b.node] || n.calling[b.node] || slices.ContainsFunc(b.kids, n.holdsRequired)
}

// givesAny is rule 7: there is something in the node that is not required and may go.
func (n *naive) givesAny(b *bare) bool {
	if b.kind == breakpoint || n.holdsRequired(b) && b.whole() {
		return false
	}
	return !n.holdsRequired(b) || slices.ContainsFunc(b.kids, n.givesAny)
}

func (n *naive) piecesToTake(b *bare) []*bare {
	var list []*bare
	b.walk(func(b *bare) {
		if b.piece() && !n.required[b.node] {
			list = append(list, b)
		}
	})
	return list
}

func (b *bare) walk(f func(*bare)) {
	f(b)
	for _, k := range b.kids {
		k.walk(f)
	}
}

// find looks for what was laid out as at, and tells whether it stands in a message.
func find(b *bare, at *node, inMessage bool) (*bare, bool) {
	if b.node == at {
		return b, inMessage
	}
	for _, k := range b.kids {
		if found, in := find(k, at, inMessage || b.kind == message); found != nil {
			return found, in
		}
	}
	return nil, false
}

// count is the count of a tree made for nothing else.
func (n *naive) count(b *bare) int { return (&counter{tokenizer: n.layout.tokenizer}).count(b.fresh()) }

func (b *bare) fresh() *node {
	n := &node{}
	b.build(n, nil)
	var settle func(n *node)
	settle = func(n *node) {
		for i := range n.children {
			settle(&n.children[i])
		}
		if !n.leaf() {
			n.resettle()
		}
		n.lend(1)
	}
	settle(n)
	return n
}

func (b *bare) build(n, parent *node) {
	*n = node{
		parent: parent, text: b.text, priority: b.priority, index: b.index, number: b.number, traits: b.traits &^ isBlock, kind: b.kind, own: b.own,
		inside: &inside{work: &work{}, rare: b.more()},
	}
	n.begin()
	n.children = make([]node, len(b.kids))
	for _, c := range b.node.more().calls {
		u := unlinked{drop: drop{gone: 1}}
		if slices.ContainsFunc(b.calls, func(left elements.ToolCall) bool { return left.ID == c.ID }) {
			u.gone = 0
		}
		n.unlinked = append(n.unlinked, u)
	}
	n.left = int32(len(n.children))
	for i, k := range b.kids {
		k.build(&n.children[i], n)
	}
}

func bareOf(n *node) *bare {
	b := &bare{node: n, calls: n.callsAt(latest)}
	if n.is(isBlock) {
		for i := range n.finished.children {
			b.kids = append(b.kids, bareOfKept(&n.finished.children[i]))
		}
		return b
	}
	for i := range n.children {
		if c := &n.children[i]; c.gone == 0 {
			b.kids = append(b.kids, bareOf(c))
		}
	}
	return b
}

func bareOfKept(l *node) *bare {
	b := &bare{node: l, calls: l.more().calls}
	children := l.all()
	for i := range children {
		b.kids = append(b.kids, bareOfKept(&children[i]))
	}
	return b
}

// CompareNaive prunes a prompt without expandables twice, and says where the two disagree; "" is what is wanted.
func CompareNaive(ctx context.Context, layout *Layout, budget int) string {
	f := newFitting(layout, layout.pruned())
	n := naive{tree: bareOf(f.root), layout: layout.layouter, strict: !layout.layouter.lenient}
	n.require()
	stuck := ""
	left := map[string]bool{}
	for _, l := range slices.Backward(f.limits) {
		if stuck == "" && l.more().limit <= budget && n.prune(l, l.more().limit) {
			stuck = l.path()
		}
		if n.left == l {
			left[l.path()] = true
		}
	}
	if n.unranked = layout.opts.KeepUnranked; n.unranked {
		n.require()
	}
	if stuck == "" && n.prune(f.root, budget) {
		stuck = "the whole prompt"
	}

	fast := ""
	if _, err := f.fit(ctx, budget); err != nil {
		over, ok := err.(*BudgetExceededError)
		if !ok {
			return err.Error()
		}
		if fast = over.Limit; fast == "" {
			fast = "the whole prompt"
		}
	}
	if left[fast] {
		return "" // prune goes on in a limit that has gone, as prompt-tsx does, and may find nothing there
	}
	if fast != stuck {
		return fmt.Sprintf("naive is stuck in %q, prune in %q", stuck, fast)
	}
	pruned := pieces(bareOf(f.root))
	if naive := pieces(n.tree); !slices.Equal(naive, pruned) {
		return fmt.Sprintf("naive leaves %s\nprune leaves %s", names(naive), names(pruned))
	}
	return ""
}

// pieces are the pieces that are left, and the calls, by the path of their message.
func pieces(b *bare) []any {
	var list []any
	b.walk(func(b *bare) {
		if b.piece() {
			list = append(list, b.node)
		}
		for _, c := range b.calls {
			list = append(list, b.path()+" "+c.ID)
		}
	})
	return list
}

func names(pieces []any) []string {
	list := make([]string, len(pieces))
	for i, p := range pieces {
		if l, ok := p.(*node); ok {
			p = fmt.Sprintf("%s %q", l.path(), l.text)
		}
		list[i] = fmt.Sprint(p)
	}
	return list
}

// CheckTree fits a layout and says what Result cannot tell: a limit that is not kept, or tokens that are not those of
// the messages, the blank ones that are counted but not sent included. Limits with an expandable in them are passed
// over, since the whole prompt may grow it beyond them; so are those in one, which are only offered their limit.
func CheckTree(ctx context.Context, layout *Layout, budget int) string {
	f := newFitting(layout, layout.tree.copy())
	if _, err := f.fit(ctx, budget); err != nil {
		return ""
	}
	counter := &counter{tokenizer: layout.layouter.tokenizer}
	sent, wrong := 0, ""
	bareOf(f.root).walk(func(b *bare) {
		if b.kind == message {
			sent += counter.tokenizer.CountMessage(b.fresh().chatMessage(latest))
		}
		path := b.path() + " > "
		grows := slices.ContainsFunc(f.expandables, func(e *expandable) bool {
			return strings.HasPrefix(e.node.path(), path) || strings.HasPrefix(path, e.node.path()+" > ")
		})
		if most := b.more().limit; most > 0 && most <= budget && !grows {
			if tokens := counter.count(b.fresh()); tokens > most {
				wrong = fmt.Sprintf("%s has %d tokens", b.path(), tokens)
			}
		}
	})
	if got := f.count(f.root); got != sent {
		wrong = fmt.Sprintf("%d tokens are counted, %d sent", got, sent)
	}
	return wrong
}
