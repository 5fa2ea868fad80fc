// Package count keeps the exact count of a prompt while pieces go.
package count

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// Counter counts a tree. With a [sizing.Joiner] the count is kept up to date at each step: what a piece counted goes off, and what it
// changes for its neighbours is counted anew (see content). With any other tokenizer the messages that lost something are counted
// again as a whole, and because that is dear, not before enough has gone that the tree may fit.
type Counter struct {
	tokenizer sizing.Tokenizer
	joiner    sizing.Joiner // the tokenizer, if it is one
	lineBreak int           // tokens of one, if it is
	state     *tree.State
	counts    []counted
	contents  map[tree.ID]*content // of messages that were counted piece by piece
	paused    bool                 // what goes is not taken off, but forgotten
	whole     whole
}

// counted is the count of a node.
type counted struct {
	tokens int
	known  bool
	stale  bool // of a message that is to be counted again, and counts what it did until then
}

// New returns a counter that listens to a tree.
func New(s *tree.State, t sizing.Tokenizer) *Counter {
	c := &Counter{tokenizer: t, state: s, counts: make([]counted, len(s.Nodes)), contents: map[tree.ID]*content{}}
	if c.joiner, _ = t.(sizing.Joiner); s.Nested {
		c.joiner = nil // what is in two messages counts in both
	}
	if c.joiner != nil {
		c.lineBreak = t.CountText("\n")
	}
	c.whole.parts = map[tree.ID]*[PartTypes]int32{}
	s.Listen(c)
	return c
}

// Joins reports whether counts are kept piece by piece.
func (c *Counter) Joins() bool { return c.joiner != nil }

// Pause has nodes go without a look at what is left, which is counted anew once it is asked for after [Counter.Resume].
func (c *Counter) Pause()  { c.paused = true }
func (c *Counter) Resume() { c.paused = false }

// Count returns the exact count of a node as far as messages go. An element outside messages is the sum of its messages; one
// inside a message, which no provider would count by itself, is the sum of its pieces.
func (c *Counter) Count(n tree.ID) int {
	c.refresh()
	return c.tally(n)
}

// Known returns the count of a node if it is known.
func (c *Counter) Known(n tree.ID) (tokens int, known bool) {
	return c.counts[n].tokens, c.counts[n].known
}

// tally is a count in which messages that lost something may still count what they did.
func (c *Counter) tally(n tree.ID) int {
	s := c.state
	node := &s.Nodes[n]
	switch {
	case node.Kind == tree.Finished:
		return s.Extra(n).Block.Tokens
	case node.Leaf():
		return c.Own(n)
	case c.counts[n].known:
		return c.counts[n].tokens
	}
	total := 0
	switch {
	case node.Kind == tree.Message && c.joiner != nil:
		total = c.countMessage(n)
	case node.Kind == tree.Message:
		total = c.tokenizer.CountMessage(join.Message(s, n, tree.Latest))
	default:
		for child := s.First(n); child != tree.None; child = s.Next(child) {
			total += c.tally(child)
		}
		if tag := s.Tag(n); tag != nil && !s.Blank(n) {
			total += tag.InMessage()
		}
	}
	c.counts[n].tokens, c.counts[n].known = total, true
	return total
}

// Piece returns what a text or part counts by itself.
func (c *Counter) Piece(n tree.ID) int { return c.PieceIn(c.state.Tree, n) }

// PieceIn returns what a text or part of another tree counts by itself.
func (c *Counter) PieceIn(t *tree.Tree, n tree.ID) int {
	node := &t.Nodes[n]
	if node.Kind != tree.Text {
		return t.Extra(n).Tokens
	}
	tokens, known := t.Tokens(n)
	if !known {
		tokens = c.tokenizer.CountText(node.Text)
		t.SetTokens(n, tokens)
	}
	return tokens
}

// Call returns what a tool call counts by itself.
func (c *Counter) Call(t elements.ToolCall) int {
	return c.tokenizer.CountText(t.Name) + c.tokenizer.CountText(t.Arguments)
}

// Own returns what a piece counts by itself, with 1 more if a line break may be put before it.
func (c *Counter) Own(n tree.ID) int {
	if c.state.Nodes[n].Is(tree.StartsLine | tree.StartsElement) {
		return c.Piece(n) + 1
	}
	return c.Piece(n)
}

// countMessage counts a message by its frame and its pieces.
func (c *Counter) countMessage(n tree.ID) int {
	if only, one := c.onlyText(n); one {
		tokens, _ := c.joiner.CountFrame(c.frame(n, oneText))
		return tokens + c.Piece(only)
	}
	t := newContent(c, n)
	c.contents[n] = t
	return t.tokens()
}

// oneText is the content of a message of one text, as far as its frame goes.
var oneText = chat.Parts{chat.Text("")}

