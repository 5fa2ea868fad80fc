package count

import (
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// adjust takes texts that went out of the count of a message, with the tags in which nothing is left. It returns by how much the message
// got smaller, or that it must be counted again.
func (c *Counter) adjust(ch tree.Change, m tree.ID) (tokens int, adjusted bool) {
	if c.joiner == nil || ch.Call >= 0 || !c.totals.of[m].known {
		return 0, false
	}
	t, seams, gone := c.state.Tree, c.text.seams, ch.Node
	for up := t.Nodes[ch.Node].Parent; up != m; up = t.Nodes[up].Parent {
		if t.Extra(up).Tag != nil && c.state.Blank(up) { // which is not written, nor the white space in it
			gone = up
		}
	}
	end := t.Nodes[gone].End
	first, leftBefore := tree.None, false
	for n := gone; n < end; n++ {
		if node := &t.Nodes[n]; node.Leaf() && node.Kind != tree.Text {
			return 0, false
		}
		if seams[n].pass == seams[m].pass && first == tree.None {
			first = n
		}
		leftBefore = leftBefore || seams[n].pass == left
	}
	if first == tree.None { // nothing of it was written
		return 0, leftBefore
	}
	last, old := first, 0
	within := func(id tree.ID) bool {
		if id >= tree.ID(len(t.Nodes)) {
			id -= tree.ID(len(t.Nodes))
		}
		return id >= gone && id < end
	}
	for id := first; id >= 0 && within(id); id = seams[id].after {
		old += c.pieces.tokensOf(id) + int(seams[id].tokens)
		last = id
	}
	before, after, ok := c.text.around(first, last)
	if !ok || len(before)+len(after) == 0 { // without any of its pieces a text is not there
		return 0, false
	}
	if !c.text.wantAgain(before, after) {
		return 0, false
	}
	for id := first; id >= 0 && within(id); id = seams[id].after {
		seams[id].pass = left
	}
	return old + c.text.meetAgain(before, after, func() {}), true
}

// retext has a text of a message become another one: become makes it so. It reports whether the count of the message is adjusted.
func (c *Counter) retext(n, m tree.ID, become func()) (tokens int, adjusted bool) {
	if m == tree.None || c.joiner == nil || !c.totals.of[m].known || c.text.seams[n].pass != c.text.seams[m].pass || c.pieces.textOf(n) == "" {
		return 0, false
	}
	before, after, ok := c.text.around(n, n)
	if !ok {
		return 0, false
	}
	return c.text.meetAgain(before, slices.Concat([]tree.ID{n}, after), become), true
}
