package summarize

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// kept are the properties of what a request cannot do without.
var kept = elements.Props{Required: true}

// paragraph is a text after an empty line, that stays.
func paragraph(text string) elements.Node {
	return elements.TextChunk{Props: kept, Children: elements.Nodes{elements.Text("\n" + text)}}
}

// textRequest is a request with the history as text: what the model is to be, the history, and what is asked about it. The
// history is laid out last, so that it knows what room it has.
func textRequest(system string, history elements.Nodes, ask ...elements.Node) elements.Node {
	return elements.Fragment{
		elements.SystemMessage{Props: kept, Children: elements.Nodes{elements.Text(system)}},
		elements.UserMessage{Props: elements.Props{FlexGrow: 1}, Children: append(history, ask...)},
	}
}

// grow are the properties of a history in a [textRequest].
var grow = elements.Props{FlexGrow: 1}

// language says in which language a text is written.
const language = "Write in the language of the conversation."

// besides is what must be said in a request besides the prompt's own words: the language, notes about the model, what the user
// asks of the summary, and how much room there is.
func besides(m Material) elements.Node {
	return elements.Nodes{paragraph(language), remarks(m), roomLeft(m)}
}

// remarks are notes about the model, and what the user asks of the summary.
func remarks(m Material) elements.Nodes {
	var list elements.Nodes
	for _, note := range m.Notes {
		list = append(list, paragraph(note))
	}
	if m.Instructions != "" {
		list = append(list, paragraph("The user asks of the summary: "+m.Instructions))
	}
	return list
}

// roomLeft says how long an answer may be at the most; nothing where no limit is known.
func roomLeft(m Material) elements.Node {
	if m.Words <= 0 {
		return nil
	}
	return paragraph(fmt.Sprintf("There is room for %d tokens at the most; what is longer is cut.", m.Words))
}

// contextLines are the lines that hooks add, as a list in a tag.
func contextLines(m Material) elements.Node {
	if len(m.Context) == 0 {
		return nil
	}
	lines := make([]string, len(m.Context))
	for i, line := range m.Context {
		lines[i] = "- " + strings.ReplaceAll(plaintext.Untagged(line), "\n", "\n  ")
	}
	return firm(plaintext.Tagged("additional-context", strings.Join(lines, "\n")))
}

// earlier is the summary of what went before, recovered from what was put in place where its words were not kept apart; ""
// at the first compaction.
func (m Material) earlier() string {
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

// previousBlock is the summary of what went before, in a tag; nothing at the first compaction.
func previousBlock(m Material) elements.Node {
	if m.earlier() == "" {
		return nil
	}
	return firm(plaintext.Tagged(plaintext.PreviousSummaryTag, plaintext.Untagged(m.earlier())))
}

// asTheyAre shows finished messages as they are.
func asTheyAre(messages []chat.Message) elements.Nodes {
	return elements.Map(messages, func(m chat.Message) elements.Node { return elements.Message(kept, m) })
}

// inWords are messages for a model that summarises: their texts and calls. A note names each image and document, and what a
// model thought, and what only a provider reads, is left out.
func inWords(messages []chat.Message) []chat.Message {
	list := make([]chat.Message, 0, len(messages))
	for _, m := range messages {
		var parts chat.Parts
		for _, p := range m.Content {
			switch p := p.(type) {
			case chat.Text:
				parts = append(parts, p)
			case chat.Image, chat.Document:
				parts = append(parts, chat.Text(plaintext.Attached(p)))
			}
		}
		if len(parts) == 0 && (m.Role == chat.RoleUser || m.Role == chat.RoleTool) {
			for _, p := range m.Content { // of something there must be a message
				parts = append(parts, chat.Text(plaintext.Attached(p)))
			}
		}
		if m.Content = parts; len(parts) > 0 || len(m.ToolCalls) > 0 {
			list = append(list, m)
		}
	}
	return list
}
