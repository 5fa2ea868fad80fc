package prompts

import (
	"cmp"
	"iter"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
)

// ModeBranch is the mode of [BranchPrompt].
const ModeBranch policy.Mode = "branch"

const branchAsk = `The user left this line of work and went back to an earlier point of the conversation, to go on from there in another
way. Write notes on what was tried here, so that it need not be tried or found out again:

## Goal
What the user wanted of this line of work.

## Constraints
What the user demanded or ruled out.

## Progress
### Done
### In progress
### Blocked

## Decisions
Each with the reason for it.

## Next steps
What would have come next here.

Be brief. Paths, names of functions and texts of errors stay exact.`

// BranchPrompt returns a prompt that asks for notes on a branch that was left, whose messages are [policy.Material.Covered];
// [BranchMessages] chooses them. The user's instructions replace its own wording. The whole answer is the summary. When a
// model is shown it, package history puts a sentence in front of it and the files behind it; see [entry.BranchSummary].
func BranchPrompt() policy.Prompt {
	return policy.Prompt{Mode: ModeBranch, Request: branchRequest, Asked: policy.AnswerForm{Headings: true}}
}

func branchRequest(m policy.Material) elements.Node {
	ask := cmp.Or(m.Instructions, branchAsk)
	m.Instructions = ""
	return textblock.Request(textblock.NotesRole, elements.Nodes{
		PlainHistory{Props: textblock.Grow(), Messages: m.Covered, Results: m.ResultTokens, Fill: true, Droppable: true},
		EarlierBlock(m), ContextBlock(m),
	}, textblock.Paragraph(ask), Remarks(m))
}

// BranchMessages returns the newest messages of a branch that take at most budget tokens together. A compaction or a
// branch summary counts as the messages that replace it. If one of those is the first that does not fit, and less than
// nine tenths of the budget are used, it is included all the same, because its content is nowhere else. This is the
// only case in which the messages exceed the budget. A result whose call is left out is left out too.
//
// Entries come oldest first, as from [history.Session.Abandoned]; only those that fit are held in memory. An error of
// the entries is returned.
func BranchMessages(entries iter.Seq2[entry.Entry, error], budget int, t chat.Tokenizer) ([]chat.Message, error) {
	type said struct {
		messages []chat.Message
		tokens   int
		summary  bool
	}
	var list []said
	total := 0
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		one := said{summary: e.Type() == entry.TypeCompaction || e.Type() == entry.TypeBranchSummary}
		if c, ok := e.Body.(entry.Compaction); ok {
			one.messages = c.Messages
		} else if m, ok := e.Shown(); ok {
			one.messages = []chat.Message{m}
		}
		if len(one.messages) == 0 {
			continue
		}
		for _, m := range one.messages {
			one.tokens += t.CountMessage(m)
		}
		list = append(list, one)
		total += one.tokens
		for total-list[0].tokens > budget { // the first that does not fit comes later
			total -= list[0].tokens
			list = list[1:]
		}
	}
	if total > budget {
		if rest := total - list[0].tokens; !list[0].summary || 10*rest >= 9*budget {
			list = list[1:]
		}
	}
	var messages []chat.Message
	var pairing chat.Pairing
	for _, one := range list {
		for _, m := range one.messages {
			if _, answers := pairing.Add(m); answers || m.Role != chat.RoleTool {
				messages = append(messages, m)
			}
		}
	}
	return messages, nil
}
