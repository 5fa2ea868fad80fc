package count

import (
	"strings"

	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// LowerBound returns what a node that was there after a step counted at least: of a text what stands between its first and its last
// safe cut ([chat.Joiner]), whatever it is joined with; of white space nothing, for a tag with nothing else in it is not written. It
// needs a counter that joins.
//
// If a message is nothing but texts on lines of their own, and line breaks, a text is joined with line breaks only, where it
// most often can be cut. And what is between two such texts holds a line break: it counts 1 at least, if one by itself counts anything.
func (c *Counter) LowerBound(n tree.ID, at tree.Step) int {
	m := c.state.Tree.MessageOf(n)
	return c.lowerBound(c.state.At(at), n, m != tree.None && c.state.Tree.Nodes[m].Is(tree.Lines))
}

// lowerBound is LowerBound for a node in a message of lines, or not. Such a message has one thing between texts less than it has
// texts, and so has one of no texts, or it would be counted twice when they come back.
func (c *Counter) lowerBound(v tree.View, n tree.ID, lines bool) (tokens int) {
	node := &c.state.Tree.Nodes[n]
	switch {
	case node.Kind == tree.Finished:
		return c.tally(n)
	case node.Kind == tree.Text && !tree.Blank(c.state.Text(n)):
		return c.lowerBoundOfText(n, lines)
	case node.Leaf():
		return 0
	case node.Kind == tree.Message:
		if lines = node.Is(tree.Lines); lines {
			tokens -= c.betweenLines()
		}
	}
	for child := range v.Children(n) {
		tokens += c.lowerBound(v, child, lines)
	}
	return tokens
}

// lowerBoundOfText returns what a text counts at least, with what is between it and the one before it if both stand on lines.
func (c *Counter) lowerBoundOfText(n tree.ID, lines bool) (tokens int) {
	s := c.state.Text(n)
	var cutBefore, cutAfter bool // it can be cut from a line break before it, and after it
	if lines {
		cutBefore = safeCut(c.joiner, "\n", s)
		cutAfter = safeCut(c.joiner, s, "\n") && !strings.HasSuffix(s, "\n") // after which no other comes
		tokens = c.betweenLines()
	}
	if cutBefore && cutAfter {
		return tokens + c.Piece(n)
	}
	head, tail, ok := counting.Ends(c.joiner, s)
	if !ok {
		return 0
	}
	tokens += c.Piece(n)
	if !cutBefore {
		tokens -= c.joiner.CountText(s[:head])
	}
	if !cutAfter {
		tokens -= c.joiner.CountText(s[tail:])
	}
	return tokens
}

// betweenLines returns what there is between two lines at least.
func (c *Counter) betweenLines() (tokens int) { return min(1, c.text.lineBreak) }
