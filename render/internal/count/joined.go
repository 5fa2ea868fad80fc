package count

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// reader collects the texts of a message, and its frame: its content with empty texts. The zero value is ready to use.
type reader struct {
	texts []piece
	frame join.Builder
}

// piece is a text of a message, an end of a tag, or a part.
type piece struct {
	id               tree.ID
	ownLine, newLine bool
	part             bool
	text             string
}

// Text collects a text.
func (r *reader) Text(n tree.ID, s string, ownLine, newLine bool) {
	r.texts = append(r.texts, piece{id: n, ownLine: ownLine, newLine: newLine, text: s})
	r.frame.Text(n, "", false, false)
}

// Part collects a part.
func (r *reader) Part(p chat.Part) {
	r.texts = append(r.texts, piece{part: true})
	r.frame.Part(p)
}

// joined counts a message by its frame, its pieces and their seams.
func (c *Counter) joined(n tree.ID) int {
	view := c.state.At(tree.Latest)
	c.reader.texts = slices.Grow(c.reader.texts[:0], c.state.Left(n))
	c.reader.frame.Reset()
	join.Content(view, n, &c.reader)
	m := join.Frame(view, n)
	m.Content = c.reader.frame.Parts()
	c.bound.setParts(n, m)
	tokens, joined := c.joiner.CountFrame(m)
	c.passes++
	c.text.pass = c.passes
	c.text.begin()
	for _, p := range c.reader.texts {
		switch {
		case !p.part:
			c.text.add(p.id, p.text, c.tokensOf(p.id), p.ownLine, p.newLine, c.trimmed(p.id))
		case joined: // this tokenizer joins texts across a part
			c.text.follow(acrossPart)
		default:
			tokens += c.text.end()
			c.text.begin()
		}
	}
	c.text.seams[n].pass = c.text.pass
	return tokens + c.text.end()
}