// onlyText returns the text of a message of nothing else.
func (c *Counter) onlyText(n tree.ID) (only tree.ID, one bool) {
	for c.state.Left(n) == 1 && c.state.Tag(n) == nil {
		n = c.state.First(n)
		if c.state.Nodes[n].Kind == tree.Text {
			return n, true
		}
	}
	return tree.None, false
}

// frame returns a message with what is left of its calls and this content.
func (c *Counter) frame(n tree.ID, content chat.Parts) chat.Message {
	m := join.Frame(c.state, n, tree.Latest)
	m.Content = content
	return m
}

// Going is called before n goes.
func (c *Counter) Going(n tree.ID) {
	c.whole.going = 0
	if c.paused {
		return
	}
	parent := c.state.Nodes[n].Parent
	if c.joiner == nil {
		if m := c.state.MessageOf(parent); m != tree.None {
			c.free(n, m)
		}
	}
	if c.counts[parent].known && c.state.Nodes[parent].Kind != tree.Message {
		c.whole.going = c.tally(n)
	}
}

// Gone counts what is left after n has gone.
func (c *Counter) Gone(n tree.ID) {
	parent := c.state.Nodes[n].Parent
	if c.paused {
		c.Back(n)
		return
	}
	m := c.state.MessageOf(parent)
	if c.less(parent, c.whole.going, m) && m != tree.None {
		c.changed(m, func(t *content) { t.remove(t.span(n)) })
	}
}

// Emptied counts what is left after nothing but white space is in n: a tag around that is not written.
func (c *Counter) Emptied(n tree.ID) {
	tag := c.state.Tag(n)
	if tag == nil || c.paused {
		return
	}
	c.whole.freed.unknown = c.whole.freed.unknown || c.state.Left(n) > 0 // white space that is not written either
	m := c.state.MessageOf(n)
	if c.less(n, tag.InMessage(), m) {
		c.changed(m, func(t *content) { t.remove(t.written(n)) })
	}
}

// CallGone counts a message that lost a call.
func (c *Counter) CallGone(m tree.ID, call int) {
	if c.paused {
		c.forget(m)
		return
	}
	gone := c.state.Extra(m).Calls[call].ToolCall
	if c.joiner == nil {
		if c.state.Calls(m) == 0 {
			c.whole.freed.unknown = true
		} else {
			c.whole.freed.add(c.second(m, nil, []chat.ToolCall{gone}))
		}
	}
	c.changed(m, func(t *content) { t.frame.loseCall(gone) })
}

// Back forgets what was counted around a node that is there again.
func (c *Counter) Back(n tree.ID) {
	if c.state.Nodes[n].Kind == tree.Message {
		c.forget(n)
		return
	}
	c.forget(c.state.Nodes[n].Parent)
}

// forget forgets the counts of a node and of what it stands in.
func (c *Counter) forget(n tree.ID) {
	for ; n != tree.None; n = c.state.Nodes[n].Parent {
		c.counts[n].known = false
		if c.state.Nodes[n].Kind == tree.Message {
			delete(c.contents, n)
			delete(c.whole.parts, n)
		}
	}
}

// changed counts a message that lost something: at once, or if that is dear, when it is next asked for.
func (c *Counter) changed(m tree.ID, change func(*content)) {
	if c.joiner != nil {
		c.recount(m, change)
		return
	}
	for ; m != tree.None; m = c.messageAround(m) { // what is in two messages counts in both
		if at := &c.counts[m]; at.known && !at.stale {
			at.stale = true
			c.whole.stale = append(c.whole.stale, m)
		}
	}
}

func (c *Counter) messageAround(m tree.ID) tree.ID { return c.state.MessageOf(c.state.Nodes[m].Parent) }

// recount counts a message that was counted before, and notes the difference in what is around it.
func (c *Counter) recount(m tree.ID, change func(*content)) {
	if !c.counts[m].known {
		return
	}
	before := c.counts[m].tokens
	t := c.contents[m]
	if t == nil {
		t = newContent(c, m)
		c.contents[m] = t
	} else {
		change(t)
	}
	c.counts[m].tokens = t.tokens()
	if c.state.There(m) {
		c.less(c.state.Nodes[m].Parent, before-c.counts[m].tokens, tree.None)
	}
}

// less takes tokens off the counts that a node is part of, up to top, which is not one of them. Pruning may go on in
// what has gone, and then nothing around that gets smaller.
func (c *Counter) less(n tree.ID, tokens int, top tree.ID) (attached bool) {
	for ; n != top; n = c.state.Nodes[n].Parent {
		if c.counts[n].known {
			c.counts[n].tokens -= tokens
		}
		if !c.state.There(n) {
			return false
		}
	}
	return true
}

// Whole returns the tokens that all pieces of a node count by themselves.
func (c *Counter) Whole(n tree.ID) (tokens int) {
	c.state.Walk(n, tree.Latest, func(n tree.ID) {
		if k := c.state.Nodes[n].Kind; k > tree.Finished {
			tokens += c.Own(n)
		}
	})
	return tokens
}

