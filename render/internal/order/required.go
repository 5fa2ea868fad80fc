package order

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// requirement says in which way a node must stay.
type requirement struct {
	locked bool // it stays as it is
	pinned bool // it stays, but its contents may be removed
	held   bool // it holds something locked or pinned, or is so itself
	// firstShrinkable is the first child that may shrink: no child before it may. 0 if it is not known.
	firstShrinkable tree.ID
}

// Locked reports whether a node stays as it is.
func (o *Order) Locked(n tree.ID) bool { return o.required != nil && o.required[n].locked }

// Pinned reports whether a message stays although its contents may be removed.
func (o *Order) Pinned(n tree.ID) bool { return o.required != nil && o.required[n].pinned }

// Held reports whether a node, or something in it, must stay.
func (o *Order) Held(n tree.ID) bool { return o.required != nil && o.required[n].held }

// mayShrink reports whether a node, or something in it, may be removed.
func (o *Order) mayShrink(n tree.ID) bool {
	switch {
	case o.tree.Nodes[n].Kind == tree.Breakpoint:
		return false
	case !o.Held(n):
		return true
	case o.Locked(n), o.tree.Nodes[n].Is(tree.Chunk) && !o.passes(n), o.state.Left(n) == 0:
		return false
	}
	requirement := &o.required[n]
	if requirement.firstShrinkable == 0 {
		requirement.firstShrinkable = n + 1
	}
	// A child that may not shrink never may until a rewind.
	for c := &requirement.firstShrinkable; *c < o.tree.Nodes[n].End; *c = o.tree.Nodes[*c].End {
		if o.state.Present(*c) && o.mayShrink(*c) {
			return true
		}
	}
	return false
}

// Lock finds everything that must not be removed because something is required. If unranked is set, each piece that is
// not offered is required too: a piece without a priority, on itself or on an element around it.
//
//   - A required element is locked: it stays as it is, with everything in it.
//   - A chunk that holds something locked is locked whole.
//   - If an element of a group holds something locked, the group is locked whole: each of its elements stays, and each
//     message that makes a call linked to it. The same holds if such a message is locked.
//   - A message whose tool calls are required is pinned: it stays although its content may be removed; so do the groups
//     of these calls.
//   - An element that holds something locked or pinned is never emptied.
func (o *Order) Lock(unranked bool) {
	o.unranked = unranked
	o.lock(nil)
}

// lock is Lock with what is held besides.
func (o *Order) lock(p *prefix) {
	clear(o.choices)
	l := locker{Order: o, view: o.state.At(tree.Latest), prefix: p, nodes: make([]requirement, len(o.tree.Nodes)), locked: map[*elements.Group]bool{}}
	l.markRequired(tree.Root, false, false)
	if o.required = nil; !l.any {
		return
	}
	o.required = l.nodes
	l.view.Walk(tree.Root, func(n tree.ID) {
		if l.nodes[n].locked || l.nodes[n].pinned {
			l.queueDependents(n)
		}
	})
	l.propagate()
}

// locker marks required nodes, and then propagates to chunks and groups until nothing changes.
type locker struct {
	*Order
	view          tree.View
	prefix        *prefix
	any           bool // something is required
	nodes         []requirement
	locked        map[*elements.Group]bool
	pendingChunks []tree.ID         // that hold something locked
	pendingGroups []*elements.Group // to be locked
}

// markRequired locks the nodes in n that are required themselves. offered and locked say whether an element around n is.
func (l *locker) markRequired(n tree.ID, offered, locked bool) {
	node, requirement := &l.tree.Nodes[n], &l.nodes[n]
	offered = offered || node.Is(tree.Offered)
	locked = locked || node.Is(tree.Required) || l.prefix.holds(l.tree, n)
	requirement.locked = locked
	if l.unranked && !offered {
		if node.Leaf() {
			requirement.locked = requirement.locked || node.Kind != tree.Breakpoint
		} else if len(l.view.Calls(n)) > 0 {
			requirement.pinned = true
		}
	}
	l.any = l.any || requirement.locked || requirement.pinned
	for c := range l.view.Children(n) {
		l.markRequired(c, offered, locked)
	}
}

// propagate locks the pending chunks and groups, and those that become pending by that.
func (l *locker) propagate() {
	for len(l.pendingChunks)+len(l.pendingGroups) > 0 {
		chunks, groups := l.pendingChunks, l.pendingGroups
		l.pendingChunks, l.pendingGroups = nil, nil
		for _, n := range chunks {
			l.lockNode(n)
		}
		for _, g := range groups {
			for _, m := range l.Members(g) {
				switch {
				case l.state.DropOf(m).Step != 0 || !l.state.Attached(m.Node, tree.None):
				case m.Call < 0:
					l.lockNode(m.Node)
				default:
					l.nodes[m.Node].pinned = true
					l.markHeld(m.Node)
				}
			}
		}
	}
}

// lockNode locks a node and everything in it.
func (l *locker) lockNode(n tree.ID) {
	if l.nodes[n].locked {
		return
	}
	l.nodes[n].locked = true
	l.queueDependents(n)
	for c := range l.view.Children(n) {
		l.lockNode(c)
	}
}

// queueDependents queues the chunks and groups that must be locked because n is locked or pinned.
func (l *locker) queueDependents(n tree.ID) {
	l.markHeld(n)
	for _, c := range l.view.Calls(n) {
		if c.KeepWith != nil {
			l.lockGroup(c.KeepWith)
		}
	}
}

// markHeld marks a node and its ancestors as held, and queues the chunks and groups among them.
func (l *locker) markHeld(n tree.ID) {
	for ; n != tree.None && !l.nodes[n].held; n = l.tree.Nodes[n].Parent {
		l.nodes[n].held = true
		if l.tree.Nodes[n].Is(tree.Chunk) && !l.tree.Nodes[n].Is(tree.PassesPriority) {
			l.pendingChunks = append(l.pendingChunks, n)
		}
		if g := l.tree.GroupOf(n); g != nil {
			l.lockGroup(g)
		}
	}
}

// lockGroup queues a group to be locked whole.
func (l *locker) lockGroup(g *elements.Group) {
	if !l.locked[g] {
		l.locked[g] = true
		l.pendingGroups = append(l.pendingGroups, g)
	}
}
