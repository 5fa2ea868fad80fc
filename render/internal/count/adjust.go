package count

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// mostAdjusted is around how many pieces at most a message is adjusted, where they have no cuts.
const mostAdjusted = 64

// adjust takes a change off the counts, if it is texts between others, and those after it stand on lines of their own: what follows
// stays as it is then. It returns by how much the message got smaller.
func (c *Counter) adjust(ch tree.Change) (tokens int, adjusted bool) {
	t, seams := c.state.Tree, c.text.seams
	m := t.MessageOf(t.Nodes[ch.Node].Parent)
	if c.joiner == nil || ch.Call >= 0 || m == tree.None || !c.counts[m].known {
		return 0, false
	}
	for up := t.Nodes[ch.Node].Parent; up != m; up = t.Nodes[up].Parent {
		if t.Extra(up).Tag != nil && c.state.Blank(up) { // which is not written
			return 0, false
		}
	}
	first, last := tree.None, tree.None
	for n := ch.Node; n < t.Nodes[ch.Node].End; n++ {
		switch node := &t.Nodes[n]; {
		case node.Kind == tree.Container && t.Extra(n).Tag == nil:
		case node.Kind != tree.Text:
			return 0, false
		case seams[n].pass == seams[m].pass:
			tokens += c.Piece(n) + int(seams[n].tokens)
			if last = n; first == tree.None {
				first = n
			}
		}
	}
	if first == tree.None {
		return 0, false
	}
	around, at := c.around(first, last)
	for _, n := range around[at:] {
		if !t.Nodes[n].Is(tree.StartsLine) {
			return 0, false
		}
	}
	if len(around) == 0 {
		return 0, false
	}
	for n := first; n <= last; n++ {
		seams[n].pass = 0
	}
	tokens -= c.meetAgain(around, at, seams[m].pass)
	for up := t.Nodes[ch.Node].Parent; up != m; up = t.Nodes[up].Parent {
		c.counts[up].known = false
	}
	c.counts[m].tokens -= tokens
	for up := m; c.state.There(up) && up != tree.Root; {
		up = t.Nodes[up].Parent
		c.counts[up].tokens -= tokens
	}
	return tokens, true
}

// around returns the pieces before and after others, up to those with a cut on both sides, and the number of those before. It returns
// none if there are too many, or if anything else stands among them.
func (c *Counter) around(first, last tree.ID) (pieces []tree.ID, before int) {
	collect := func(n tree.ID, next func(tree.ID) tree.ID) (whole bool) {
		for ; n >= 0 && len(pieces) < mostAdjusted; n = next(n) {
			pieces = append(pieces, n)
			if _, _, ok := sizing.Ends(c.joiner, c.state.Text(n)); ok {
				return true
			}
		}
		return n == tree.None
	}
	seams := c.text.seams
	whole := collect(seams[first].before, func(n tree.ID) tree.ID { return seams[n].before })
	slices.Reverse(pieces)
	before = len(pieces)
	if !whole || !collect(seams[last].after, func(n tree.ID) tree.ID { return seams[n].after }) {
		return nil, 0
	}
	return pieces, before
}

// meetAgain has pieces meet that did so in a pass, now that what stood between two of them, the second at an index, has gone. It
// returns the tokens that their meeting adds to what it added before.
func (c *Counter) meetAgain(pieces []tree.ID, at int, pass int32) (more int) {
	seams := c.text.seams
	last, after := pieces[len(pieces)-1], tree.None
	if at < len(pieces) {
		after = seams[last].after
	}
	c.text.begin()
	c.text.pass = pass
	inLine := false // there is text, and its last line has not ended
	for i, n := range pieces {
		s, own := c.state.Text(n), c.Piece(n)
		if i == 0 && at > 0 { // which meets what it met
			c.text.join(s, own)
			c.text.node, c.text.empty, c.text.trimmed = n, s == "", c.state.Trimmed(n) != nil
		} else {
			newLine := seams[n].newLine
			if i >= at {
				newLine = inLine
			}
			more -= own + int(seams[n].tokens)
			c.text.add(n, s, own, newLine, c.state.Trimmed(n) != nil)
			inLine = inLine && !newLine
		}
		if s != "" {
			inLine = !strings.HasSuffix(s, "\n")
		}
	}
	if at > 0 {
		more -= c.Piece(pieces[0])
	}
	more += c.text.end()
	seams[last].after = after
	return more
}
