package render

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// counter keeps the exact count of a tree while pieces go.
//
// With a [sizing.Joiner] a count is kept up to date at each step: what a piece counted goes off, and what it changes for
// its neighbours is counted anew (see content). With any other tokenizer the messages that lost something are counted
// again as a whole, and because that is dear, not before enough has gone that the tree may fit.
type counter struct {
	tokenizer sizing.Tokenizer
	joiner    sizing.Joiner // the tokenizer, where it is one
	lineBreak int           // tokens of one, where it is

	// While uncounted, what goes is not taken off: what was counted where it stood is noted, to be forgotten afterwards.
	uncounted bool
	disturbed lineage

	// Without a joiner.
	stale   []*node // messages to be counted again: their counts, and those of what is around them, are what they were
	pruning *node   // the container that is pruned
	freed   freed   // since it was last known exactly
}

func newCounter(t sizing.Tokenizer) counter {
	c := counter{tokenizer: t}
	if c.joiner, _ = t.(sizing.Joiner); c.joiner != nil {
		c.lineBreak = t.CountText("\n")
	}
	return c
}

// count is a node's exact count as far as messages go. An element outside messages is the sum of its messages; one
// inside a message, which no provider would count by itself, is the sum of its pieces.
func (c *counter) count(n *node) int {
	c.refresh()
	return c.tally(n)
}

// tally is a node's count, in which messages that lost something may still count what they did.
func (c *counter) tally(n *node) int {
	switch {
	case n.leaf():
		return c.ownTokens(n)
	case n.counted:
		return n.tokens
	}
	total := 0
	switch {
	case n.is(isBlock):
		total = n.finished.tokens
	case n.kind == message && c.joiner != nil:
		total = c.countMessage(n)
	case n.kind == message:
		total = c.tokenizer.CountMessage(n.chatMessage(latest))
	default:
		for child := range n.present(latest) {
			total += c.tally(child)
		}
		if tag := n.tag(); tag != nil && !n.empty() {
			total += tag.inMessage()
		}
	}
	n.tokens, n.counted = total, true
	return total
}

// piece is what a text or part counts by itself.
func (c *counter) piece(n *node) int {
	switch {
	case n.kind != text:
		return n.rare.tokens
	case n.number == uncounted:
		tokens := c.tokenizer.CountText(n.text)
		n.cost(tokens)
		return tokens
	}
	return int(n.number)
}

// call is what a tool call counts by itself.
func (c *counter) call(t elements.ToolCall) int {
	return c.tokenizer.CountText(t.Name) + c.tokenizer.CountText(t.Arguments)
}

// ownTokens is what a piece counts by itself, with 1 more where a line break may be put before it.
func (c *counter) ownTokens(n *node) int {
	if n.is(breaksAlways | breaksFirst) {
		return c.piece(n) + 1
	}
	return c.piece(n)
}

// inMessage is what a tag counts, with a line break before each of its two ends.
func (t *tag) inMessage() int { return t.tokens + 2 }

// countMessage counts a message by its frame and its pieces.
func (c *counter) countMessage(n *node) int {
	if only, one := n.onlyText(); one {
		tokens, _ := c.joiner.CountFrame(n.frame(oneText))
		return tokens + c.piece(only)
	}
	n.working().content = newContent(c, n)
	return n.content.tokens()
}

// oneText is the content of a message of one text, as far as its frame goes.
var oneText = chat.Parts{chat.Text("")}

// onlyText gives the text of a message of nothing else.
func (n *node) onlyText() (only *node, one bool) {
	for n.left == 1 && !n.is(isTagged) {
		n = &n.children[n.nextAt(0, latest)]
		if n.kind == text {
			return n, true
		}
	}
	return nil, false
}

// frame is the message with what is left of its calls and this content.
func (n *node) frame(content chat.Parts) chat.Message {
	m := n.more().frame
	m.ToolCalls = plainCalls(n.callsAt(latest))
	m.Content = content
	return m
}

// over tells that a container that is being pruned has more tokens than it may.
func (c *counter) over(container *node, limit int) bool {
	if c.joiner != nil {
		return c.tally(container) > limit
	}
	if c.pruning != container {
		c.pruning, c.freed.scale = container, c.scaleOf(container, c.count(container))
	} else if !c.freed.enough(c.tally(container), limit) {
		return true
	}
	c.freed = freed{scale: c.freed.scale}
	return c.count(container) > limit
}

// losing is what there is to note before n goes: the tokens that it counts in the element around it.
func (c *counter) losing(n *node) (tokens int) {
	if c.uncounted {
		return 0
	}
	if c.joiner == nil {
		if m := n.parent.message(); m != nil {
			c.free(n, m)
		}
	}
	if n.parent.counted && n.parent.kind != message {
		return c.tally(n)
	}
	return 0
}

// lost counts what is left after n, which counted so many tokens, has gone.
func (c *counter) lost(n *node, tokens int) {
	if c.uncounted {
		c.disturbed.add(n.parent)
		return
	}
	m := n.parent.message()
	if n.parent.less(tokens, m) && m != nil {
		c.changed(m, func(content *content) { content.remove(n.atoms()) })
	}
}

// tagGoes counts what is left after nothing but white space is in n: a tag around that is not written.
func (c *counter) tagGoes(n *node) {
	if !n.is(isTagged) || c.uncounted {
		return
	}
	c.freed.unknown = c.freed.unknown || n.held
	m := n.message()
	if n.less(n.rare.tag.inMessage(), m) {
		c.changed(m, func(content *content) { content.remove(content.written(n)) })
	}
}

