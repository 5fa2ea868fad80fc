package count

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// mostAdjusted is around how many pieces at most a message is adjusted, if they have no cuts.
const mostAdjusted = 64

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
		old += c.own(id) + int(seams[id].tokens)
		last = id
	}
	before, after, ok := c.around(first, last)
	if !ok || len(before)+len(after) == 0 { // without any of its pieces a text is not there
		return 0, false
	}
	if !c.wantAgain(before, after) {
		return 0, false
	}
	for id := first; id >= 0 && within(id); id = seams[id].after {
		seams[id].pass = left
	}
	return old + c.meetAgain(before, after, func() {}), true
}

// wantAgain finds whether the texts after a gap start on lines of their own now, up to the first that is not empty: what is after that one
// starts as it did. It reports whether that is known.
func (c *Counter) wantAgain(before, after []tree.ID) bool {
	t, afterTag := c.state.Tree, false
	if len(before) > 0 {
		last := before[len(before)-1]
		if afterTag = last >= tree.ID(len(t.Nodes)); c.textOf(last) == "" {
			return false
		}
	}
	for _, id := range after {
		s := c.textOf(id)
		switch {
		case c.startsLine(id):
		case t.Nodes[id].Is(tree.StartsElement): // which depends on the elements before it
			return false
		default:
			c.text.seams[id].wants = afterTag && s != "" && s[0] != '\n'
		}
		if s != "" {
			break
		}
	}
	return true
}

// retext has a text of a message become another one: become makes it so. It reports whether the count of the message is adjusted.
func (c *Counter) retext(n, m tree.ID, become func()) (tokens int, adjusted bool) {
	if m == tree.None || c.joiner == nil || !c.totals.of[m].known || c.text.seams[n].pass != c.text.seams[m].pass || c.textOf(n) == "" {
		return 0, false
	}
	before, after, ok := c.around(n, n)
	if !ok {
		return 0, false
	}
	return c.meetAgain(before, slices.Concat([]tree.ID{n}, after), become), true
}

// around returns the pieces before and after others, up to one with a cut in it or before it on both sides, if they are not too many and
// nothing else stands among them.
func (c *Counter) around(first, last tree.ID) (before, after []tree.ID, ok bool) {
	collect := func(id tree.ID, next func(tree.ID) tree.ID) (pieces []tree.ID, whole bool) {
		for ; id >= 0 && len(pieces) < mostAdjusted; id = next(id) {
			pieces = append(pieces, id)
			text := c.textOf(id)
			if _, _, cut := sizing.Ends(c.joiner, text); cut || c.startsLine(id) && c.text.seams[id].newLine && safeCut(c.joiner, "\n", text) {
				return pieces, true
			}
		}
		return pieces, id == tree.None
	}
	seams := c.text.seams
	if before, ok = collect(seams[first].before, func(id tree.ID) tree.ID { return seams[id].before }); !ok {
		return nil, nil, false
	}
	slices.Reverse(before)
	after, ok = collect(seams[last].after, func(id tree.ID) tree.ID { return seams[id].after })
	return before, after, ok
}

// meetAgain has pieces meet that did so before, now that what stood between has gone or the texts have become others by change. It
// returns by how many tokens less they count.
func (c *Counter) meetAgain(before, after []tree.ID, change func()) (fewer int) {
	seams := c.text.seams
	pieces := slices.Concat(before, after)
	for i, id := range pieces {
		fewer += c.own(id)
		if i > 0 || len(before) == 0 {
			fewer += int(seams[id].tokens)
		}
	}
	change()
	last, follows := pieces[len(pieces)-1], tree.None
	if len(after) > 0 {
		follows = seams[last].after
	}
	c.text.begin()
	c.text.pass = seams[pieces[0]].pass
	inLine := false // there is text, and its last line has not ended
	for i, id := range pieces {
		s, own, trimmed := c.textOf(id), c.own(id), c.trimmed(id)
		if i == 0 && len(before) > 0 { // which meets what it met
			c.text.join(s, own)
			c.text.node, c.text.empty, c.text.trimmed = id, s == "", trimmed
		} else {
			newLine := seams[id].newLine
			if i >= len(before) {
				newLine = inLine && seams[id].wants
			}
			c.text.add(id, s, own, seams[id].wants, newLine, trimmed)
			inLine = inLine && !newLine
		}
		if s != "" {
			inLine = !strings.HasSuffix(s, "\n")
		}
	}
	fewer -= c.text.end()
	seams[last].after = follows
	return fewer
}

// own returns what a text counts by itself, or an end of a tag.
func (c *Counter) own(id tree.ID) int {
	t := c.state.Tree
	if id >= tree.ID(len(t.Nodes)) {
		return t.Extra(id - tree.ID(len(t.Nodes))).Tag.CloseTokens
	}
	if t.Nodes[id].Kind != tree.Text {
		return t.Extra(id).Tag.OpenTokens
	}
	return c.Piece(id)
}

// textOf returns a text as it is now, or an end of a tag.
func (c *Counter) textOf(id tree.ID) string {
	t := c.state.Tree
	if id >= tree.ID(len(t.Nodes)) {
		return t.Extra(id - tree.ID(len(t.Nodes))).Tag.Close
	}
	if t.Nodes[id].Kind != tree.Text {
		return t.Extra(id).Tag.Open
	}
	return c.state.Text(id)
}

// startsLine reports whether a text starts on a line of its own wherever it stands, as an end of a tag does.
func (c *Counter) startsLine(id tree.ID) bool {
	t := c.state.Tree
	return id >= tree.ID(len(t.Nodes)) || t.Nodes[id].Kind != tree.Text || t.Nodes[id].Is(tree.StartsLine)
}

// trimmed reports whether a text is shorter than it was.
func (c *Counter) trimmed(id tree.ID) bool {
	return id < tree.ID(len(c.state.Tree.Nodes)) && c.state.Trimmed(id) != nil
}
