package entry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/internal/plaintext"
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
		return b.shown(), !sendable.Blank(b.Text)
	}
	return chat.Message{}, false
}

const branchPreamble = "The conversation went another way before it came back to this point. What was done there:\n\n"

// shown returns the summary and the files, one a line.
func (b BranchSummary) shown() chat.Message {
	text := branchPreamble + plaintext.Outside(b.Text)
	for _, list := range [...]struct {
		tag   plaintext.Tag
		paths []string
	}{{plaintext.ReadTag, b.Files.Read}, {plaintext.ModifiedTag, b.Files.Modified}} {
		if len(list.paths) > 0 {
			paths := plaintext.PathLines(slices.Sorted(slices.Values(list.paths)))
			text += "\n\n" + list.tag.Holding(strings.Join(paths, "\n"))
		}
	}
	return chat.UserMessage(plaintext.BranchTag.Holding(text))
}

func (s Shell) shown() chat.Message {
	output := s.Output
	if sendable.Blank(output) {
		output = sendable.NoOutput
	}
	text := "The user ran a command.\n" + plaintext.CommandTag.Around(s.Command) + "\n" + plaintext.OutputTag.Around(output)
	switch {
	case s.Cancelled:
		text += "\nIt was cancelled."
	case s.ExitCode != 0:
		text += fmt.Sprintf("\nIt exited with code %d.", s.ExitCode)
	}
	return chat.UserMessage(text)
}

func (m CustomMessage) shown() chat.Message {
	var parts chat.Parts
	switch {
	case m.Role == chat.RoleSystem:
		parts = plaintext.SystemTag.Parts(m.Content)
	case m.Role == chat.RoleTool:
		parts = plaintext.ResultTag.Parts(m.Content)
	case m.Name == "":
		parts = plaintext.CustomTag.Parts(m.Content)
	default:
		parts = plaintext.CustomTag.Parts(m.Content, "name", m.Name)
	}
	return chat.Message{Role: chat.RoleUser, Content: parts}
}
