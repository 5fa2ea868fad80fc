// Package count keeps the exact count of a prompt while pieces go.
package count

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// Counter counts a tree. It reads in the state's log what went. Around lines of text that went it adjusts the counts; any other message
// that something went from is counted again, and because that takes a look at all that is left of it, not before enough has gone
// that the tree may fit ([Counter.Over]). With a [sizing.Joiner] a message is counted by the tokens of its pieces and what changes where
// they meet, else as a whole.
type Counter struct {
	tokenizer sizing.Tokenizer
	joiner    sizing.Joiner // the tokenizer, if it is one
	state     *tree.State
	counts    []counted
	any       bool // something is counted
	seen      int  // how much of the state's log is taken into account
	reader    reader
	text      text
	passes    int32 // over messages
	listed    listed
	bound     bound
}

// counted is the count of a node, if it is known.
type counted struct {
	tokens int
	known  bool
}

// New returns a counter of a tree.
func New(s *tree.State, t sizing.Tokenizer) *Counter {
	c := &Counter{tokenizer: t, state: s, counts: make([]counted, len(s.Tree.Nodes))}
	if c.joiner, _ = t.(sizing.Joiner); s.Tree.Nested {
		c.joiner = nil // what is in two messages counts in both
	}
	if c.joiner != nil {
		c.text = text{joiner: c.joiner, lineBreak: t.CountText("\n"), seams: make([]seam, len(s.Tree.Nodes))}
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
	return c.tally(n) + c.toolTokens(n)
}

// Known returns the count of a node if it is known.
func (c *Counter) Known(n tree.ID) (tokens int, known bool) {
	c.update()
	if !c.counts[n].known {
		return 0, false
	}
	return c.counts[n].tokens + c.toolTokens(n), true
}

// Back records that something that went is there again, as [tree.State.Rewind] returns it.
func (c *Counter) Back(changes []tree.Change) {
	for ; c.seen < len(c.state.Log); c.seen++ {
		c.forget(c.state.Log[c.seen])
	}
	for _, ch := range changes {
		c.forget(ch)
	}
	c.seen = len(c.state.Log)
	c.bound.known = false
}

// update takes into account what went since it was last called.
func (c *Counter) update() {
	for ; c.seen < len(c.state.Log) && c.any; c.seen++ {
		ch := c.state.Log[c.seen]
		if tokens, adjusted := c.adjust(ch); adjusted {
			c.bound.freed += tokens
			continue
		}
		c.bound.add(c, ch)
		c.forget(ch)
	}
	c.seen = len(c.state.Log)
}

// forget forgets the counts of all that something stands in.
func (c *Counter) forget(ch tree.Change) {
	nodes := c.state.Tree.Nodes
	n := ch.Node
	if ch.Call < 0 {
		n = nodes[n].Parent
	}
	for ; n != tree.None; n = nodes[n].Parent {
		c.counts[n].known = false
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
	case c.counts[n].known:
		return c.counts[n].tokens
	}
	total := 0
	switch {
	case node.Kind == tree.Message && c.joiner != nil:
		total = c.joined(n)
	case node.Kind == tree.Message:
		m := join.Message(s.At(tree.Latest), n)
		total = c.tokenizer.CountMessage(m)
		c.bound.counted(n, m)
	default:
		for child := range s.At(tree.Latest).Children(n) {
			total += c.tally(child)
		}
		if tag := s.Tree.Extra(n).Tag; tag != nil && !s.Blank(n) {
			total += tag.InMessage()
		}
	}
	c.counts[n], c.any = counted{total, true}, true
	return total
}

// Piece returns what a text or part counts by itself.
func (c *Counter) Piece(n tree.ID) int {
	if t := c.state.Trimmed(n); t != nil {
		if t.Tokens < 0 {
			t.Tokens = c.tokenizer.CountText(t.Text)
		}
		return t.Tokens
	}
	return c.PieceIn(c.state.Tree, n)
}

// Trim replaces a text by one that it may become, as [tree.State.Trim] does.
func (c *Counter) Trim(n tree.ID, index int) {
	c.update()
	c.state.Trim(n, index)
	c.forget(tree.Change{Node: n, Call: -1})
	c.bound.known = false
}

// PieceIn returns what a text or part of another tree counts by itself.
func (c *Counter) PieceIn(t *tree.Tree, n tree.ID) int {
	if t.Nodes[n].Kind != tree.Text {
		return t.Extra(n).Tokens
	}
	tokens, known := t.Tokens(n)
	if !known {
		tokens = c.tokenizer.CountText(t.Nodes[n].Text)
		t.SetTokens(n, tokens)
	}
	return tokens
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
	return c.tokenizer.CountText(t.Name) + c.tokenizer.CountText(t.Arguments)
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