// whole is what is known while messages are counted as a whole.
type whole struct {
	stale   []tree.ID // messages to be counted again: their counts, and those of what is around them, are what they were
	pruning tree.ID   // the container that is pruned, if there is a scale
	scaled  bool
	freed   freed                         // since the count was last known exactly
	parts   map[tree.ID]*[PartTypes]int32 // of messages, by type
	going   int                           // tokens of what is going, in the element around it
}

// refresh counts the messages that lost something since they were counted.
func (c *Counter) refresh() {
	for _, m := range c.whole.stale {
		at := &c.counts[m]
		at.stale = false
		switch {
		case !at.known: // it is not known any more, nor is anything around it
		case !c.state.There(m): // and nothing around it counts it
			at.known = false
		default:
			before := at.tokens
			at.known = false
			after := c.tally(m)
			parent := c.state.Nodes[m].Parent
			c.less(parent, before-after, c.state.MessageOf(parent))
		}
	}
	c.whole.stale = c.whole.stale[:0]
}

// Over reports whether a container that is being pruned has more tokens than it may.
func (c *Counter) Over(container tree.ID, limit int) bool {
	if c.joiner != nil {
		return c.tally(container) > limit
	}
	w := &c.whole
	if !w.scaled || w.pruning != container {
		w.pruning, w.scaled = container, true
		w.freed.scale = c.scaleOf(container, c.Count(container))
	} else if !w.freed.enough(c.tally(container), limit) {
		return true
	}
	w.freed = freed{scale: w.freed.scale}
	return c.Count(container) > limit
}

// freed says by how much a tree may have got smaller.
type freed struct {
	most    int     // tokens by which the tree got smaller at the most
	unknown bool    // more went than can be told without a count
	scale   float64 // by how much a token that a piece counts by itself may change the count
}

// add notes that a piece of so many tokens went, or a call. In a message its neighbours meet, which changes the
// count by more or less than the piece's own; by how much, no tokenizer promises. Half as much again and 8 more is far
// beyond what is seen if messages count about as much as their pieces; if they count more, so may each piece.
func (f *freed) add(tokens int) { f.most += int(f.scale*float64(tokens)) + 8 }

// enough reports whether a tree of so many tokens may fit a limit by now.
func (f *freed) enough(count, limit int) bool { return f.unknown || count-f.most <= limit }

// scaleOf returns the scale for a tree of so many tokens.
func (c *Counter) scaleOf(n tree.ID, count int) float64 {
	pieces := 0
	c.state.Walk(n, tree.Latest, func(n tree.ID) {
		switch node := &c.state.Nodes[n]; {
		case node.Kind == tree.Finished:
			pieces += c.state.Extra(n).Block.Tokens
		case node.Leaf():
			pieces += c.Own(n)
		}
	})
	return max(1.5, 2*float64(count)/float64(max(1, pieces))-1)
}

// free notes how much smaller a message gets without n.
func (c *Counter) free(n, m tree.ID) {
	s, f := c.state, &c.whole.freed
	s.Walk(n, tree.Latest, func(n tree.ID) {
		node := &s.Nodes[n]
		part := s.Extra(n).Part
		switch {
		case node.Kind == tree.Text:
			f.add(c.Own(n))
		case node.Kind == tree.Message, node.Leaf() && (c.losesLast(m, part) || c.messageAround(m) != tree.None):
			f.unknown = true
		case node.Leaf():
			f.add(max(c.Own(n), c.second(m, chat.Parts{part}, nil)))
		case s.Tag(n) != nil:
			f.add(s.Tag(n).InMessage())
		case s.Left(n) == 0: // texts beside it may meet without the line break that it put between them
			f.add(0)
		}
	})
}

// second returns what a part or a call adds to a message that has it already.
func (c *Counter) second(m tree.ID, content chat.Parts, calls []chat.ToolCall) (tokens int) {
	of := c.state.Extra(m).Frame
	of.Content, of.ToolCalls = content, calls
	one := c.tokenizer.CountMessage(of)
	of.Content, of.ToolCalls = slices.Concat(content, content), slices.Concat(calls, calls)
	return c.tokenizer.CountMessage(of) - one
}

// losesLast records that a part is going, and reports whether it was the last of its type in a message.
func (c *Counter) losesLast(m tree.ID, p chat.Part) bool {
	parts := c.whole.parts[m]
	if parts == nil {
		parts = &[PartTypes]int32{}
		c.whole.parts[m] = parts
		c.state.Walk(m, tree.Latest, func(n tree.ID) {
			if k := c.state.Nodes[n].Kind; k == tree.Part || k == tree.Breakpoint {
				parts[TypeOf(c.state.Extra(n).Part)]++
			}
		})
	}
	t := TypeOf(p)
	parts[t]--
	return parts[t] < 1
}
