package a3s

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// replacement returns the first messages of the session and the summary of the turns after them.
//
// Each first message of the user stays a message, word for word. If it takes more than a quarter of the room, or more
// than the summary leaves, it is cut in its middle, with a mark. What the agent said and did there becomes text in the
// summary's message, because a replacement has only user messages. If there is too little room the start is left out,
// the agent's part first.
func replacement(m policy.Material) elements.Node {
	var users elements.Nodes
	var others []chat.Message
	rest := elements.Nodes{
		textblock.Line("The turns that followed were compacted into this summary:"),
		prompts.SummaryBlock(m, plaintext.SummaryTag.String()), prompts.Afterword(m),
	}
	left := m.Words
	if m.Tokenizer != nil {
		left -= m.Tokenizer.CountText(m.Summary)
	}
	for _, said := range m.Head {
		if said.Role != chat.RoleUser {
			others = append(others, said)
			continue
		}
		said = clipMessage(m, said, min(m.Room/4, left))
		users = append(users, elements.Message(elements.Props{Priority: new(2)}, said))
		if m.Tokenizer != nil {
			left -= m.Tokenizer.CountMessage(said)
		}
	}
	return elements.Nodes{
		users,
		elements.UserMessage{Props: elements.Props{Priority: new(1)}, Children: slices.Insert(rest, 0, start(m, others))},
	}
}

// minClip is the fewest tokens to which a message is cut. A shorter one is not worth showing.
const minClip = 24

// clipMessage cuts the middle of the text of a message that takes more than that many tokens, with a mark
// and the handle behind it. If there is no room for text, or no text, the message stays as it is.
func clipMessage(m policy.Material, said chat.Message, tokens int) chat.Message {
	if m.Tokenizer == nil || m.Room <= 0 {
		return said
	}
	size, text, behind := m.Tokenizer.CountMessage(said), said.Text(), ""
	if handle := m.HandleOf(said); handle != "" {
		behind = "\n" + plaintext.LeftOut("the rest", handle)
	}
	if room := tokens - size + m.Tokenizer.CountText(text) - m.Tokenizer.CountText(behind); size > tokens && room >= minClip && text != "" {
		content := chat.Parts{chat.Text(prompts.ClipWithin(m, text, room) + behind)}
		for _, p := range said.Content {
			if _, isText := p.(chat.Text); !isText {
				content = append(content, p)
			}
		}
		said.Content = content
	}
	return said
}

// start returns what the agent said and did at the very start, as one piece, or nil if that is nothing.
func start(m policy.Material, messages []chat.Message) elements.Node {
	var lines []string
	clip := func(text string) string { return prompts.ClipWithin(m, text, m.Room/8) }
	for _, b := range plaintext.Blocks(messages, nil, nil) {
		lines = append(lines, b.Lines(clip, clip))
	}
	return textblock.Tagged(0, plaintext.StartTag, strings.Join(lines, "\n"))
}
