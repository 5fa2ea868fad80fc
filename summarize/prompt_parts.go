package summarize

import (
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
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

// besides is what must be said in a request besides the prompt's own words: notes about the model, what the user asks of the
// summary, and how much room there is.
func besides(m Material) elements.Node {
	var list elements.Nodes
	for _, note := range m.Notes {
		list = append(list, paragraph(note))
	}
	if m.Instructions != "" {
		list = append(list, paragraph("The user asks of the summary: "+m.Instructions))
	}
	return append(list, roomLeft(m))
}

// roomLeft says how long an answer may be at the most; nothing where no limit is known.
func roomLeft(m Material) elements.Node {
	if m.Words <= 0 {
		return nil
	}
	return elements.TextChunk{Props: kept, Children: elements.Nodes{
		elements.Textf("\nThere is room for %d tokens at the most; a longer answer is lost.", m.Words),
	}}
}

// contextLines are the lines that hooks add, as a list in a tag.
func contextLines(m Material) elements.Node {
	if len(m.Context) == 0 {
		return nil
	}
	lines := make([]string, len(m.Context))
	for i, line := range m.Context {
		lines[i] = "- " + strings.ReplaceAll(untaggedText(line), "\n", "\n  ")
	}
	return firm(tagged("additional-context", strings.Join(lines, "\n")))
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
		if words, ok := withoutWrapper(text); ok {
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
	return firm(tagged("previous-summary", untaggedText(m.earlier())))
}

// asTheyAre shows finished messages as they are.
func asTheyAre(messages []chat.Message) elements.Nodes {
	return elements.Map(messages, func(m chat.Message) elements.Node { return elements.Message(kept, m) })
}
