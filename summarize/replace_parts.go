package summarize

import (
	"reflect"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// summaryBlock is the summary between tags, word for word but for what looks like one of this package's own tags.
func summaryBlock(tag string, m Material) elements.Node {
	return firm(tagged(tag, untaggedText(m.Summary)))
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

// gone are the messages of the user that are not shown any more once the compaction is made: those of Users that are not
// among what is kept. Where the cut lies within a turn the view shows that turn's first message too.
func (m Material) gone() []chat.Message {
	shown := 0
	for _, k := range m.Kept {
		if k.Role == chat.RoleUser {
			shown++
		}
	}
	if m.splits() {
		shown++
	}
	return m.Users[:max(0, len(m.Users)-shown)]
}

// splits tells that the cut lies within a turn.
func (m Material) splits() bool { return len(m.Kept) > 0 && m.Kept[0].Role != chat.RoleUser }

// head is what is kept of the very start, without what a view shows all the same: the first message of a turn that is cut.
func (m Material) head() []chat.Message {
	var again chat.Message
	if m.splits() {
		if n := len(m.gone()); n < len(m.Users) {
			again = m.Users[n]
		}
	}
	var list []chat.Message
	for _, said := range m.Head {
		if said.Role != chat.RoleUser || !reflect.DeepEqual(said, again) {
			list = append(list, said)
		}
	}
	return list
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
	return piece(tagged(tag, untaggedText(text)), priority, false)
}
