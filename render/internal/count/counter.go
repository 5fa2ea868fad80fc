// Package count keeps the exact count of a prompt while pieces go.
package count

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Counter counts a tree. It reads in the state's log what went, and takes it off the counts. From a message it takes texts, with the
// tags in which nothing is left; if anything else went, the message is counted again, and because that takes a look at all that is
// left of it, not before enough has gone that the tree may fit ([Counter.Over]). With a [chat.Joiner] a message is counted by the
// tokens of its pieces and what changes where they meet, else as a whole.
type Counter struct {
	pieces pieces
	joiner chat.Joiner // the tokenizer, if it is one
	state  *tree.State
	totals totals
	seen   int // how much of the state's log is taken into account
	reader reader
	text   text
	passes int32 // over messages
	listed listed
	bound  bound
}

// New returns a counter of a tree.
func New(s *tree.State, t chat.Tokenizer) *Counter {
	c := &Counter{pieces: pieces{s, t}, state: s, totals: newTotals(s)}
	if c.joiner, _ = t.(chat.Joiner); s.Tree.Nested {
		c.joiner = nil // what is in two messages counts in both
	}
	if c.joiner != nil {
		pieces := len(s.Tree.Nodes)
		if s.Tree.Tagged {
			pieces *= 2
		}
		c.text = text{pieces: &c.pieces, joiner: c.joiner, lineBreak: t.CountText("\n"), seams: make([]seam, pieces)}
	}
	return c
}

// Joins reports whether messages are counted by their pieces.
func (c *Counter) Joins() bool { return c.joiner != nil }

// Count returns the exact count of a node as far as messages go. An element outside messages is the sum of its messages; one
// inside a message, which no provider would count by itself, is the sum of its pieces. The tools in an element outside messages count as
// one list.
func (c *Counter) Count(n tree.ID) int {
	c.update()
	if m := c.state.Tree.MessageOf(n); m == tree.None || m == n { // what is in a message is no part of the totals
		for _, m := range c.totals.pending() {
			c.totals.add(m, c.tally(m))
		}
	}
	return c.tally(n) + c.toolTokens(n)
}

// Known returns the count of a node if it is known.
func (c *Counter) Known(n tree.ID) (tokens int, known bool) {
	c.update()
	if !c.totals.of[n].known || len(c.totals.again) > 0 || !c.toolsKnown(n) {
		return 0, false
	}
	return c.totals.of[n].tokens + c.toolTokens(n), true
}

// Back records that something that went is there again, as [tree.State.Rewind] returns it.
func (c *Counter) Back(changes []tree.Change) {
	for ; c.seen < len(c.state.Log); c.seen++ {
		c.totals.forget(c.state.Log[c.seen], true)
	}
	for _, ch := range changes {
		c.totals.forget(ch, false)
	}
	c.seen = len(c.state.Log)
	c.bound.known = false
}

// update takes into account what went since it was last called.
func (c *Counter) update() {
	for ; c.seen < len(c.state.Log) && c.totals.any; c.seen++ {
		c.takeOff(c.state.Log[c.seen])
	}
	c.seen = len(c.state.Log)
}

// takeOff takes off the counts what went.
func (c *Counter) takeOff(ch tree.Change) {
	t, in := c.state.Tree, ch.Node
	if ch.Call < 0 {
		in = t.Nodes[in].Parent
	}
	m := t.MessageOf(in)
	if m == tree.None {
		c.bound.add(c, ch)
		c.totals.goes(ch.Node)
		return
	}
	tokens, adjusted := c.adjust(ch, m)
	if !adjusted || c.bound.container > m {
		c.bound.add(c, ch)
	} else {
		c.bound.freed += tokens
	}
	if adjusted {
		c.totals.resize(in, m, -tokens)
	} else {
		c.totals.changed(in)
	}
	if ch.Call < 0 {
		c.totals.of[ch.Node].gone = true
	}
}

// tally is Count once everything that went is taken into account, without tools.
func (c *Counter) tally(n tree.ID) int {
	s := c.state
	node := &s.Tree.Nodes[n]
	switch {
	case node.Kind == tree.Finished:
		return s.Tree.Extra(n).Block.Tokens
	case node.Kind == tree.Tool:
		return 0
	case node.Leaf():
		return c.Own(n)
	case c.totals.of[n].known:
		return c.totals.of[n].tokens
	}
	total := 0
	switch {
	case node.Kind == tree.Message && c.joiner != nil:
		total = c.joined(n)
	case node.Kind == tree.Message:
		m := join.Message(s.At(tree.Latest), n)
		total = c.pieces.tokenizer.CountMessage(m)
		c.bound.counted(n, m)
	default:
		for child := range s.At(tree.Latest).Children(n) {
			total += c.tally(child)
		}
		if tag := s.Tree.Extra(n).Tag; tag != nil && !s.Blank(n) {
			total += tag.InMessage()
		}
	}
	c.totals.set(n, total)
	return total
}

// Piece returns what a text or part counts by itself.
func (c *Counter) Piece(n tree.ID) int { return c.pieces.of(n) }

// PieceIn returns what a text or part of another tree counts by itself.
func (c *Counter) PieceIn(t *tree.Tree, n tree.ID) int { return c.pieces.in(t, n) }

// Trim replaces a text by one that it may become, as [tree.State.Trim] does.
func (c *Counter) Trim(n tree.ID, index int) {
	c.update()
	c.bound.known = false
	in := c.state.Tree.Nodes[n].Parent
	m := c.state.Tree.MessageOf(in)
	if tokens, adjusted := c.retext(n, m, func() { c.state.Trim(n, index) }); adjusted && c.pieces.textOf(n) != "" {
		c.totals.resize(in, m, -tokens)
		return
	}
	c.state.Trim(n, index)
	c.totals.changed(in)
}

// Own returns what a piece counts by itself, with 1 more if a line break may be put before it.
func (c *Counter) Own(n tree.ID) int {
	if c.state.Tree.Nodes[n].Is(tree.StartsLine | tree.StartsElement) {
		return c.Piece(n) + 1
	}
	return c.Piece(n)
}

// Call returns what a tool call counts by itself.
func (c *Counter) Call(t elements.ToolCall) int {
	return c.pieces.tokenizer.CountText(t.Name) + c.pieces.tokenizer.CountText(t.Arguments)
}

// Whole returns the tokens that all pieces of a node count by themselves.
func (c *Counter) Whole(n tree.ID) (tokens int) {
	c.state.At(tree.Latest).Walk(n, func(n tree.ID) {
		if k := c.state.Tree.Nodes[n].Kind; k > tree.Finished {
			tokens += c.Own(n)
		}
	})
	return tokens
}

// PartType is the kind of a part of a message.
type PartType uint8

const (
	TextType PartType = iota
	ImageType
	DocumentType
	ThinkingType
	OpaqueType
	BreakpointType

	PartTypes // how many there are
)

// TypeOf returns the kind of a part.
func TypeOf(p chat.Part) PartType {
	switch p.(type) {
	case chat.Image:
		return ImageType
	case chat.Document:
		return DocumentType
	case chat.Thinking:
		return ThinkingType
	case chat.Opaque:
		return OpaqueType
	case chat.CacheBreakpoint:
		return BreakpointType
	}
	return TextType
}
