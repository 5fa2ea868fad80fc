package copilotcli

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

const ask = `The conversation above has grown too long and is being compacted. This is not a message from the user: do no more
work, call no tools, and write the account from which the session goes on. The account takes the place of the conversation;
the plan and the list of things to do are kept besides, and the user's own messages as far as there is room. So carry what
each message of the user asks for, demands or decides, and copy of the rest no more than you need.

Begin with a heading of one line, "# " and a title of at most eight words for what this stretch of work was about. Then, under
headings of the second level:

## Goal: what the user is after, with every requirement and limit that still holds.
## Course: what was done, in order, and what each step led to. The newest steps in most detail.
## State: what works now, what is half done, what is broken; branches, processes and environments that are running.
## Knowledge: decisions with their reasons, facts about the code and its tools that were not obvious, dead ends.
## Files: each file that matters, with its path, what it is for and what was changed in it.
## Next: what to do next, step by step, beginning with what was interrupted.

Keep identifiers, paths, commands, numbers and messages of errors exactly as they were.`

const previousAsk = `Before the conversation above others were compacted. Their account follows; carry over into yours what still matters.`

// prompt returns the prompt. It shows the history as messages, with the tools declared but not to be called, and asks
// for an account that begins with a title:
//
//   - Images and documents are named, and thinking is left out.
//   - System messages are not summarised: those of the agent ([policy.Material.System]) come before the history, and
//     any in the history are left out.
//   - The tag of the request marks it as conversation compaction, so that it does not look like a user's message.
//   - The account of an earlier compaction is recovered from its replacement, and shown apart.
//
// The answer is the summary.
func prompt() policy.Prompt {
	return policy.Prompt{Mode: "conversation-compaction", Request: request, Asked: policy.AnswerForm{Headings: true}, Tools: true}
}

// goesOn comes before a segment of the conversation that does not begin with a user message.
var goesOn = plaintext.CompactionTag.Holding("The conversation goes on here: what came before was compacted.")

func request(m policy.Material) elements.Node {
	said := plaintext.InWords(slices.DeleteFunc(slices.Clone(m.Covered), func(m chat.Message) bool { return m.Role == chat.RoleSystem }))
	if len(said) > 0 && said[0].Role != chat.RoleUser { // providers want the user to speak first
		said = append([]chat.Message{chat.UserMessage(goesOn)}, said...)
	}
	ask := elements.Nodes{textblock.Line(plaintext.CompactionTag.Open()), textblock.Line(ask)}
	if previous := prompts.Earlier(m); previous != "" {
		ask = append(ask, textblock.Paragraph(previousAsk), prompts.EarlierBlock(m))
	}
	ask = append(ask, prompts.ContextBlock(m), prompts.Remarks(m), textblock.Line(plaintext.CompactionTag.Close()))
	return elements.Nodes{
		textblock.Messages(m.System),
		textblock.Messages(said),
		elements.UserMessage{Props: textblock.Required(), Children: ask},
	}
}
