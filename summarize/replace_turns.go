package summarize

import (
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// TurnsSummary puts in place what is kept of the very start, and the summary of the turns after it. It is that of A3S, which
// keeps the first two messages.
//
// What the user said there is a message of its own, word for word. What the agent said and did there is told in the text of
// the summary's message, for what stands for history is the user's. Where there is no room the start goes, first what the
// agent did. Of a turn that is cut the first message is not put in place, for it is shown all the same.
func TurnsSummary(m Material) elements.Node {
	var users elements.Nodes
	var others []chat.Message
	for _, said := range m.head() {
		if said.Role == chat.RoleUser {
			users = append(users, elements.Message(elements.Props{Priority: new(2)}, said))
		} else {
			others = append(others, said)
		}
	}
	return elements.Fragment{
		users,
		elements.UserMessage{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{
			start(m, others),
			firm("The turns that followed were compacted into this summary:"),
			summaryBlock("conversation-summary", m), afterwards(m),
		}},
	}
}

// start is what the agent said and did at the very start, which goes in one piece; nothing where it did nothing.
func start(m Material, messages []chat.Message) elements.Node {
	var lines []string
	clip := func(text string) string { return m.clipTo(text, 8) }
	for _, b := range blocks(messages, nil) {
		lines = append(lines, plainLines(b, clip, clip))
	}
	return part(0, "conversation-start", strings.Join(lines, "\n"))
}
