package prompts

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/summarize/policy"
)

const role = `You write the handoff of a working session. Another instance of you continues the work and will see your
summary in place of the conversation so far, so whatever it needs and you leave out is lost to it.`

const request = `Stop the work here. Summarise the conversation above for whoever continues it. Do not call tools and do not answer the
user: write text only.

First think it through in an <analysis> block: go over the conversation from its start, and for each request of the
user note what was wanted, what was done about it, which files and commands were involved and what came out. Check that
nothing still open is missing. If the conversation begins with an earlier summary, carry over what still matters.

Then write the handoff in a <summary> block, with these eight sections:

1. Conversation Overview: what the user wants, in their words where they matter, and how that changed.
2. Technical Foundation: languages, libraries, tools, conventions and decisions that the work stands on.
3. Codebase Status: each file that was read or changed, what it is for, its state, the code that matters in it.
4. Problem Resolution: what went wrong, why, how it was solved or what was tried.
5. Progress Tracking: what is done and verified, what is done in part, what is left.
6. Active Work State: what was being worked on at the very end, exactly.
7. Recent Operations: the last commands and tool calls and what they gave.
8. Continuation Plan: the next step, and the ones after it.

Be exact with names, paths, numbers and error texts. Prefer facts to prose.`

// inBlock is the form that the prompts of this file ask for.
var inBlock = policy.AnswerForm{Tag: "summary"}

// FullPrompt returns a prompt that shows the history as its messages, declares the tools but forbids calls, and asks
// for a handoff in eight sections. Images and documents are named, and thinking is left out.
func FullPrompt() policy.Prompt {
	return policy.Prompt{Mode: policy.ModeFull, Request: fullRequest, Asked: inBlock, Tools: true}
}

// SimplePrompt returns a prompt that shows the history as one text. Tool results are clipped as little as the model's window
// allows, and never below [policy.Material.ResultTokens].
func SimplePrompt() policy.Prompt {
	return policy.Prompt{Mode: policy.ModeSimple, Request: func(m policy.Material) elements.Node { return simpleRequest(m, false) }, Asked: inBlock}
}

// PackedPrompt returns [SimplePrompt] packed to the model's window, for one request: if clipped results do not suffice, the
// oldest of the assistant's messages are left out.
func PackedPrompt() policy.Prompt {
	return policy.Prompt{Mode: policy.ModeSimple, Request: func(m policy.Material) elements.Node { return simpleRequest(m, true) }, Asked: inBlock, Drops: true}
}

// requestText returns the request for a summary, with the notes, instructions and limits.
func requestText(m policy.Material) elements.Nodes {
	list := append(elements.Nodes{textblock.Line(request + " " + language)}, demands(m)...)
	for _, line := range m.Context {
		list = append(list, textblock.Paragraph(plaintext.Outside(line)))
	}
	if m.Words > 0 {
		list = append(list, textblock.Line(fmt.Sprintf("The <summary> block has room for %d tokens at the most.", m.Words)))
	}
	return list
}

// fullRequest returns the history as messages, followed by the request.
func fullRequest(m policy.Material) elements.Node {
	return elements.Nodes{
		elements.SystemMessage{Props: textblock.Required(), Children: elements.Nodes{elements.Text(role)}},
		textblock.Messages(m.Previous),
		textblock.Messages(plaintext.InWords(m.Covered)),
		elements.UserMessage{Props: textblock.Required(), Children: requestText(m)},
	}
}

// simpleRequest returns the history as one text that fits, with the earlier summary before it, followed by the request.
func simpleRequest(m policy.Material, drop bool) elements.Node {
	previous := make([]string, len(m.Previous))
	for i, said := range m.Previous {
		previous[i] = said.Text()
	}
	return textblock.Request(role, elements.Nodes{PlainHistory{
		Props: textblock.Grow(), Name: plaintext.HistoryTag.String(), Messages: m.Covered, Results: m.ResultTokens, Fill: true, Droppable: drop,
		Before: strings.Join(previous, "\n"),
	}}, requestText(m)...)
}

// ModeFork is the mode of [ForkPrompt].
const ModeFork policy.Mode = "fork"

// ForkPrompt returns a prompt that continues the agent's last request ([policy.Material.Sent]): that request is sent again
// unchanged, tools included, so that the provider serves it from its cache, and the question is added at its end. The
// summary is taken from the <summary> block. If there is no such request, it asks as [FullPrompt] does.
func ForkPrompt() policy.Prompt {
	return policy.Prompt{Mode: ModeFork, Request: forkRequest, Asked: inBlock, Tools: true, Forks: true}
}

func forkRequest(m policy.Material) elements.Node {
	if len(m.Sent) == 0 {
		return fullRequest(m)
	}
	return elements.Nodes{
		textblock.Messages(m.Sent),
		elements.UserMessage{Props: textblock.Required(), Children: requestText(m)},
	}
}
