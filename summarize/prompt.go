package summarize

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
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

// sizeHint asks for a summary that fits.
func sizeHint(tokens int) elements.Text {
	return elements.Textf("\nThe <summary> block has room for %d tokens at the most.", tokens)
}

// FullPrompt shows the history as the messages that it consists of, with the tools declared and not to be called, and asks
// for a handoff in eight sections. It is the full mode of Copilot Chat.
func FullPrompt() Prompt {
	return Prompt{Mode: ModeFull, Request: fullRequest, Read: ReadSummaryBlock, Tools: true}
}

// SimplePrompt shows the history as one text, tool results cut to [Material.ResultTokens], packed to the model's window: the
// earlier summary and the first user message stay longest, then the newest of what was said. It is the simple mode of
// Copilot Chat.
func SimplePrompt() Prompt {
	return Prompt{Mode: ModeSimple, Request: simpleRequest, Read: ReadSummaryBlock, Packs: true}
}

// asked is the request for a summary, with what must be said besides.
func asked(m Material) elements.Nodes {
	list := elements.Nodes{elements.Text(request)}
	for _, note := range m.Notes {
		list = append(list, elements.Text("\n\n"+note))
	}
	if m.Instructions != "" {
		list = append(list, elements.Text("\n\nThe user asks of the summary: "+m.Instructions))
	}
	for _, line := range m.Context {
		list = append(list, elements.Text("\n\n"+line))
	}
	return append(list, sizeHint(m.Words))
}

// fullRequest is the history as messages, and the request.
func fullRequest(m Material) elements.Node {
	keep := elements.Props{Required: true}
	message := func(m chat.Message) elements.Node { return elements.Message(keep, m) }
	return elements.Fragment{
		elements.SystemMessage{Props: keep, Children: elements.Nodes{elements.Text(role)}},
		elements.Map(m.Previous, message),
		elements.Map(m.Covered, message),
		elements.UserMessage{Props: keep, Children: asked(m)},
	}
}

// simpleRequest is the history as one text, packed to what fits. The earlier summary and the first user message stay, or,
// where there is neither, the newest round: without any history there is nothing to summarise.
func simpleRequest(m Material) elements.Node {
	keep := elements.Props{Required: true}
	rounds := Rounds(m.Covered)
	user := func(i int) bool { return rounds[i][0].Role == chat.RoleUser }
	first := 0
	for first < len(rounds) && !user(first) {
		first++
	}
	if first == len(rounds) && len(m.Previous) == 0 {
		first = len(rounds) - 1
	}
	lines := make(elements.Nodes, 0, len(rounds))
	for i, r := range rounds {
		props := elements.Props{Priority: new(i), Required: i == first}
		if user(i) {
			props.Priority = new(i + len(rounds)) // what the user said outlasts what was done about it
		}
		lines = append(lines, elements.TextChunk{Props: props, Children: elements.Nodes{elements.Text(m.plain(r))}})
	}
	earlier := elements.Map(m.Previous, func(m chat.Message) elements.Node {
		return elements.TextChunk{Props: keep, Children: elements.Nodes{elements.Text(m.Text())}}
	})
	return elements.Fragment{
		elements.SystemMessage{Props: keep, Children: elements.Nodes{elements.Text(role)}},
		elements.UserMessage{Children: elements.Nodes{
			elements.Tag{Name: historyTag, Children: elements.Nodes{earlier, lines}},
			elements.TextChunk{Props: keep, Children: asked(m)},
		}},
	}
}

// historyTag holds the history in simple mode.
const historyTag = "history"

// plain is a round as text: what was said, each thing from a line of its own on. Its further lines are indented, so that
// none of them, of a tool's output above all, reads as said by somebody else.
func (m Material) plain(round []chat.Message) string {
	var b strings.Builder
	say := func(kind, text string) {
		fmt.Fprintf(&b, "%s: %s\n", kind, strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+indent))
	}
	clip := func(text string, limit int) string { return history.Clip(m.Tokenizer, text, limit, 0.4) }
	for _, said := range round {
		switch said.Role {
		case chat.RoleTool:
			result := "result"
			if said.IsError {
				result = "error"
			}
			say(result, clip(said.Text(), m.ResultTokens))
		default:
			if text := said.Text(); text != "" {
				say(string(said.Role), clip(text, m.Window/4)) // so that one text cannot take the window
			}
		}
		for _, call := range said.ToolCalls {
			say("call", call.Name+"("+clip(call.Arguments, m.ResultTokens)+")")
		}
	}
	return b.String()
}

// indent stands before the further lines of what was said, in simple mode.
const indent = "  "
