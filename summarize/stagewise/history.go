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
	"github.com/promptree-go/promptree/summarize/prompts"
)

// CompactHistory is an element that shows messages as text: their texts in full, and each tool call as a line.
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
// One tag holds what an assistant said and did from one user message to the next. Texts are unchanged, with two
// exceptions: a backslash follows the < of one of this package's own tags, and precedes a line in square brackets, so
// that no text looks like a tool call. Thinking is left out, and so is tool output unless the call's line has it. One
// text takes at most a quarter of the window; the middle of a longer one is cut, with a mark.
//
// The element is required unless it is Droppable. Then what does not fit is left out, and a line at the start says so:
// first tool calls, then the assistant's texts, the oldest first. The previous summary and the user's texts with their
// attachments stay, or the newest piece if there are none.
type CompactHistory struct {
	elements.Props
	// Messages to show, tool results with the calls that they answer.
	Messages []chat.Message
	// Previous is the summary of earlier history, shown in the tag previous-chat-history. None by default.
	Previous string
	// Tools make the lines of calls. Defaults to [DefaultToolLines].
	Tools ToolLines
	// Data of the messages, for Mentions; nil if they have none ([policy.Material].Data).
	Data []json.RawMessage
	// Mentions returns what a message refers to. None by default.
	Mentions prompts.Mentions
	// Droppable lets pieces that do not fit be left out. If it is not set, they are an error.
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
	var all strings.Builder // the whole text
	if strings.TrimSpace(t.Previous) != "" {
		text := plaintext.Tagged(plaintext.PreviousHistoryTag, plaintext.Untagged(t.Previous))
		nodes = append(nodes, textblock.Line(text))
		all.WriteString(text + "\n")
	}
	speaker := "" // of the open tag
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
		if speaker != name || role == chat.RoleUser && worth == priorityUser {
			end()
			speaker = name
			all.WriteString("<" + name + ">\n</" + name + ">\n")
		}
		text = plaintext.Untagged(text)
		all.WriteString(text + "\n")
		said = append(said, textblock.Ranked{Text: text, Priority: worth*len(list) + i, Required: i == first || worth == priorityUser})
	}
	for i, b := range list {
		worth := priorityAssistant
		if b.Role == chat.RoleUser {
			worth = priorityUser
		}
		text := plaintext.Shortened(strings.Trim(b.Text, "\n"), func(text string) string {
			return history.Clip(s, text, max(1, s.PromptBudget/4), history.DefaultHead)
		})
		text = strings.Join(append([]string{text}, b.Notes...), "\n")
		add(b.Role, strings.TrimPrefix(text, "\n"), worth, i)
		for _, c := range b.Calls {
			add(b.Role, tools.line(Call(c)), priorityTool, i)
		}
	}
	end()
	if t.Droppable && len(nodes) > 0 && s.CountText(strings.TrimSpace(all.String())) > s.TokenBudget {
		nodes = slices.Insert(nodes, 0, textblock.Line(textblock.NotAll))
	}
	return nodes, nil
}

// Priorities of pieces. Those with the lowest are left out first.
const (
	priorityTool = iota
	priorityAssistant
	priorityUser
)
