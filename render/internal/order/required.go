package order

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// keeping says how a node stays.
type keeping struct {
	locked bool // as it is
	pinned bool // though what is in it may go
	held   bool // something in it does
	// shrinks is the first child in which something may go, 0 if that is not known.
	shrinks tree.ID
}

// Locked reports whether a node stays as it is.
func (o *Order) Locked(n tree.ID) bool { return o.required != nil && o.required[n].locked }

// Pinned reports whether a message stays, though what is in it may go.
func (o *Order) Pinned(n tree.ID) bool { return o.required != nil && o.required[n].pinned }

// Held reports whether something in a node must stay.
func (o *Order) Held(n tree.ID) bool { return o.required != nil && o.required[n].held }

// mayShrink reports whether a node, or something in it, may go.
func (o *Order) mayShrink(n tree.ID) bool {
	switch {
	case o.tree.Nodes[n].Kind == tree.Breakpoint:
		return false
	case !o.Held(n):
		return true
	case o.Locked(n), o.tree.Nodes[n].Is(tree.Chunk) && !o.passes(n), o.state.Left(n) == 0:
		return false
	}
	keeping := &o.required[n]
	if keeping.shrinks == 0 {
		keeping.shrinks = n + 1
	}
	for ; keeping.shrinks < o.tree.Nodes[n].End; keeping.shrinks = o.tree.Nodes[keeping.shrinks].End { // what does not shrink never will
		if o.state.There(keeping.shrinks) && o.mayShrink(keeping.shrinks) {
			return true
		}
	}
	return false
}

// Lock finds what must not go because something is required, and forgets what was chosen before. With unranked each piece that is
// not offered is required too: one without a priority, of its own or from an element that it stands in.
//
//   - A required element is locked: it stays as it is, with everything in it.
//   - A chunk that holds something locked is locked whole.
//   - A group of which an element holds something locked is locked whole: each of its elements, and each message that
//     makes a call linked to it stays. The same goes if such a message is locked.
//   - A message whose tool calls are required stays, though what is in it may go; so do the groups of these calls.
//   - What holds something locked or pinned is never emptied.
func (o *Order) Lock(unranked bool) {
	clear(o.choices)
	l := locker{
		tree: o.tree, view: o.state.At(tree.Latest), unranked: unranked,
		nodes: make([]keeping, len(o.tree.Nodes)), groups: map[*elements.Group]*linked{},
	}
	l.start(tree.Root, false, false)
	if o.required = nil; !l.any {
		return
	}
	o.required = l.nodes
	l.view.Walk(tree.Root, func(n tree.ID) {
		if l.nodes[n].locked || l.nodes[n].pinned {
			l.locked(n)
		}
	})
	l.spread()
}

// locker finds what follows from what is locked.
type locker struct {
	tree     *tree.Tree
	view     tree.View
	unranked bool
	any      bool // something is required
	nodes    []keeping
	groups   map[*elements.Group]*linked
	chunks   []tree.ID // that hold something locked
	whole    []*linked // groups to be locked
}

// linked are the elements of a group, and the messages that make a call linked to it.
type linked struct {
	members, callers []tree.ID
	whole            bool
}

func (l *locker) of(g *elements.Group) *linked {
	if l.groups[g] == nil {
		l.groups[g] = &linked{}
	}
	return l.groups[g]
}

// start locks what is required by itself in a node, and lists the groups. offered and locked report whether the node stands in an
// element that was given a priority, or is locked.
func (l *locker) start(n tree.ID, offered, locked bool) {
	node, keeping := &l.tree.Nodes[n], &l.nodes[n]
	offered = offered || node.Is(tree.Offered)
	locked = locked || node.Is(tree.Required)
	keeping.locked = locked
	if l.unranked && !offered {
		if node.Leaf() {
			keeping.locked = true
		} else if len(l.view.Calls(n)) > 0 {
			keeping.pinned = true
		}
	}
	l.any = l.any || keeping.locked || keeping.pinned
	if g := l.tree.GroupOf(n); g != nil {
		l.of(g).members = append(l.of(g).members, n)
	}
	for _, c := range l.view.Calls(n) {
		if c.KeepWith != nil {
			l.of(c.KeepWith).callers = append(l.of(c.KeepWith).callers, n)
		}
	}
	for c := range l.view.Children(n) {
		l.start(c, offered, locked)
	}
}

// spread locks what is to be locked, and what follows from that.
func (l *locker) spread() {
	for len(l.chunks)+len(l.whole) > 0 {
		chunks, whole := l.chunks, l.whole
		l.chunks, l.whole = nil, nil
		for _, n := range chunks {
			l.lock(n)
		}
		for _, g := range whole {
			for _, n := range g.members {
				l.lock(n)
			}
			for _, n := range g.callers {
				l.nodes[n].pinned = true
				l.hold(n)
			}
		}
	}
}

// lock keeps a node and everything in it.
func (l *locker) lock(n tree.ID) {
	if l.nodes[n].locked {
		return
	}
	l.nodes[n].locked = true
	l.locked(n)
	for c := range l.view.Children(n) {
		l.lock(c)
	}
}

// locked follows up for a node that is locked.
func (l *locker) locked(n tree.ID) {
	l.hold(n)
	for _, c := range l.view.Calls(n) {
		if c.KeepWith != nil {
			l.keep(c.KeepWith)
		}
	}
}

// hold records that a node, and what it stands in, holds something that must stay.
func (l *locker) hold(n tree.ID) {
	for ; n != tree.None && !l.nodes[n].held; n = l.tree.Nodes[n].Parent {
		l.nodes[n].held = true
		if l.tree.Nodes[n].Is(tree.Chunk) && !l.tree.Nodes[n].Is(tree.PassesPriority) {
			l.chunks = append(l.chunks, n)
		}
		if g := l.tree.GroupOf(n); g != nil {
			l.keep(g)
		}
	}
}

// keep records that a group is locked whole.
func (l *locker) keep(g *elements.Group) {
	if group := l.of(g); !group.whole {
		group.whole = true
		l.whole = append(l.whole, group)
	}
}
