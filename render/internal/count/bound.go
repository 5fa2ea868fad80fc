package count

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// bound says by how much a container that is being pruned may have got smaller since it was counted. If a piece goes its
// neighbours meet, which changes the count by more or less than the piece's own; a [chat.Tokenizer] promises by how much at most.
// No message gets smaller by more than it counted.
type bound struct {
	container tree.ID
	known     bool                    // container was counted
	tokens    int                     // that it counted
	freed     int                     // tokens by which it got smaller at the most
	scale     float64                 // tokens by which a piece of one token may change the count
	parts     map[tree.ID]*partCounts // of messages that have some, when they were counted and less those that went since
}

// partCounts are the numbers of a message's parts by type, and of its calls.
type partCounts [PartTypes + 1]int

// callType stands for calls among the types of parts.
const callType = PartTypes

// Over reports whether a container that is being pruned has more tokens than it may.
func (c *Counter) Over(container tree.ID, limit int) bool {
	c.update()
	b := &c.bound
	if _, known := c.Known(container); !known && b.known && b.container == container && b.tokens-b.freed > limit {
		return true
	}
	b.container, b.known, b.tokens, b.freed, b.scale = container, true, c.Count(container), 0, 1.5
	if c.joiner == nil { // it may count messages far higher than their pieces
		b.scale = max(b.scale, 2*float64(b.tokens)/float64(max(1, c.Whole(container)))-1)
	}
	return b.tokens > limit
}

// counted records the parts and calls of a message that was counted.
func (b *bound) counted(n tree.ID, m chat.Message) {
	left := partCounts{callType: len(m.ToolCalls)}
	for _, p := range m.Content {
		left[TypeOf(p)]++
	}
	left[TextType] = 0
	if left == (partCounts{}) {
		delete(b.parts, n)
		return
	}
	if b.parts == nil {
		b.parts = map[tree.ID]*partCounts{}
	}
	b.parts[n] = &left
}

// add adds what a change may have freed.
func (b *bound) add(c *Counter, ch tree.Change) {
	if !b.known {
		return
	}
	t := c.state.Tree
	if ch.Call >= 0 {
		call := t.Extra(ch.Node).Calls[ch.Call].ToolCall
		b.addInMessage(c, ch.Node, callType, nil, []chat.ToolCall{call})
		return
	}
	tokens := b.addNode(c, ch.Node, t.MessageOf(t.Nodes[ch.Node].Parent))
	// A tag in which only white space is left is not written, and neither is that.
	for n := t.Nodes[ch.Node].Parent; n != tree.None && c.state.Blank(n); n = t.Nodes[n].Parent {
		if tag := t.Extra(n).Tag; tag != nil {
			tokens += tag.InMessage() + c.Whole(n)
		}
	}
	b.addPiece(tokens)
}

// addPiece adds a piece of so many tokens.
func (b *bound) addPiece(tokens int) { b.freed += int(b.scale*float64(tokens)) + 8 }

// addNode adds the messages and parts in a node that stood in a message, or in none. It returns the tokens of the texts.
func (b *bound) addNode(c *Counter, n, message tree.ID) (tokens int) {
	t := c.state.Tree
	switch node, tag := &t.Nodes[n], t.Extra(n).Tag; {
	case node.Kind == tree.Finished:
		b.freed += c.tally(n)
		return 0
	case node.Kind == tree.Tool:
		return b.addTool(c, n)
	case node.Kind == tree.Text, node.Leaf() && message < b.container: // of which only the piece's own tokens count
		return c.Own(n)
	case node.Leaf():
		part := t.Extra(n).Part
		for m := message; m > b.container; m = t.MessageOf(t.Nodes[m].Parent) {
			b.addInMessage(c, m, TypeOf(part), chat.Parts{part}, nil)
		}
	case node.Kind == tree.Message:
		if b.freed += c.totals.of[n].tokens; !t.Nested {
			return 0
		}
		message = n
	case tag != nil:
		tokens = tag.InMessage()
	}
	for child := range c.state.At(tree.Latest).Children(n) {
		tokens += b.addNode(c, child, message)
	}
	return tokens
}

// addInMessage adds a part or call of a message. What it takes does not depend on the others as long as one of its type is left.
func (b *bound) addInMessage(c *Counter, m tree.ID, of PartType, content chat.Parts, calls []chat.ToolCall) {
	left := b.parts[m]
	if left == nil || left[of] < 2 {
		b.freed += c.totals.of[m].tokens
		return
	}
	left[of]--
	frame := c.state.Tree.Extra(m).Frame
	frame.Content, frame.ToolCalls = content, calls
	one := c.pieces.tokenizer.CountMessage(frame)
	frame.Content, frame.ToolCalls = slices.Concat(content, content), slices.Concat(calls, calls)
	b.addPiece(max(0, c.pieces.tokenizer.CountMessage(frame)-one))
}
