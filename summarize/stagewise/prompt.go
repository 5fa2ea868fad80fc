package stagewise

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Briefing is a prompt that shows the history as [CompactHistory] does and asks for a briefing in prose, recent topics
// in full and old ones in a few sentences. A briefing includes the previous one, which is condensed more if it takes
// more of the target. The answer is the briefing. The zero value is usable.
type Briefing struct {
	// Target is the number of characters (code points) that a briefing aims at. If [prompts.Characters] is
	// lower, that counts. Defaults to 30,000.
	Target int
	// Tools make the lines of calls. Defaults to [DefaultToolLines].
	Tools ToolLines
	// Mentions returns what a message refers to. None by default.
	Mentions prompts.Mentions
	// Packs leaves out what does not fit the model's window, in the order of [CompactHistory]. If it is not set, a
	// larger history is summarised in segments.
	Packs bool
}

const briefingTarget = 30_000

var briefingRole = `You write briefings for an agent that works with a user. The agent's memory of the older part of their conversation is
about to be taken away, and all it will have in its place is your briefing; the newest messages stay with it. Whatever you
leave out, it no longer knows.

You are given that older part. <user> is what the user said, with [attached: …] and [mentioned: …] for what came with it.
<assistant> is what the agent said, with a line in square brackets for each thing that it did with a tool; after ✗ stands
how it failed. <` + plaintext.PreviousHistoryTag.String() + `>, where there is one, is the briefing that was written before this one: nothing else is
left of what it tells.

Who is who
Speak to the agent: "you read", "you decided". The user is "the user", in the third person.

Form
A heading of the second level (## ) for each topic, and under it connected prose in paragraphs. No lists, no tables, no
blocks of code. Give the topics in the order in which they came up. Write Markdown and nothing around it: no introduction, no
closing words, and none of the tags above, not even <` + plaintext.PreviousHistoryTag.String() + `>.

How much of what
The older and the more settled a thing is, the shorter. What is long done gets two to four sentences: what was wanted, what came
of it, what must be remembered. What is recent or still being worked on is told in full: each step, each finding, each file, and
at the end how things stand now and what comes next.

Word for word
Copy these exactly and never paraphrase them: links of the form [](path:…), with all that is in them; other Markdown links;
what the user decided, prefers, demands or forbids; values of colours; structures of directories; settings and
configuration.`

// Prompt returns the prompt.
func (b Briefing) Prompt() policy.Prompt {
	return policy.Prompt{Mode: "briefing", Request: b.request, Asked: policy.AnswerForm{Headings: true}}
}

func (b Briefing) request(m policy.Material) elements.Node {
	target := cmp.Or(max(0, b.Target), briefingTarget)
	ask := "Write the briefing of the conversation above. Aim at %d characters. That is a goal and not a limit: rather be longer than lose a detail."
	if room := prompts.Characters(m); room > 0 && room <= target {
		target = room
		ask = "Write the briefing of the conversation above. Aim at %d characters. There is room for no more: rather tell what is settled in fewer words than leave out what is not."
	}
	return textblock.Request(briefingRole, elements.Nodes{
		CompactHistory{Props: textblock.Grow(), Messages: m.Covered, Data: m.Data, Previous: prompts.Earlier(m), Tools: b.Tools, Mentions: b.Mentions, Droppable: b.Packs},
		prompts.ContextBlock(m),
	}, textblock.Paragraph(fmt.Sprintf(ask, target)), textblock.Paragraph(budgetHint(prompts.Earlier(m), target)), prompts.Remarks(m))
}

// Shares of the target from which the previous briefing is tightened a little, and condensed.
const (
	condenseLightly = 0.60
	condense        = 0.85
)

// budgetHint returns what the model is to do with the previous briefing, by its share of the target.
func budgetHint(previous string, target int) string {
	if previous == "" {
		return ""
	}
	size := utf8.RuneCountInString(previous)
	share := float64(size) / float64(target)
	hint := fmt.Sprintf("The briefing before takes %d characters, %.0f%% of that. ", size, 100*share)
	switch {
	case share < condenseLightly:
		return hint + "There is room: take it over word for word, shorten nothing in it, and go on from there."
	case share < condense:
		hint += "Room gets scarce: tighten its oldest sections a little, and take over the rest as it is."
	default:
		hint += "There is little room left: condense its oldest sections, those about things that are wholly settled."
	}
	return hint + " Keep every one of its ## headings, every link of the form [](path:…), and what the user decided and what came" +
		" out, word for word. Leave its newest sections alone."
}

// replacement returns one user message with the briefing in <previous-chat-history>.
func replacement(m policy.Material) elements.Node {
	return elements.UserMessage{Props: textblock.Required(), Children: elements.Nodes{prompts.SummaryBlock(m, plaintext.PreviousHistoryTag.String()), prompts.Afterword(m)}}
}
