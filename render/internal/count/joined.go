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

// piece is a text of a message, or an end of a tag; or a part.
type piece struct {
	id             tree.ID
	wants, newLine bool
	part           bool
	text           string
}

// Text collects a text.
func (r *reader) Text(n tree.ID, s string, wants, newLine bool) {
	r.texts = append(r.texts, piece{id: n, wants: wants, newLine: newLine, text: s})
	r.frame.Text(n, "", false, false)
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
		case !p.part:
			c.text.add(p.id, p.text, c.pieces.tokensOf(p.id), p.wants, p.newLine, c.pieces.trimmed(p.id))
		case joined: // texts are joined across it
			c.text.follow(part)
		default:
			tokens += c.text.end()
			c.text.begin()
		}
	}
	c.text.seams[n].pass = c.text.pass
	return tokens + c.text.end()
}
