package render

import "github.com/promptree-go/promptree/elements"

// lock marks what must not be pruned because something is required, and reports whether anything is. If unranked is set,
// each piece that is not offered is required too: one without a priority, of its own or from an element that it stands in.
//
//   - A required element is locked: it stays as it is, with everything in it.
//   - A chunk that holds something locked is locked whole.
//   - A group of which an element holds something locked is locked whole: each of its elements, and each message that
//     makes a call linked to it stays. The same goes where such a message is locked.
//   - A message whose tool calls are required stays, though what is in it may go; so do the groups of these calls.
//   - What holds something locked or pinned is never emptied.
func lock(root *node, unranked bool) bool {
	l := locker{unranked: unranked, groups: map[*elements.Group]*linked{}}
	l.start(root, false)
	if !l.any {
		return false
	}
	root.walk(latest, func(n *node) {
		if n.locked || n.pinned {
			l.locked(n)
		}
	})
	l.spread()
	return true
}

// start locks what is required by itself in a node, and lists the groups. offered reports whether the node stands in an
// element that was given a priority.
func (l *locker) start(n *node, offered bool) {
	offered = offered || n.is(isOffered)
	n.unlock()
	if l.unranked && !offered {
		if n.leaf() {
			n.locked = true
		} else if len(n.callsAt(latest)) > 0 {
			n.pinned = true
		}
	}
	l.any = l.any || n.locked || n.pinned
	if g := n.linked(); g != nil {
		l.of(g).members = append(l.of(g).members, n)
	}
	for _, c := range n.callsAt(latest) {
		if c.KeepWith != nil {
			l.of(c.KeepWith).callers = append(l.of(c.KeepWith).callers, n)
		}
	}
	for i := n.nextAt(0, latest); i < len(n.children); i = n.nextAt(i+1, latest) {
		l.start(&n.children[i], offered)
	}
}

// unlock forgets what followed for n from what was required before something grew, and what was chosen among with it in mind.
func (n *node) unlock() {
	n.locked = n.is(isRequired) || n.parent != nil && n.parent.locked
	n.held = false
	if n.leaf() {
		return
	}
	n.pinned, n.giver = false, 0
	if n.work != &idle {
		n.choice = nil
	}
}

// locker finds what follows from what is locked.
type locker struct {
	unranked bool // pieces that are not offered are required
	any      bool // something is

	groups map[*elements.Group]*linked
	chunks []*node   // that hold something locked
	whole  []*linked // groups to be locked
}

// linked are the elements of a group, and the messages that make a call linked to it.
type linked struct {
	members, callers []*node
	whole            bool
}

func (l *locker) of(g *elements.Group) *linked {
	if l.groups[g] == nil {
		l.groups[g] = &linked{}
	}
	return l.groups[g]
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
				n.pinned = true
				l.hold(n)
			}
		}
	}
}

// lock keeps a node and everything in it.
func (l *locker) lock(n *node) {
	if n.locked {
		return
	}
	n.locked = true
	l.locked(n)
	for c := range n.present(latest) {
		l.lock(c)
	}
}

// locked takes note that a node is locked.
func (l *locker) locked(n *node) {
	l.hold(n)
	for _, c := range n.callsAt(latest) {
		if c.KeepWith != nil {
			l.keep(c.KeepWith)
		}
	}
}

// hold takes note that a node, and what it stands in, holds something that must stay.
func (l *locker) hold(n *node) {
	for ; n != nil && !n.held; n = n.parent {
		n.held = true
		if n.is(isChunk) && !n.is(passesOn) {
			l.chunks = append(l.chunks, n)
		}
		if g := n.linked(); g != nil {
			l.keep(g)
		}
	}
}

// keep takes note that a group is locked whole.
func (l *locker) keep(g *elements.Group) {
	if group := l.of(g); !group.whole {
		group.whole = true
		l.whole = append(l.whole, group)
	}
}
