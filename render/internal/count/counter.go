// Package count is the stage of the render engine that keeps the exact count of a prompt while pieces are removed.
//
// Its input is a [tree.State] and a tokenizer; its output the tokens of a node ([Counter.Count]), whether a container
// is over a limit ([Counter.Over]), and lower bounds ([Counter.LowerBound]). It changes nothing in the state but texts
// ([Counter.Trim]).
//
// The invariants:
//
//   - Count always returns the tokenizer's exact count of what is left. Bounds only decide when it need not be
//     computed.
//   - If the tokenizer is a [chat.Joiner] and only texts and tags are removed, a removal costs time proportional to the
//     removed piece and the texts beside it. Any other removal makes its message stale: the message is counted again,
//     once enough has been removed that the container may fit.
//   - After a rewind, [Counter.Restored] must be called before anything else.
//
// The files: totals.go has the counts by node; text.go counts a joined text by its pieces and the seams between them;
// joined.go counts a message that way; adjust.go and gap.go update the count of a message after a removal, bound.go
// bounds the tokens that removals since the last count may have freed; lowerbound.go, pieces.go and tools.go count what
// their names say.
package count

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Counter counts a tree. It reads the removals in the state's log, and subtracts them from the counts. With a
// [chat.Joiner] a message is counted by the tokens of its pieces and the change where they meet, else as a whole.
type Counter struct {
	pieces
	joiner   chat.Joiner // the tokenizer, if it is one
	totals   totals
	logRead  int // number of changes in the state's log that are taken into account
	reader   reader
	text     text
	passes   int32 // number of passes over messages
	toolList toolList
	bound    bound
}

// New returns a counter of a tree.
func New(s *tree.State, t chat.Tokenizer) *Counter {
	c := &Counter{pieces: pieces{s, t}, totals: totals{state: s, others: make([]total, s.Tree.Others)}, bound: bound{parts: map[tree.ID]*partsLeft{}}}
	if c.joiner, _ = t.(chat.Joiner); s.Tree.NestedMessages {
		c.joiner = nil // a text in two messages counts in both
	}
	if c.joiner != nil {
		pieces := len(s.Tree.Nodes)
		if s.Tree.HasTags {
			pieces *= 2
		}
		c.text = text{pieces: &c.pieces, joiner: c.joiner, lineBreak: t.CountText("\n"), seams: make([]seam, pieces)}
	}
	return c
}

// Share shares seams with other counters of the same tree. It is called before anything is counted.
func (c *Counter) Share(s *Seams) { c.text.share(s) }

// Joins reports whether messages are counted by their pieces.
func (c *Counter) Joins() bool { return c.joiner != nil }

// Count returns the exact count of a node. An element outside messages is the sum of its messages and, as one list, its
// tools. An element inside a message, which no provider counts by itself, is the sum of its pieces.
func (c *Counter) Count(n tree.ID) int {
	c.update()
	if m := c.state.Tree.MessageOf(n); m == tree.None || m == n { // the total of a node in a message does not depend on other messages
		for _, m := range c.totals.takeStale() {
			c.totals.addToAncestors(m, c.tally(m))
		}
	}
	tokens := c.tally(n) + c.toolTokens(n)
	if n == tree.Root && c.state.Now == 0 {
		c.text.leave()
	}
	return tokens
}

// Known returns the count of a node if it is known.
func (c *Counter) Known(n tree.ID) (tokens int, known bool) {
	c.update()
	_, known = c.toolsLeft(n)
	if !known || !c.totals.of(n).known || len(c.totals.stale) > 0 {
		return 0, false
	}
	return c.totals.of(n).tokens + c.toolTokens(n), true
}

// Restored records that removals were undone or repeated, as [tree.State.Rewind], PutBack and RemoveAgain do.
func (c *Counter) Restored(changes []tree.Change) {
	if c.totals.any {
		for ; c.logRead < len(c.state.Log); c.logRead++ {
			c.totals.forgetAncestors(c.state.Log[c.logRead], true)
		}
		for _, ch := range changes {
			c.totals.forgetAncestors(ch, ch.Call < 0 && !c.state.Present(ch.Node))
		}
	}
	c.logRead = len(c.state.Log)
	c.bound.known = false
}

