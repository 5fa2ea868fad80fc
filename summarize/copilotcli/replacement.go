package copilotcli

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// CompactedSession makes a replacement of one user message with all that the agent works with: the summary, copies of
// the user's messages, the plan, the todo list, the skills that were invoked and what a custom agent does. The zero
// value is usable.
//
// The summary always stays. If there is too little room, the other parts are left out in this order: instructions of
// skills, the earliest invoked first; user messages, the oldest first, but the very first one last; the agent; the
// plan; the todo list; the names of the skills. A plan, a todo list or an agent that takes more than a quarter of the
// room is cut in its middle, and so are a skill's instructions that take more than an eighth, each with a mark.
type CompactedSession struct {
	// UserTokens is the maximum size of the copy of a user message, in tokens. A longer copy is cut in its middle, with
	// a mark. Defaults to 500.
	UserTokens int
	// UserShare is the share of the room that these copies may take, from 0 to 1. If that is too little, the first and
	// the newest are shown, and a line says how many are left out between them. Defaults to 0.3.
	UserShare float64
}

// Replacement returns the replacement.
func (c CompactedSession) Replacement(m policy.Material) elements.Node {
	children := elements.Nodes{
		textblock.Line("The conversation before this point was compacted. What follows stands for it."),
		prompts.SummaryBlock(m, "conversation-summary"),
	}
	if m.Room > 0 {
		children = append(children,
			c.users(m),
			textblock.Tagged(4, "plan", prompts.Clip(m, m.Plan, m.Room/4)),
			textblock.Tagged(5, "todo", prompts.Clip(m, m.Todo, m.Room/4)),
			skills(m),
			textblock.Tagged(3, "agent", prompts.Clip(m, m.Agent, m.Room/4)),
		)
	}
	return elements.UserMessage{Children: append(children, prompts.Afterword(m))}
}

// users returns copies of the user messages that are covered.
func (c CompactedSession) users(m policy.Material) elements.Node {
	each, share := c.UserTokens, c.UserShare
	if each <= 0 {
		each = 500
	}
	if share <= 0 {
		share = 0.3
	}
	said := m.Said
	texts := make([]string, len(said))
	total := 0
	show := func(i int) bool {
		text, notes := plaintext.Content(said[i])
		text = prompts.Clip(m, text, each)
		texts[i] = strings.Trim(strings.Join(append([]string{text}, notes...), "\n"), "\n")
		total += m.Tokenizer.CountText(texts[i])
		return total <= clamp.Share(share, m.Room)
	}
	if len(said) == 0 || !show(0) {
		return nil
	}
	newest := len(said)
	for newest > 1 && show(newest-1) {
		newest--
	}
	var list []textblock.Ranked
	for i := range said {
		if left := newest - 1 + m.SaidLeft; i == 1 && left > 0 {
			list = append(list, textblock.Ranked{Text: fmt.Sprintf("[%d messages of the user left out here]", left), Priority: len(said) + 1})
		}
		switch {
		case i > 0 && i < newest:
		case texts[i] != "":
			priority := i
			if i == 0 {
				priority = len(said)
			}
			list = append(list, textblock.Ranked{Text: plaintext.Tagged("user-message", plaintext.Untagged(texts[i])), Priority: priority})
		}
	}
	return textblock.List(elements.Props{Priority: new(2)}, "user-messages", list)
}

// skills returns the names and the instructions of the skills that were invoked.
func skills(m policy.Material) elements.Node {
	if len(m.Skills) == 0 {
		return nil
	}
	names := make([]string, len(m.Skills))
	var instructions []textblock.Ranked
	for i, s := range m.Skills {
		names[i] = plaintext.Untagged(plaintext.OneLine(s.Name, 100))
		if text := prompts.Clip(m, s.Instructions, m.Room/8); text != "" {
			text = fmt.Sprintf("<skill name=%q>\n%s\n</skill>", names[i], plaintext.Untagged(text))
			instructions = append(instructions, textblock.Ranked{Text: text, Priority: i})
		}
	}
	return elements.Nodes{
		textblock.Ranked{Text: "Skills that were invoked: " + strings.Join(names, ", "), Priority: 6}.Node(),
		textblock.List(elements.Props{Priority: new(1)}, "skills", instructions),
	}
}
