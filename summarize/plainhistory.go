package summarize

import (
	"cmp"
	"context"
	"encoding/json"
	"sort"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
)

// Mentions names what a message refers to beside its text, such as files that the user's editor put with it. The application
// knows it, by the message or by the data that it keeps with it ([history.Message].Data), which is nil if there is none.
type Mentions func(m chat.Message, data json.RawMessage) []string

// PlainHistory is an element that shows messages as text in one tag, each thing that was said from a line of its own on:
//
//	<conversation>
//	user: Why does the build fail?
//	assistant: I look.
//	call: read({"path":"go.mod"})
//	result: module example
//	  go 1.26
//	</conversation>
//
// Further lines are indented, so that none of them, of a tool's output above all, reads as said by somebody else. Texts stand
// as they are, but for a backslash behind the < of what would open or close the tag, or one of this package's own. What is no text is named in square brackets; what a model
// thought is left out. One text takes at most a quarter of the window and is cut in its middle beyond that, with a mark.
//
// It is required unless it is Droppable. Of one that is, what does not fit goes in this order, the oldest first, and a line
// at the start says so: what the assistant did, each message with its calls and their results. What the user said stays,
// or, if that is nothing, the newest message.
type PlainHistory struct {
	elements.Props
	// Name of the tag. Defaults to "conversation".
	Name string
	// Messages that are shown, tool results with the calls they answer.
	Messages []chat.Message
	// Before stands before the messages in the tag, such as an earlier summary, and always stays. It keeps tags of this
	// package's own, but for the element's. Defaults to nothing.
	Before string
	// Results is the most tokens of a tool result, and of the arguments of a call. Defaults to a quarter of the window.
	Results int
	// Fill raises Results as far as everything fits the budget, up to a quarter of the window. Off by default.
	Fill bool
	// Data of the messages, for Mentions; nil if they have none ([Material.Data]).
	Data []json.RawMessage
	// Mentions names what a message refers to. Defaults to nothing.
	Mentions Mentions
	// Droppable lets what does not fit go. Else it is an error.
	Droppable bool
}

// ElementProps returns the properties, Required unless the history is droppable.
func (t PlainHistory) ElementProps() elements.Props {
	t.Required = t.Required || !t.Droppable
	return t.Props
}

// Render returns the tag. Without messages, and anything before them, there is none.
func (t PlainHistory) Render(_ context.Context, s elements.Sizing) (elements.Node, error) {
	name := cmp.Or(t.Name, plaintext.ConversationTag)
	own := plaintext.MatchTags(name)
	before := own.ReplaceAllString(t.Before, `<\$1`)
	harmless := func(text string) string { return own.ReplaceAllString(plaintext.Untagged(text), `<\$1`) }
	list := plaintext.Blocks(t.Messages, t.Data, plaintext.Mentions(t.Mentions))
	most := max(1, s.PromptBudget/4)
	results := most
	if t.Results > 0 {
		results = min(t.Results, most)
	}
	sizes := map[string]int{} // of results and arguments, as they are shown
	clip := func(limit int) func(string) string {
		return func(text string) string {
			if size, ok := sizes[text]; ok && size <= limit {
				return text
			}
			return history.Clip(s, text, limit, 0.4)
		}
	}
	texts := make([]string, len(list))
	whole := func(results int) string {
		var all strings.Builder
		all.WriteString("<" + name + ">\n")
		if before != "" {
			all.WriteString(before + "\n")
		}
		for i, b := range list {
			if texts[i] = harmless(b.Lines(clip(most), clip(results))); texts[i] != "" {
				all.WriteString(texts[i] + "\n")
			}
		}
		return all.String() + "</" + name + ">"
	}
	first := plaintext.LastToGo(list)
	all := whole(results)
	if t.Fill && results < most {
		if room := s.TokenBudget - s.CountText(all); room > 0 {
			limit := fill(list, s, sizes, results, most, room)
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
			priority += len(list) // what the user said outlasts what was done about it
		}
		nodes = append(nodes, textblock.Ranked{Text: text, Priority: priority, Required: i == first || list[i].Role == chat.RoleUser}.Node())
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	open := elements.Nodes{textblock.Line("<" + name + ">")}
	if t.Droppable && s.CountText(all) > s.TokenBudget {
		open = append(open, textblock.Line(textblock.NotAll))
	}
	return append(append(open, nodes...), textblock.Line("</"+name+">")), nil
}

// fill returns about the most tokens that each result, and the arguments of each call, may take so that all of them take at most
// room more than at least tokens each. It counts each text once, and notes what it takes.
func fill(list []plaintext.Block, s elements.Sizing, sizes map[string]int, least, most, room int) int {
	type size struct {
		tokens int
		grows  float64 // by its indent
	}
	var texts []size
	for _, b := range list {
		for _, c := range b.Calls {
			for _, text := range [...]string{c.Arguments, c.Result} {
				grows := 1 + float64(len(plaintext.Indent)*strings.Count(text, "\n"))/float64(max(1, len(text)))
				switch {
				case len(text) <= least: // no token is shorter than a byte
				case (len(text)-1<<20)/128 > most: // it is dear to count, and takes more than that
					texts = append(texts, size{most, grows})
				default:
					sizes[text] = s.CountText(text)
					texts = append(texts, size{sizes[text], grows})
				}
			}
		}
	}
	return least + sort.Search(most-least, func(more int) bool {
		taken := 0.0
		for _, t := range texts {
			taken += t.grows * float64(max(0, min(t.tokens, least+more+1)-least))
		}
		return taken > float64(room)
	})
}