// update takes into account the removals since it was last called.
func (c *Counter) update() {
	for ; c.logRead < len(c.state.Log) && c.totals.any; c.logRead++ {
		c.subtract(c.state.Log[c.logRead])
	}
	c.logRead = len(c.state.Log)
}

// subtract subtracts a removal from the counts.
func (c *Counter) subtract(ch tree.Change) {
	t, in := c.state.Tree, ch.Node
	if ch.Call < 0 {
		in = t.Nodes[in].Parent
	}
	m := t.MessageOf(in)
	if m == tree.None {
		c.bound.add(c, ch)
		c.totals.subtract(ch.Node)
		return
	}
	tokens, adjusted := c.adjust(ch, m)
	if !adjusted || c.bound.container > m {
		c.bound.add(c, ch)
	} else {
		c.bound.freed += tokens
	}
	if adjusted {
		c.totals.adjust(in, m, -tokens)
	} else {
		c.totals.invalidate(in)
	}
	if ch.Call < 0 {
		c.totals.setGone(ch.Node, true)
	}
}

// tally is Count without tools, once all removals are taken into account.
func (c *Counter) tally(n tree.ID) int {
	s := c.state
	node := &s.Tree.Nodes[n]
	switch {
	case node.Kind == tree.Finished:
		return s.Tree.Extra(n).Block.Tokens
	case node.Kind == tree.Tool:
		return 0
	case node.Leaf():
		return c.PieceWithBreak(n)
	case c.totals.of(n).known:
		return c.totals.of(n).tokens
	}
	total := 0
	switch {
	case node.Kind == tree.Message && c.joiner != nil:
		total = c.joined(n)
	case node.Kind == tree.Message:
		m := join.Message(s.At(tree.Latest), n)
		total = c.tokenizer.CountMessage(m)
		c.bound.setParts(n, m)
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

// Trim replaces a text by a shorter one, as [tree.State.Trim] does, and updates the counts.
func (c *Counter) Trim(n tree.ID, index int) {
	c.update()
	c.bound.known = false
	in := c.state.Tree.Nodes[n].Parent
	m := c.state.Tree.MessageOf(in)
	if m != tree.None && c.joiner != nil && c.totals.of(m).known && c.text.seams[n].pass == c.text.seams[m].pass && c.textOf(n) != "" {
		if before, after, ok := c.text.neighbours(n, n); ok {
			fewer := c.text.rejoin(before, slices.Concat([]tree.ID{n}, after), func() { c.state.Trim(n, index) })
			if c.textOf(n) != "" {
				c.totals.adjust(in, m, -fewer)
				return
			}
		}
	}
	c.state.Trim(n, index)
	c.totals.invalidate(in)
}

// PieceWithBreak returns the tokens of a piece by itself, plus 1 if a line break may be put before it.
func (c *Counter) PieceWithBreak(n tree.ID) int {
	if c.state.Tree.Nodes[n].Is(tree.StartsLine | tree.StartsElement) {
		return c.Piece(n) + 1
	}
	return c.Piece(n)
}

// Call returns the tokens of a tool call by itself.
func (c *Counter) Call(t elements.ToolCall) int {
	return c.tokenizer.CountText(t.Name) + c.tokenizer.CountText(t.Arguments)
}

// SumOfPieces returns the sum of the tokens of all pieces in a node, each by itself.
func (c *Counter) SumOfPieces(n tree.ID) (tokens int) {
	c.state.At(tree.Latest).Walk(n, func(n tree.ID) {
		if k := c.state.Tree.Nodes[n].Kind; k > tree.Finished {
			tokens += c.PieceWithBreak(n)
		}
	})
	return tokens
}

// textKind and callKind are the kinds of a text and of a tool call.
const (
	textKind = "text"
	callKind = "toolCall"
)

// KindOf returns the kind of a part of a message, which for nil is a text.
func KindOf(p chat.Part) string {
	switch p.(type) {
	case chat.Image:
		return "image"
	case chat.Document:
		return "document"
	case chat.Thinking:
		return "thinking"
	case chat.Opaque:
		return "opaque"
	case chat.CacheBreakpoint:
		return "cacheBreakpoint"
	}
	return textKind
}
