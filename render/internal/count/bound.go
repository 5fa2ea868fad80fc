package count

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// bound is an upper bound of the tokens that a container has lost since it was counted. As long as the container is
// certainly over its limit, it need not be counted again. When a piece is removed its neighbours meet, which frees more
// or fewer tokens than the piece has; a [chat.Tokenizer] promises how many at most. No message loses more than it
// counted.
type bound struct {
	container tree.ID
	known     bool                   // container was counted
	tokens    int                    // its count
	freed     int                    // the most tokens that it may have lost since
	scale     float64                // tokens that may be freed per token of a removed piece
	parts     map[tree.ID]*partsLeft // by message; only messages that have parts or calls
}

// partsLeft are the parts and calls of a message that are left.
type partsLeft struct {
	numbers  map[string]int // by kind
	examples chat.Message   // of each kind that there was when the message was counted
	bytes    int            // of the examples
}

// Over reports whether a container counts more tokens than a limit.
func (c *Counter) Over(container tree.ID, limit int) bool {
	c.update()
	b := &c.bound
	if _, known := c.Known(container); !known && b.known && b.container == container && b.tokens-b.freed > limit {
		return true
	}
	b.container, b.known, b.tokens, b.freed, b.scale = container, true, c.Count(container), 0, 1.5
	if c.joiner == nil { // the tokenizer may count messages far higher than their pieces
		b.scale = max(b.scale, 2*float64(b.tokens)/float64(max(1, c.SumOfPieces(container)))-1)
	}
	return b.tokens > limit
}

// setParts records the parts and calls of a message that was counted.
func (b *bound) setParts(n tree.ID, m chat.Message) {
	if len(m.ToolCalls) == 0 && !slices.ContainsFunc(m.Content, func(p chat.Part) bool { return KindOf(p) != textKind }) {
		delete(b.parts, n)
		return
	}
	left := &partsLeft{examples: m, numbers: map[string]int{callKind: len(m.ToolCalls)}}
	left.examples.Content, left.examples.ToolCalls = nil, m.ToolCalls[:min(1, len(m.ToolCalls))]
	for _, p := range m.Content {
		of := KindOf(p)
		if left.numbers[of]++; left.numbers[of] == 1 {
			left.examples.Content = append(left.examples.Content, p)
			left.bytes += counting.Bytes(p)
		}
	}
	b.parts[n] = left
}

// add adds the tokens that a removal may have freed.
func (b *bound) add(c *Counter, ch tree.Change) {
	if !b.known {
		return
	}
	t := c.state.Tree
	if ch.Call >= 0 {
		call := t.Extra(ch.Node).Calls[ch.Call].ToolCall
		b.addInMessage(c, ch.Node, callKind, nil, []chat.ToolCall{call})
		return
	}
	tokens := b.addNode(c, ch.Node, t.MessageOf(t.Nodes[ch.Node].Parent))
	// A tag in which only white space is left is not written, and neither is the white space.
	for n := t.Nodes[ch.Node].Parent; n != tree.None && c.state.Blank(n); n = t.Nodes[n].Parent {
		if tag := t.Extra(n).Tag; tag != nil {
			tokens += tag.InMessage() + c.SumOfPieces(n)
		}
	}
	b.addPiece(tokens)
}

// addPiece adds a piece by its tokens.
func (b *bound) addPiece(tokens int) { b.freed += int(b.scale*float64(tokens)) + 8 }

// addNode adds the messages and parts in a removed node, and returns the tokens of its texts. message is the one it was
// in, or None.
func (b *bound) addNode(c *Counter, n, message tree.ID) (tokens int) {
	t := c.state.Tree
	switch node, tag := &t.Nodes[n], t.Extra(n).Tag; {
	case node.Kind == tree.Finished:
		b.freed += c.tally(n)
		return 0
	case node.Kind == tree.Tool:
		return b.addTool(c, n)
	case node.Kind == tree.Text, node.Leaf() && message < b.container: // a part in a message around the container counts only by itself
		return c.PieceWithBreak(n)
	case node.Leaf():
		part := t.Extra(n).Part
		for m := message; m > b.container; m = t.MessageOf(t.Nodes[m].Parent) {
			b.addInMessage(c, m, KindOf(part), chat.Parts{part}, nil)
		}
	case node.Kind == tree.Message:
		if b.freed += c.totals.of(n).tokens; !t.NestedMessages {
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

// addInMessage adds a part or call of a message. Its tokens do not depend on the other parts as long as another of its
// kind is left.
func (b *bound) addInMessage(c *Counter, m tree.ID, of string, content chat.Parts, calls []chat.ToolCall) {
	left := b.parts[m]
	if left == nil || left.numbers[of] < 2 {
		b.freed += c.totals.of(m).tokens
		return
	}
	left.numbers[of]--
	frame := *c.state.Tree.Extra(m).Frame
	frame.Content, frame.ToolCalls = content, calls
	one := c.tokenizer.CountMessage(frame)
	frame.Content, frame.ToolCalls = slices.Concat(content, content), slices.Concat(calls, calls)
	b.addPiece(max(0, c.tokenizer.CountMessage(frame)-one))
}
