package count

import (
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// adjust computes by how many tokens a message becomes smaller by a removal of texts, with the tags that become empty, of
// a part or of a call. adjusted is false if the message must be counted again instead.
func (c *Counter) adjust(ch tree.Change, m tree.ID) (tokens int, adjusted bool) {
	switch {
	case c.joiner == nil || !c.totals.of(m).known:
		return 0, false
	case ch.Call >= 0 || c.state.Tree.Nodes[ch.Node].Kind == tree.Part:
		return c.adjustPart(ch, m)
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
			if node.Kind != tree.Part || c.state.Present(n) {
				return 0, false
			}
			removedBefore = true
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
		freed += c.tokensOf(id) + int(seams[id].tokens)
		last = id
	}
	// The texts around the gap meet now.
	before, after, ok := c.text.neighbours(first, last)
	if !ok || len(before)+len(after) == 0 || !c.text.updateOwnLines(before, after) { // without neighbours the whole text disappears
		return 0, false
	}
	for id := first; id >= 0 && inGone(id); id = seams[id].after {
		seams[id].pass = removedPass
	}
	return freed + c.text.rejoin(before, after, func() {}), true
}

// adjustPart is adjust for a part that does not keep texts apart, and for a call. As long as another of its kind is left,
// what it adds depends only on the kinds of the other parts ([chat.Joiner]).
func (c *Counter) adjustPart(ch tree.Change, m tree.ID) (tokens int, adjusted bool) {
	left, extra := c.bound.parts[m], c.state.Tree.Extra(ch.Node)
	of := callKind
	if ch.Call < 0 {
		of = KindOf(extra.Part)
	}
	if left == nil || left.bytes > maxExamples || left.numbers[of] < 2 || ch.Call < 0 && c.mayKeepApart(ch.Node, m) {
		return 0, false
	}
	left.numbers[of]--
	with := left.examples
	if ch.Call >= 0 {
		with.ToolCalls = append(slices.Clip(with.ToolCalls), extra.Calls[ch.Call].ToolCall)
	} else {
		with.Content = append(slices.Clip(with.Content), extra.Part)
	}
	more, _ := c.joiner.CountFrame(with)
	less, _ := c.joiner.CountFrame(left.examples)
	return more - less, true
}

// maxExamples is the number of bytes of examples up to which they are counted for each part that is removed.
const maxExamples = 1 << 10

// mayKeepApart reports whether a removed part may have stood between two texts or cache breakpoints: whether none of the
// pieces next to it is another part. It looks at few of those around it.
func (c *Counter) mayKeepApart(part, m tree.ID) bool {
	t := c.state.Tree
	besidePart := func(by tree.ID) bool {
		for n := part + by; n > m && n < t.Nodes[m].End && max(n-part, part-n) < maxAdjusted; n += by {
			if t.Nodes[n].Leaf() && c.state.Attached(n, m) {
				return t.Nodes[n].Kind == tree.Part
			}
		}
		return false
	}
	return t.HasTags || t.NestedMessages || !besidePart(-1) && !besidePart(1)
}
