package count

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// reader collects the content of a message: its texts, and with empty ones in their place its frame. The zero value is ready.
type reader struct {
	texts []piece
	frame join.Builder
}

// piece is a text of a message, with the node None an end of a tag; or a part.
type piece struct {
	node    tree.ID
	newLine bool
	part    bool
	text    string
}

// Text collects a text.
func (r *reader) Text(n tree.ID, s string, newLine bool) {
	r.texts = append(r.texts, piece{node: n, newLine: newLine, text: s})
	r.frame.Text(n, "", false)
}

// Part collects a part.
func (r *reader) Part(p chat.Part) {
	r.texts = append(r.texts, piece{part: true})
	r.frame.Part(p)
}

// joined counts a message by its frame and its pieces.
func (c *Counter) joined(n tree.ID) int {
	view := c.state.At(tree.Latest)
	c.reader = reader{texts: c.reader.texts[:0]}
	join.Content(view, n, &c.reader)
	m := join.Frame(view, n)
	m.Content = c.reader.frame.Parts()
	c.bound.counted(n, m)
	tokens, joined := c.joiner.CountFrame(m)
	c.passes++
	c.text.pass = c.passes
	c.text.begin()
	for _, p := range c.reader.texts {
		switch {
		case p.part:
			c.text.follow(other)
			if !joined {
				tokens += c.text.end()
				c.text.begin()
				c.text.node = other
			}
		case p.node == tree.None:
			c.text.add(other, p.text, c.joiner.CountText(p.text), p.newLine, false)
		default:
			c.text.add(p.node, p.text, c.Piece(p.node), p.newLine, c.state.Trimmed(p.node) != nil)
		}
	}
	c.text.seams[n].pass = c.text.pass
	return tokens + c.text.end()
}
