package summarize

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
)

// Earlier returns the summary of what was compacted before, recovered from what was put in place if its words were not kept
// apart. It is "" at the first compaction.
func (m Material) Earlier() string {
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

// EarlierBlock returns the summary of what was compacted before in the tag previous-summary; nil at the first compaction.
func (m Material) EarlierBlock() elements.Node {
	if m.Earlier() == "" {
		return nil
	}
	return textblock.Line(plaintext.Tagged(plaintext.PreviousSummaryTag, plaintext.Untagged(m.Earlier())))
}

// ContextBlock returns the lines that hooks add as a list in the tag additional-context; nil if there are none.
func (m Material) ContextBlock() elements.Node {
	if len(m.Context) == 0 {
		return nil
	}
	lines := make([]string, len(m.Context))
	for i, line := range m.Context {
		lines[i] = "- " + strings.ReplaceAll(plaintext.Untagged(line), "\n", "\n  ")
	}
	return textblock.Line(plaintext.Tagged("additional-context", strings.Join(lines, "\n")))
}

// language says in which language a text is written.
const language = "Write in the language of the conversation."

// Remarks returns what a request says besides the prompt's own words: that the summary is in the language of the conversation,
// notes about the model, what the user asks of the summary, and how much room there is.
func (m Material) Remarks() elements.Node {
	return elements.Nodes{textblock.Paragraph(language), m.wishes()}
}

// wishes returns the remarks but for the language.
func (m Material) wishes() elements.Nodes {
	var list elements.Nodes
	for _, note := range m.Notes {
		list = append(list, textblock.Paragraph(note))
	}
	if m.Instructions != "" {
		list = append(list, textblock.Paragraph("The user asks of the summary: "+m.Instructions))
	}
	if m.Words > 0 {
		list = append(list, textblock.Paragraph(fmt.Sprintf("There is room for %d tokens at the most; what is longer is cut.", m.Words)))
	}
	return list
}

// SummaryBlock returns the summary between tags, word for word but for what looks like one of promptree's own tags.
func (m Material) SummaryBlock(tag string) elements.Node {
	return textblock.Line(plaintext.Tagged(tag, plaintext.Untagged(m.Summary)))
}

// Afterword returns what follows a summary: where the transcript lies, and what the agent's model must be told.
func (m Material) Afterword() elements.Nodes {
	return elements.Nodes{textblock.Line(m.Breadcrumb.breadcrumb()), textblock.Line(m.Reminder)}
}

// Clip cuts the middle out of a text that takes more tokens, with a mark.
func (m Material) Clip(text string, tokens int) string {
	return history.Clip(m.Tokenizer, text, max(1, tokens), 0.4)
}