// unlinked counts a message that lost a call.
func (c *counter) unlinked(m *node, call elements.ToolCall) {
	if c.uncounted {
		c.disturbed.add(m)
		return
	}
	if c.joiner == nil {
		if m.calling == 0 {
			c.freed.unknown = true
		} else {
			c.freed.add(c.second(m, nil, []chat.ToolCall{call.ToolCall}))
		}
	}
	c.changed(m, func(content *content) { content.frame.loseCall(call.ToolCall) })
}

// changed counts a message that lost something: at once, or where that is dear, when it is next asked for.
func (c *counter) changed(m *node, change func(*content)) {
	if c.joiner != nil {
		c.recount(m, change)
		return
	}
	for ; m != nil; m = m.parent.message() { // what is in two messages counts in both
		if m.counted && !m.stale {
			m.stale = true
			c.stale = append(c.stale, m)
		}
	}
}

// refresh counts the messages that lost something since they were counted.
func (c *counter) refresh() {
	for _, m := range c.stale {
		m.stale = false
		switch {
		case !m.counted: // it is not known any more, nor is anything around it
		case m.gone != 0: // and nothing around it counts it
			m.counted = false
		default:
			before := m.tokens
			m.counted = false
			m.tokens = c.tally(m)
			m.parent.less(before-m.tokens, m.parent.message())
		}
	}
	c.stale = c.stale[:0]
}

// recount counts a message that was counted before, and notes the difference in what is around it.
func (c *counter) recount(m *node, change func(*content)) {
	if !m.counted {
		return
	}
	before := m.tokens
	if m.content == nil {
		m.working().content = newContent(c, m)
	} else {
		change(m.content)
	}
	m.tokens = m.content.tokens()
	if m.gone == 0 {
		m.parent.less(before-m.tokens, nil)
	}
}

// message gives the message that the node is or stands in, nil where it stands in none.
func (n *node) message() *node {
	for ; n != nil; n = n.parent {
		if n.kind == message {
			return n
		}
	}
	return nil
}

// less takes tokens off the counts that the node is part of, up to top, which is not one of them. Pruning may go on in
// what has gone, and then nothing around that gets smaller.
func (n *node) less(tokens int, top *node) (attached bool) {
	for ; n != top; n = n.parent {
		if n.counted {
			n.tokens -= tokens
		}
		if n.gone != 0 {
			return false
		}
	}
	return true
}

// forget forgets what the node counted.
func (n *node) forget() {
	n.counted = false
	if n.work != &idle {
		n.content = nil
	}
}

// freed says by how much a tree may have got smaller.
type freed struct {
	most    int     // tokens by which the tree got smaller at the most
	unknown bool    // more went than can be told without a count
	scale   float64 // by how much a token that a piece counts by itself may change the count
}

// add notes that a piece of so many tokens went, or a call. In a message its neighbours meet, which changes the
// count by more or less than the piece's own; by how much, no tokenizer promises. Half as much again and 8 more is far
// beyond what is seen where messages count about as much as their pieces; where they count more, so may each piece.
func (f *freed) add(tokens int) { f.most += int(f.scale*float64(tokens)) + 8 }

// enough tells that a tree of so many tokens may fit a limit by now.
func (f *freed) enough(count, limit int) bool { return f.unknown || count-f.most <= limit }

// scaleOf is the scale for a tree of so many tokens.
func (c *counter) scaleOf(n *node, count int) float64 {
	pieces := 0
	n.walk(latest, func(n *node) {
		switch {
		case n.leaf():
			pieces += c.ownTokens(n)
		case n.is(isBlock):
			pieces += n.finished.tokens
		}
	})
	return max(1.5, 2*float64(count)/float64(max(1, pieces))-1)
}

// free notes how much smaller a message gets.
func (c *counter) free(n, m *node) {
	n.walk(latest, func(n *node) {
		switch {
		case n.kind == text:
			c.freed.add(c.ownTokens(n))
		case n.kind == message, n.leaf() && (m.losesLast(n.rare.part) || m.parent.message() != nil):
			c.freed.unknown = true
		case n.leaf():
			c.freed.add(max(c.ownTokens(n), c.second(m, chat.Parts{n.rare.part}, nil)))
		case n.is(isTagged):
			c.freed.add(n.rare.tag.inMessage())
		case n.left == 0: // texts beside it may meet without the line break that it put between them
			c.freed.add(0)
		}
	})
}

// second is what a part or a call adds to a message that has it already.
func (c *counter) second(m *node, content chat.Parts, calls []chat.ToolCall) (tokens int) {
	of := m.more().frame
	of.Content, of.ToolCalls = content, calls
	one := c.tokenizer.CountMessage(of)
	of.Content, of.ToolCalls = slices.Concat(content, content), slices.Concat(calls, calls)
	return c.tokenizer.CountMessage(of) - one
}

// losesLast takes note that a part is going, and tells that it was the last of its type in a message.
func (n *node) losesLast(p chat.Part) bool {
	if n.parts == nil {
		n.working().parts = &[partTypes]int32{}
		n.walk(latest, func(c *node) {
			if c.leaf() && c.kind != text {
				n.parts[typeOf(c.rare.part)]++
			}
		})
	}
	t := typeOf(p)
	n.parts[t]--
	return n.parts[t] < 1
}
