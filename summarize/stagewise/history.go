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
//	[attached: image image/png, 2048 bytes]
//	[mentioned: go.mod]
//	Why does the build fail?
//	</user>
//	<assistant>
//	I look.
//	[read: go.mod]
//	[shell: go build → exit 1 ✗ undefined: x]
//	[tool-deploy]
//	</assistant>
//
// Each message has a tag of its own, which holds its attachments in one line, what it mentions, its texts, each on lines
// of its own, and its calls. Texts are unchanged, with two exceptions: a backslash follows the < of one of this
// package's own tags, and precedes a line in square brackets, so that no text looks like a tool call. Thinking is left
// out, and so is tool output unless the call's line has it. One text takes at most a quarter of the window; the middle
// of a longer one is cut, with a mark.
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
	list := plaintext.Blocks(apart(t.Messages), t.Data, plaintext.Mentions(t.Mentions))
	first := plaintext.LastToGo(list)
	var nodes elements.Nodes
	var all strings.Builder // the whole text
	if strings.TrimSpace(t.Previous) != "" {
		text := plaintext.PreviousHistoryTag.Around(t.Previous)
		nodes = append(nodes, textblock.Line(text))
		all.WriteString(text + "\n")
	}
	for i, b := range list {
		tag, worth := plaintext.AssistantTag, priorityAssistant
		switch b.Role {
		case chat.RoleUser:
			tag, worth = plaintext.UserTag, priorityUser
		case chat.RoleSystem:
			tag = plaintext.SystemTag
		}
		var pieces []textblock.Ranked
		add := func(text string, worth int) {
			if strings.TrimSpace(text) != "" {
				all.WriteString(text + "\n")
				pieces = append(pieces, textblock.Ranked{Text: text, Priority: worth*len(list) + i, Required: i == first || worth == priorityUser})
			}
		}
		text := plaintext.Shortened(strings.Trim(b.Text, "\n"), func(text string) string {
			return history.Clip(s, text, max(1, s.PromptBudget/4), history.DefaultHead)
		})
		notes := strings.ReplaceAll(strings.Join(b.Notes, "\n"), "]\n[attached: ", ", ")
		add(strings.Trim(notes+"\n"+text, "\n"), worth)
		for _, c := range b.Calls {
			add(plaintext.Outside(tools.line(Call(c))), priorityTool)
		}
		if len(pieces) > 0 {
			all.WriteString(tag.Open() + "\n" + tag.Close() + "\n")
			nodes = append(nodes, textblock.List(elements.Props{PassPriority: true}, tag, pieces))
		}
	}
	if t.Droppable && len(nodes) > 0 && s.CountText(strings.TrimSpace(all.String())) > s.TokenBudget {
		nodes = slices.Insert(nodes, 0, textblock.Line(textblock.NotAll))
	}
	return nodes, nil
}

// apart returns messages whose texts each end a line.
func apart(messages []chat.Message) []chat.Message {
	list := slices.Clone(messages)
	for i, m := range list {
		list[i].Content = slices.Clone(m.Content)
		for k, p := range m.Content {
			if text, ok := p.(chat.Text); ok && len(m.Content) > 1 && m.Role != chat.RoleTool {
				list[i].Content[k] = text + "\n"
			}
		}
	}
	return list
}

// Priorities of pieces. Those with the lowest are left out first.
const (
	priorityTool = iota
	priorityAssistant
	priorityUser
)
