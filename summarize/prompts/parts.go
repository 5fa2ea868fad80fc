package prompts

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/internal/breadcrumb"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Earlier returns the summary of the history that was compacted before, "" at the first compaction. If its words were
// not stored, they are taken from the messages in its place.
func Earlier(m policy.Material) string {
	if m.PreviousSummary != "" {
		return m.PreviousSummary
	}
	texts := make([]string, 0, len(m.Previous))
	for _, said := range m.Previous {
		text := said.Text()
		if words, ok := plaintext.Summary(text); ok {
			text = words
		}
		texts = append(texts, text)
	}
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}

// EarlierBlock returns the earlier summary in the tag previous-summary; nil at the first compaction.
func EarlierBlock(m policy.Material) elements.Node {
	if Earlier(m) == "" {
		return nil
	}
	return textblock.Line(plaintext.PreviousSummaryTag.Around(Earlier(m)))
}

// ContextBlock returns the lines that hooks add as a list in the tag additional-context; nil if there are none.
func ContextBlock(m policy.Material) elements.Node {
	if len(m.Context) == 0 {
		return nil
	}
	lines := make([]string, len(m.Context))
	for i, line := range m.Context {
		lines[i] = "- " + strings.ReplaceAll(plaintext.Outside(line), "\n", "\n  ")
	}
	return textblock.Line(plaintext.ContextTag.Holding(strings.Join(lines, "\n")))
}

// language asks for the conversation's own language.
const language = "Write in the language of the conversation."

// Remarks returns the parts of a request that do not depend on the prompt: write in the language of the conversation,
// the notes for the model, the user's instructions, and the room for the summary.
func Remarks(m policy.Material) elements.Node {
	return elements.Nodes{textblock.Paragraph(language), otherRemarks(m)}
}

// demands returns the notes for the model and the user's instructions.
func demands(m policy.Material) (list elements.Nodes) {
	for _, note := range m.Notes {
		list = append(list, textblock.Paragraph(note))
	}
	if m.Instructions != "" {
		list = append(list, textblock.Paragraph("The user asks of the summary: "+plaintext.Outside(m.Instructions)))
	}
	return list
}

// otherRemarks returns the remarks without the language.
func otherRemarks(m policy.Material) elements.Nodes {
	list := demands(m)
	if m.Words > 0 {
		list = append(list, textblock.Paragraph(fmt.Sprintf("There is room for %d tokens at the most; what is longer is cut.", m.Words)))
	}
	return list
}

// SummaryBlock returns the summary in a tag, word for word, except that
// what reads as one of promptree's own tags or marks is made harmless.
func SummaryBlock(m policy.Material, tag string) elements.Node {
	return textblock.Line(plaintext.Named(tag).Around(m.Summary))
}

// Afterword returns the text that follows a summary: the breadcrumb, and the reminder for the agent's model.
func Afterword(m policy.Material) elements.Nodes {
	return elements.Nodes{textblock.Line(breadcrumb.Text(m.Breadcrumb)), textblock.Line(m.Reminder)}
}

// Pinned returns one user message with the pinned entries, each in a tag.
func Pinned(m policy.Material) elements.Node {
	var lines elements.Nodes
	for _, p := range m.Pinned {
		if p.Text != "" {
			lines = append(lines, textblock.Line(PinnedText(p)))
		}
	}
	return elements.UserMessage{Props: elements.Props{Required: true}, Children: lines}
}

// PinnedText returns a pinned entry in its tag.
func PinnedText(p policy.PinnedEntry) string {
	return plaintext.PinnedTag.Holding(p.Text, "entry", p.Entry, "role", string(p.Role))
}

// ClipWithin cuts the middle out of a text that takes more than the given tokens, and marks the place.
func ClipWithin(m policy.Material, text string, tokens int) string {
	return history.Clip(m.Tokenizer, text, max(1, tokens), history.DefaultHead)
}
