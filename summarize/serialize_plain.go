package summarize

import (
	"context"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
)

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
// Further lines are indented, so that none of them, of a tool's output above all, reads as said by somebody else, and
// &, < and > are escaped, so that no text closes the tag. What is no text is named in square brackets; what a model
// thought is left out. One text takes at most a quarter of the window and is cut in its middle beyond that, with a mark.
//
// It is required unless it is Droppable. Of one that is, what does not fit goes in this order, the oldest first, and a line
// at the start says so: what the assistant did, each message with its calls and their results; what the user said. The
// first message of the user stays, or, where there is none, the newest message.
type PlainHistory struct {
	elements.Props
	// Name of the tag. Defaults to "conversation".
	Name string
	// Messages that are shown, tool results with the calls they answer.
	Messages []chat.Message
	// Before is what stands before the messages in the tag, such as an earlier summary. What of it stays is its own to say.
	Before elements.Nodes
	// Results is the most tokens of a tool result, and of the arguments of a call. Defaults to a quarter of the window.
	Results int
	// Mentions names what a message refers to. Defaults to nothing.
	Mentions Mentions
	// Droppable lets what does not fit go. Else it is an error.
	Droppable bool
}

// ElementProps gives the properties, Required unless the history is droppable.
func (t PlainHistory) ElementProps() elements.Props {
	t.Required = t.Required || !t.Droppable
	return t.Props
}

// Render gives the tag. Without messages, and anything before them, there is none.
func (t PlainHistory) Render(_ context.Context, s sizing.Sizing) (elements.Node, error) {
	list := blocks(t.Messages, t.Mentions)
	if len(list) == 0 && len(t.Before) == 0 {
		return nil, nil
	}
	most := max(1, s.Window/4)
	results := most
	if t.Results > 0 {
		results = min(t.Results, most)
	}
	clip := func(limit int) func(string) string {
		return func(text string) string { return history.Clip(s, text, limit, 0.4) }
	}
	first := stays(list)
	nodes := make(elements.Nodes, 0, len(list)+1)
	var all strings.Builder
	for i, b := range list {
		text := plainLines(b, clip(most), clip(results))
		if text == "" {
			continue
		}
		all.WriteString(tagless.Replace(text) + "\n")
		priority := i
		if b.role == chat.RoleUser {
			priority += len(list) // what the user said outlasts what was done about it
		}
		nodes = append(nodes, piece(text, priority, i == first))
	}
	name := or(t.Name, "conversation")
	all.WriteString("<" + name + ">\n</" + name + ">")
	if t.Droppable && s.CountText(all.String()) > s.TokenBudget {
		nodes = slices.Insert(nodes, 0, piece(leftOut, 0, true))
	}
	return elements.Tag{Name: name, Children: append(slices.Clip(t.Before), nodes...)}, nil
}

// stays is the index of the block that is never dropped.
func stays(list []block) int {
	if i := slices.IndexFunc(list, func(b block) bool { return b.role == chat.RoleUser }); i >= 0 {
		return i
	}
	return len(list) - 1
}

// plainLines is a block as text, what is long in it cut.
func plainLines(b block, clip, clipResult func(string) string) string {
	var text strings.Builder
	say := func(kind, what string, notes []string) {
		what = strings.Join(append([]string{what}, notes...), "\n")
		what = strings.TrimRight(strings.TrimPrefix(what, "\n"), "\n")
		text.WriteString(kind + ": " + strings.ReplaceAll(what, "\n", "\n"+indent) + "\n")
	}
	if b.text != "" || len(b.notes) > 0 {
		say(string(b.role), shortened(b.text, clip), b.notes)
	}
	for _, c := range b.calls {
		if c.Name != "" {
			say("call", c.Name+"("+shortened(c.Arguments, clipResult)+")", nil)
		}
	}
	for _, c := range b.calls {
		switch {
		case c.Failed:
			say("error", shortened(c.Result, clipResult), c.Notes)
		case c.Answered:
			say("result", shortened(c.Result, clipResult), c.Notes)
		}
	}
	return strings.TrimSuffix(text.String(), "\n")
}
