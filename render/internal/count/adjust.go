package count

import (
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// adjust computes by how many tokens a message becomes smaller by a removal of texts, with the tags that become empty.
// adjusted is false if the message must be counted again instead.
func (c *Counter) adjust(ch tree.Change, m tree.ID) (tokens int, adjusted bool) {
	if c.joiner == nil || ch.Call >= 0 || !c.totals.byNode[m].known {
		return 0, false
	}
	t, seams, gone := c.state.Tree, c.text.seams, ch.Node
	for up := t.Nodes[ch.Node].Parent; up != m; up = t.Nodes[up].Parent {
		if t.Extra(up).Tag != nil && c.state.Blank(up) { // an empty tag is not written, and neither is the white space in it
			gone = up
		}
	}
	// first is the first of its texts that the last pass over the message read.
	end := t.Nodes[gone].End
	first, removedBefore := tree.None, false
	for n := gone; n < end; n++ {
		if node := &t.Nodes[n]; node.Leaf() && node.Kind != tree.Text {
			return 0, false
		}
		if seams[n].pass == seams[m].pass && first == tree.None {
			first = n
		}
		removedBefore = removedBefore || seams[n].pass == removedPass
	}
	if first == tree.None { // nothing of the removed node was written
		return 0, removedBefore
	}
	// Its texts free their tokens and those of their seams.
	last, freed := first, 0
	inGone := func(id tree.ID) bool {
		if id >= tree.ID(len(t.Nodes)) {
			id -= tree.ID(len(t.Nodes))
		}
		return id >= gone && id < end
	}
	for id := first; id >= 0 && inGone(id); id = seams[id].after {
		freed += c.pieces.tokensOf(id) + int(seams[id].tokens)
		last = id
	}
	// The texts around the gap meet now.
	before, after, ok := c.text.neighbours(first, last)
	if !ok || len(before)+len(after) == 0 { // the whole text disappears
		return 0, false
	}
	if !c.text.updateOwnLines(before, after) {
		return 0, false
	}
	for id := first; id >= 0 && inGone(id); id = seams[id].after {
		seams[id].pass = removedPass
	}
	return freed + c.text.rejoin(before, after, func() {}), true
}

// replaceText calls become, which replaces a text of a message by another one, and returns by how many tokens the
// message becomes smaller. If adjusted is false it did nothing.
func (c *Counter) replaceText(n, m tree.ID, become func()) (tokens int, adjusted bool) {
	if m == tree.None || c.joiner == nil || !c.totals.byNode[m].known || c.text.seams[n].pass != c.text.seams[m].pass || c.pieces.textOf(n) == "" {
		return 0, false
	}
	before, after, ok := c.text.neighbours(n, n)
	if !ok {
		return 0, false
	}
	return c.text.rejoin(before, slices.Concat([]tree.ID{n}, after), become), true
}
