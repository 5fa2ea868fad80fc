package prompts

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
)

// Mentions returns the names of things that a message refers to besides its text, for example files that the user's
// editor attached. It finds them in the message, or in the data that the application keeps with it
// ([entry.Message].Data), which is nil if there is none.
type Mentions func(m chat.Message, data json.RawMessage) []string

// PlainHistory is an element that shows messages as text in one tag. Each message, call and result starts a line:
//
//	<conversation>
//	user: Why does the build fail?
//	assistant: I look.
//	call: read({"path":"go.mod"})
//	result: module example
//	  go 1.26
//	</conversation>
//
// Further lines are indented, so that no line of a text, of a tool's output above all, reads as if somebody else said
// it. Texts are unchanged, except for a backslash after the < of anything that would open or close the tag or one of
// this package's own. Other content is named in square brackets, and thinking is left out. A text that takes more than
// a quarter of [elements.Sizing].PromptBudget is cut in its middle, with a mark.
//
// The element is required unless it is Droppable. Then the messages of the assistant that do not fit are dropped, the
// oldest first, each with its calls and their results, and a line at the start says so. The user's messages stay; if
// there are none, the newest message stays.
type PlainHistory struct {
	elements.Props
	// Name of the tag. Defaults to "conversation".
	Name string
	// Messages to show; tool results are shown with their calls.
	Messages []chat.Message
	// Before is text in front of the messages in the tag, for example an earlier summary. It is never dropped. Tags of
	// this package in it stay, except the element's own. None by default.
	Before string
	// Results is the most tokens of a tool result, and of the arguments of a call. Defaults to a quarter of
	// [elements.Sizing].PromptBudget.
	Results int
	// Fill raises Results as long as everything fits the budget, up to a quarter of PromptBudget. Off by default.
	Fill bool
	// Data of the messages, for Mentions; nil if they have none ([policy.Material.Data]).
	Data []json.RawMessage
	// Mentions returns the names of what a message refers to. None by default.
	Mentions Mentions
	// Droppable drops messages that do not fit. By default it is an error if they do not fit.
	Droppable bool
}

// ElementProps returns the properties, with Required set unless the history is droppable.
func (t PlainHistory) ElementProps() elements.Props {
	t.Required = t.Required || !t.Droppable
	return t.Props
}

// Render returns the tag, or nil if there are no messages and no text before them.
func (t PlainHistory) Render(_ context.Context, s elements.Sizing) (elements.Node, error) {
	tag := plaintext.Named(cmp.Or(t.Name, plaintext.ConversationTag.String()))
	before := tag.Without(t.Before)
	list := plaintext.Blocks(t.Messages, t.Data, plaintext.Mentions(t.Mentions))
	most := max(1, s.PromptBudget/4)
	results := most
	if t.Results > 0 {
		results = min(t.Results, most)
	}
	sizes := map[string]int{} // tokens of results and arguments, as shown
	clip := func(limit int) func(string) string {
		return func(text string) string {
			if size, ok := sizes[text]; ok && size <= limit {
				return text
			}
			return history.Clip(s, text, limit, history.DefaultHead)
		}
	}
	texts := make([]string, len(list))
	whole := func(results int) string {
		var all strings.Builder
		all.WriteString(tag.Open() + "\n")
		if before != "" {
			all.WriteString(before + "\n")
		}
		for i, b := range list {
			if texts[i] = tag.Without(b.Lines(clip(most), clip(results))); texts[i] != "" {
				all.WriteString(texts[i] + "\n")
			}
		}
		return all.String() + tag.Close()
	}
	first := plaintext.LastToGo(list)
	all := whole(results)
	if t.Fill && results < most {
		if room := s.TokenBudget - s.CountText(all); room > 0 {
			limit := plaintext.Fill(list, s, sizes, results, most, room)
			for ; limit > results; limit -= max(1, limit/16) {
				if all = whole(limit); s.CountText(all) <= s.TokenBudget {
					break
				}
			}
			if limit <= results {
				all = whole(results)
			}
		}
	}
	var nodes elements.Nodes
	if before != "" {
		nodes = append(nodes, textblock.Line(before))
	}
	for i, text := range texts {
		if text == "" {
			continue
		}
		priority := i
		if list[i].Role == chat.RoleUser {
			priority += len(list) // the user's messages outlast the assistant's
		}
		nodes = append(nodes, textblock.Ranked{Text: text, Priority: priority, Required: i == first || list[i].Role == chat.RoleUser}.Node())
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	open := elements.Nodes{textblock.Line(tag.Open())}
	if t.Droppable && s.CountText(all) > s.TokenBudget {
		open = append(open, textblock.Line(textblock.NotAll))
	}
	return append(append(open, nodes...), textblock.Line(tag.Close())), nil
}
