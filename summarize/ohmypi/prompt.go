package ohmypi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Handoff is a prompt that shows the history as text and asks for notes by which another agent can go on. The first
// compaction has one wording, and later ones another, which brings the previous notes up to date. If a turn is cut and
// there is room for two summaries, the beginning of the turn is summarised in a second request, and both are joined.
// Last, the model is asked for a line for people. The answer is the summary. The zero value is usable.
type Handoff struct {
	// Ask replaces the prompt's own wording of what to write, for the first compaction and for later ones.
	Ask string
	// Results is the most tokens that a tool result or a call's arguments may take. Defaults to
	// [policy.Material.ResultTokens].
	Results int
	// Mentions returns what a message refers to. None by default.
	Mentions prompts.Mentions
	// Question demands the user's open question or request at the end of the notes, word for word. Off by default.
	Question bool
	// Packs leaves out what does not fit the model's window, in the order of [prompts.PlainHistory]. If it is not set,
	// a larger history is summarised in segments.
	Packs bool
}

const form = `Use these headings, and leave out none of them; write "none" under one for which there is nothing:

## Goal
What the user wants to reach, all of it if there is more than one thing.

## Constraints
What the user demanded, preferred or ruled out.

## Progress
### Done
### In progress
### Blocked

## Decisions
Each with the reason for it.

## Next steps
In the order in which they are to be taken.

## Needed to go on
Data, references, names and findings without which the next steps cannot be done.

Be brief. Paths, names of functions and texts of errors stay exact.`

const first = `Write notes on the conversation above, from which another agent, that has not seen it, can carry on with the work.

` + form

const update = `The conversation above continues the one that the notes in <previous-summary> are about. Bring those notes up to date:

- keep what they say unless it has changed;
- add what was done, decided and found since;
- move what has been finished from "In progress" to "Done", and drop what is no longer blocked;
- set the next steps by where things stand now;
- drop what nobody needs any more, and nothing else.

` + form

const openQuestion = `If the user's last question or request is still open, end the notes with the heading "## Open question" and quote it there
word for word.`

const prefixAsk = `Above is only the beginning of what the agent did for one request of the user: the rest is kept as it is and will
follow your notes. Write what is needed to understand that rest, under these headings, in few words:

## Request
What the user asked for in this turn.

## So far
What was done and decided in this beginning.

## For what follows
What of it the rest builds on.`

const titleAsk = `Say in one short sentence, in the first person and past tense as the agent would, what was done according to the notes
above, in the language in which they are written. No heading, no quotation marks, no more than a dozen words.`

// Prompt returns the prompt.
func (h Handoff) Prompt() policy.Prompt {
	return policy.Prompt{
		Mode: "handoff", Request: h.request, Asked: policy.AnswerForm{Headings: h.Ask == ""}, Drops: h.Packs,
		Prefix: h.prefix, Merge: merge, Title: titleRequest,
	}
}

func (h Handoff) request(m policy.Material) elements.Node {
	ask := first
	if prompts.Earlier(m) != "" {
		ask = update
	}
	ask = cmp.Or(h.Ask, ask)
	if h.Question {
		ask += "\n\n" + openQuestion
	}
	return textblock.Request(textblock.NotesRole, elements.Nodes{
		h.history(m, m.Covered, m.Data), prompts.EarlierBlock(m), prompts.ContextBlock(m),
	}, textblock.Paragraph(ask), prompts.Remarks(m))
}

func (h Handoff) prefix(m policy.Material) elements.Node {
	return textblock.Request(textblock.NotesRole, elements.Nodes{h.history(m, m.TurnPrefix, m.Data[max(0, len(m.Data)-len(m.TurnPrefix)):]), prompts.EarlierBlock(m), prompts.ContextBlock(m)}, textblock.Paragraph(prefixAsk), prompts.Remarks(m))
}

func (h Handoff) history(m policy.Material, messages []chat.Message, data []json.RawMessage) elements.Node {
	results := cmp.Or(max(0, h.Results), m.ResultTokens)
	return prompts.PlainHistory{Props: textblock.Grow(), Messages: messages, Data: data, Results: results, Mentions: h.Mentions, Droppable: h.Packs}
}

// merge joins the summary of the history before the cut turn and that of the turn's beginning.
func merge(history, prefix string) string {
	if strings.TrimSpace(history) == "" {
		history = "No prior history."
	}
	return history + "\n\n---\n\n**Turn Context (split turn):**\n\n" + prefix
}

// titleRequest returns the request for a line about a summary.
func titleRequest(m policy.Material) elements.Node {
	return textblock.Request(textblock.NotesRole, elements.Nodes{
		textblock.Line(plaintext.SummaryTag.Around(m.Summary)),
	}, textblock.Paragraph(titleAsk))
}

// replacement returns one user message: the summary, and the lists of files that were read and modified since the
// session began, a file a line. If there is too little room, files are left out: read files before modified ones, and
// from the end of each list.
func replacement(m policy.Material) elements.Node {
	return elements.UserMessage{Children: elements.Nodes{
		textblock.Line("The conversation before this point was compacted into this summary:"),
		prompts.SummaryBlock(m, plaintext.SummaryTag.String()),
		fileList(1, plaintext.ReadTag, m.Files.Read),
		fileList(2, plaintext.ModifiedTag, m.Files.Modified),
		filesLeft(m.Files.Left),
		prompts.Afterword(m),
	}}
}

// filesLeft returns a line with the number of files that are not listed, or nil if all are.
func filesLeft(n int) elements.Node {
	if n == 0 {
		return nil
	}
	return textblock.Ranked{Text: fmt.Sprintf("[about %d more files, which were read or modified before those, are not listed]", n), Priority: 1}.Node()
}

// fileList returns files in a tag, one a line, or nil if there are none.
func fileList(priority int, tag plaintext.Tag, paths []string) elements.Node {
	if len(paths) == 0 {
		return nil
	}
	lines := make([]textblock.Ranked, len(paths))
	for i, line := range plaintext.PathLines(slices.Sorted(slices.Values(paths))) {
		lines[i] = textblock.Ranked{Text: line, Priority: len(paths) - i}
	}
	return textblock.List(elements.Props{Priority: new(priority)}, tag, lines)
}
