package stagewise

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize"
)

// CompactHistory is an element that shows messages as text: what was said in full, what tools did in a line each.
//
//	<previous-chat-history>
//	…
//	</previous-chat-history>
//	<user>
//	Why does the build fail?
//	[attached: image image/png, 2048 bytes]
//	[mentioned: go.mod]
//	</user>
//	<assistant>
//	I look.
//	[read: go.mod]
//	[shell: go build → exit 1 ✗ undefined: x]
//	[tool-deploy]
//	</assistant>
//
// What an assistant said and did from one user message to the next stands in one tag. Texts stand as they are, but for a
// backslash behind the < of what would open or close one of this package's own tags, and one before a line that stands in
// square brackets: what tools did is told by the serialiser alone. What a model thought is left out, and so is what a tool gave unless its
// line tells it. One text takes at most a quarter of the window and is cut in its middle beyond that, with a mark.
//
// It is required unless it is Droppable. Of one that is, what does not fit goes in this order, the oldest first, and a line
// at the start says so: what tools did; what the assistant said. What went before stays, and what the user said with what was
// attached, or, if that is nothing, the newest thing.
type CompactHistory struct {
	elements.Props
	// Messages that are shown, tool results with the calls they answer.
	Messages []chat.Message
	// Previous is the summary of what went before, in the tag previous-chat-history. Defaults to none.
	Previous string
	// Tools tell what calls did. Defaults to [DefaultToolLines].
	Tools ToolLines
	// Data of the messages, for Mentions; nil if they have none ([summarize.Material].Data).
	Data []json.RawMessage
	// Mentions names what a message refers to. Defaults to nothing.
	Mentions summarize.Mentions
	// Droppable lets what does not fit go. Else it is an error.
	Droppable bool
}

// ElementProps returns the properties, Required unless the history is droppable.
func (t CompactHistory) ElementProps() elements.Props {
	t.Required = t.Required || !t.Droppable
	return t.Props
}

// Render returns the tags.
func (t CompactHistory) Render(_ context.Context, s elements.Sizing) (elements.Node, error) {
	tools := t.Tools
	if tools == nil {
		tools = DefaultToolLines()
	}
	list := plaintext.Blocks(t.Messages, t.Data, plaintext.Mentions(t.Mentions))
	first := plaintext.LastToGo(list)
	var nodes elements.Nodes
	var all strings.Builder // as it would be
	if strings.TrimSpace(t.Previous) != "" {
		text := plaintext.Tagged(plaintext.PreviousHistoryTag, plaintext.Untagged(t.Previous))
		nodes = append(nodes, textblock.Line(text))
		all.WriteString(text + "\n")
	}
	speaker := "" // who speaks now
	var said []textblock.Ranked
	end := func() {
		if len(said) > 0 {
			nodes = append(nodes, textblock.List(elements.Props{PassPriority: true}, speaker, said))
			said = nil
		}
	}
	add := func(role chat.Role, text string, worth, i int) {
		if strings.TrimSpace(text) == "" {
			return
		}
		name := string(role)
		if role == chat.RoleTool {
			name = string(chat.RoleAssistant)
		}
		if speaker != name || role == chat.RoleUser && worth == worthUser {
			end()
			speaker = name
			all.WriteString("<" + name + ">\n</" + name + ">\n")
		}
		text = plaintext.Untagged(text)
		all.WriteString(text + "\n")
		said = append(said, textblock.Ranked{Text: text, Priority: worth*len(list) + i, Required: i == first || worth == worthUser})
	}
	for i, b := range list {
		worth := worthAssistant
		if b.Role == chat.RoleUser {
			worth = worthUser
		}
		text := plaintext.Shortened(strings.Trim(b.Text, "\n"), func(text string) string {
			return history.Clip(s, text, max(1, s.PromptBudget/4), 0.4)
		})
		text = strings.Join(append([]string{text}, b.Notes...), "\n")
		add(b.Role, strings.TrimPrefix(text, "\n"), worth, i)
		for _, c := range b.Calls {
			add(b.Role, tools.line(Call(c)), worthTool, i)
		}
	}
	end()
	if t.Droppable && len(nodes) > 0 && s.CountText(strings.TrimSpace(all.String())) > s.TokenBudget {
		nodes = slices.Insert(nodes, 0, textblock.Line(textblock.NotAll))
	}
	return nodes, nil
}

// What things are worth: the lowest goes first.
const (
	worthTool = iota
	worthAssistant
	worthUser
)
