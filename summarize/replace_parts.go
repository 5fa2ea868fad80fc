package summarize

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// summaryBlock is the summary between tags, word for word but for what looks like one of this package's own tags.
func summaryBlock(tag string, m Material) elements.Node {
	return firm(plaintext.Tagged(tag, plaintext.Untagged(m.Summary)))
}

// firm is a text that stays, on a line of its own; nothing for no text.
func firm(text string) elements.Node {
	if text == "" {
		return nil
	}
	return elements.TextChunk{Props: kept, Children: elements.Nodes{elements.Text(text)}}
}

// afterwards is what follows a summary: where the transcript lies, and what the agent's model must be told.
func afterwards(m Material) elements.Nodes {
	return elements.Nodes{firm(m.Transcript.breadcrumb()), firm(m.Reminder)}
}

// clipTo cuts the middle out of a text that takes more than a part of the room, with a mark.
func (m Material) clipTo(text string, part int) string { return clipped(m, text, max(1, m.Room/part)) }

// clipped cuts the middle out of a text that takes more tokens, with a mark.
func clipped(m Material, text string, tokens int) string {
	return history.Clip(m.Tokenizer, text, tokens, 0.4)
}

// part is a block of what may go where there is no room, the lowest priority first; nothing for no text.
func part(priority int, tag, text string) elements.Node {
	if text == "" {
		return nil
	}
	return piece(plaintext.Tagged(tag, plaintext.Untagged(text)), priority, false)
}
