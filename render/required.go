package render

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
)

// lock marks what must not be pruned because something is required, and tells whether anything is:
//
//   - A required element is locked: it stays as it is, with everything in it.
//   - A chunk that holds something locked is locked whole.
//   - A group of which an element holds something locked is locked whole: each of its elements, and each message that
//     makes a call linked to it stays. The same goes where such a message is locked.
//   - What holds something locked or pinned is never emptied.
func lock(root *node) bool {
	any := false
	root.walk(latest, func(n *node) {
		if n.is(isRequired) {
			any = true
			n.lock()
		}
	})
	if !any {
		return false
	}
	members := map[*elements.Group][]*node{}
	callers := map[*elements.Group][]*node{}
	var chunks []*node
	root.walk(latest, func(n *node) {
		if g := n.linked(); g != nil {
			members[g] = append(members[g], n)
		}
		for _, c := range n.callsAt(latest) {
			if c.KeepWith != nil {
				callers[c.KeepWith] = append(callers[c.KeepWith], n)
			}
		}
		if n.is(isChunk) && !n.is(passesOn) {
			chunks = append(chunks, n)
		}
	})
	whole := map[*elements.Group]bool{}
	for again := true; again; {
		again = false
		hold(root)
		for _, c := range chunks {
			if c.held && !c.locked {
				c.lock()
				again = true
			}
		}
		for g, calling := range callers {
			if !whole[g] && slices.ContainsFunc(calling, func(n *node) bool { return n.locked }) {
				whole[g], again = true, true
			}
		}
		for g, elements := range members {
			if !whole[g] && slices.ContainsFunc(elements, func(n *node) bool { return n.held }) {
				whole[g], again = true, true
			}
		}
		for g := range whole {
			for _, n := range members[g] {
				if !n.locked {
					n.lock()
					again = true
				}
			}
			for _, n := range callers[g] {
				if !n.pinned {
					n.pinned, again = true, true
				}
			}
		}
	}
	return true
}

// lock keeps a node and everything in it.
func (n *node) lock() { n.walk(latest, func(n *node) { n.locked = true }) }

// hold notes which nodes have something in them that must stay.
func hold(n *node) bool {
	n.held = n.locked || n.pinned
	for c := range n.present(latest) {
		if hold(c) {
			n.held = true
		}
	}
	return n.held
}
