package count

import (
	"strings"

	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// The least that a text counts, whatever it is joined with, is what stands between its first and its last safe cut
// ([sizing.Joiner]); white space counts nothing, for a tag with nothing else in it is not written. If a message is
// nothing but texts on lines of their own, and line breaks, a text is joined with line breaks only, and there it most often
// can be cut. And what is between two such texts holds a line break: it counts 1 at least, if one by itself counts anything.

// Least returns what a node that was there after a step counted at least. It needs a counter that joins.
func (c *Counter) Least(n tree.ID, at tree.Step) int { return c.leastAt(n, at, c.state.OnLines(n)) }

// leastAt is Least for a node in a message of lines, or not. Such a message has one thing between texts less than it has texts, and
// so has one of no texts, or it would be counted twice when they come back.
func (c *Counter) leastAt(n tree.ID, at tree.Step, lines bool) (tokens int) {
	node := &c.state.Nodes[n]
	switch {
	case node.Kind == tree.Finished:
		return c.state.Extra(n).Block.Tokens
	case node.Kind == tree.Text && tree.Blank(node.Text):
		return 0
	case node.Kind == tree.Text:
		return c.leastText(n, lines)
	case node.Kind == tree.Message:
		if lines = node.Is(tree.Lines); lines {
			tokens -= c.between()
		}
	}
	if node.Leaf() {
		return 0
	}
	for child := c.state.ChildAt(n, at); child != tree.None; child = c.state.NextAt(child, at) {
		tokens += c.leastAt(child, at, lines)
	}
	return tokens
}

// leastText returns what a text counts at least, with what is between it and the one before it if both stand on lines.
func (c *Counter) leastText(n tree.ID, lines bool) (tokens int) {
	var breaks known
	s := c.state.Nodes[n].Text
	if lines {
		breaks, tokens = breaksOf(c.joiner, s), c.between()
		if strings.HasSuffix(s, "\n") { // no other comes after it
			breaks &^= cutBeforeBreak
		}
	}
	tokens += c.Piece(n)
	if breaks == cutAfterBreak|cutBeforeBreak {
		return tokens
	}
	head, tail, ok := sizing.Ends(c.joiner, s)
	if !ok {
		return 0
	}
	if breaks&cutAfterBreak == 0 {
		tokens -= c.joiner.CountText(s[:head])
	}
	if breaks&cutBeforeBreak == 0 {
		tokens -= c.joiner.CountText(s[tail:])
	}
	return tokens
}

// between is what there is between two lines at least.
func (c *Counter) between() (tokens int) { return min(1, c.lineBreak) }
