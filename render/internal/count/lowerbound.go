package count

import (
	"strings"

	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// LowerBound returns the fewest tokens that a node can have counted after a step. For a text that is the count of the
// part between its first and its last safe cut ([chat.Joiner]), because joining cannot change that part. White space
// counts as 0, because a tag with nothing else in it is not written. The counter must join ([Counter.Joins]).
//
// In a message that holds only line breaks and texts on lines of their own, a text is joined only to line breaks, where
// a safe cut is most likely. Between two of these texts there is a line break, which counts at least 1 if a line break
// by itself counts anything.
func (c *Counter) LowerBound(n tree.ID, at tree.Step) int {
	m := c.state.Tree.MessageOf(n)
	return c.lowerBound(c.state.At(at), n, m != tree.None && c.state.Tree.Nodes[m].Is(tree.OnlyLines))
}

// lowerBound is LowerBound for a node in a message that has only lines, or has not. Such a message has one line break
// fewer than it has texts. One is subtracted even if no text is left: otherwise it would be counted twice when the
// texts come back.
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
		if lines = node.Is(tree.OnlyLines); lines {
			tokens -= c.betweenLines()
		}
	}
	for child := range v.Children(n) {
		tokens += c.lowerBound(v, child, lines)
	}
	return tokens
}

// lowerBoundOfText returns the fewest tokens of a text, in a message of lines with the line break before it. It is
// computed once for all fits of a layout.
func (c *Counter) lowerBoundOfText(n tree.ID, lines bool) (tokens int) {
	if c.state.Trimmed(n) != nil {
		return c.newLowerBound(n, lines)
	}
	tokens, known := c.state.Tree.Fewest(n)
	if !known {
		tokens = c.newLowerBound(n, lines)
		c.state.Tree.SetFewest(n, tokens)
	}
	return tokens
}

func (c *Counter) newLowerBound(n tree.ID, lines bool) (tokens int) {
	s := c.state.Text(n)
	var cutBefore, cutAfter bool // there is a safe cut at the line break before it, and after it
	if lines {
		cutBefore = counting.SafeCut(c.joiner, "\n", s)
		cutAfter = counting.SafeCut(c.joiner, s, "\n") && !strings.HasSuffix(s, "\n") // no other line break is put after one
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

// betweenLines returns the fewest tokens between two lines.
func (c *Counter) betweenLines() (tokens int) { return min(1, c.text.lineBreak) }
