package entry

import (
	"fmt"
	"html"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/internal/sendable"
)

// Shown returns the message that represents the entry in a prompt, and false if there is none. A message represents
// itself. A shell command, a custom message and a branch summary become the user's words, each between tags that name
// it, and never a system message. A compaction replaces more than one entry, so it is not shown here.
func (e Entry) Shown() (chat.Message, bool) {
	switch b := e.Body.(type) {
	case Message:
		return b.Message, true
	case Shell:
		return b.shown(), !b.Hidden
	case CustomMessage:
		return b.shown(), sendable.HasAnswer(sendable.Parts(b.Content))
	case BranchSummary:
		return chat.UserMessage(tagged("branch-summary", "", branchPreamble+b.Text)), !sendable.Blank(b.Text)
	}
	return chat.Message{}, false
}

const branchPreamble = "The conversation went another way before it came back to this point. What was done there:\n\n"

func (b Shell) shown() chat.Message {
	var text strings.Builder
	text.WriteString("The user ran a command.\n")
	text.WriteString(tagged("command", "", b.Command))
	text.WriteByte('\n')
	output := b.Output
	if sendable.Blank(output) {
		output = sendable.NoOutput
	}
	text.WriteString(tagged("output", "", output))
	switch {
	case b.Cancelled:
		text.WriteString("\nIt was cancelled.")
	case b.ExitCode != 0:
		fmt.Fprintf(&text, "\nIt exited with code %d.", b.ExitCode)
	}
	return chat.UserMessage(text.String())
}

func (b CustomMessage) shown() chat.Message {
	const tag = "custom-message"
	open := "<" + tag
	if b.Name != "" {
		open += ` name="` + html.EscapeString(b.Name) + `"`
	}
	open += ">\n"
	parts := chat.Parts{chat.Text(open)}
	say := func(text string) { // adjacent texts are joined
		if last, ok := parts[len(parts)-1].(chat.Text); ok {
			parts[len(parts)-1] = last + chat.Text(text)
		} else {
			parts = append(parts, chat.Text(text))
		}
	}
	for _, p := range b.Content {
		if text, ok := p.(chat.Text); ok {
			say(untagged(tag, string(text)))
		} else {
			parts = append(parts, p)
		}
	}
	say("\n</" + tag + ">")
	return chat.Message{Role: chat.RoleUser, Content: parts}
}

// tagged puts a text between tags that it cannot close.
func tagged(tag, attributes, text string) string {
	return "<" + tag + attributes + ">\n" + strings.TrimSuffix(untagged(tag, text), "\n") + "\n</" + tag + ">"
}

// untagged escapes what looks like an end tag in a text.
func untagged(tag, text string) string { return strings.ReplaceAll(text, "</"+tag, "<\\/"+tag) }
