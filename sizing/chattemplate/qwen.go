package chattemplate

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

const qwenEnd = "<|im_end|>\n"

// The tokens of passages of Qwen's templates, in Qwen's vocabulary: the system message that Qwen2.5 adds, without its
// full stop, and what stands before and after the list of tools, from "# Tools" to the line feed after <tools>, and from
// </tools> to the end of the message.
const (
	qwenPromptTokens      = 15
	qwenToolsBeforeTokens = 35
	qwenToolsAfterTokens  = 44
)

// What Qwen3 writes around thinking, and an empty one, which starts the answer if thinking is switched off.
const (
	qwenThought    = "\n<think>\n"
	qwenThoughtEnd = "\n</think>\n\n"
	qwenNoThought  = "<think>\n\n</think>\n\n"
)

const (
	qwenResult    = "\n<tool_response>\n"
	qwenResultEnd = "\n</tool_response>"
)

func qwenStart(role chat.Role) string { return "<|im_start|>" + string(role) + "\n" }

// qwenCall returns a call without the line feed before it.
func qwenCall(c chat.ToolCall) string {
	return "<tool_call>\n{\"name\": \"" + c.Name + `", "arguments": ` + spacedJSON(c.Arguments) + "}\n</tool_call>"
}

// qwenFrame counts a result as the only one between two messages: results in a row share a start and an end. Thinking
// counts as in the turn at hand; the template leaves out that of earlier turns.
func (t Template) qwenFrame(text func(string) int, m chat.Message) int {
	if m.Role == chat.RoleTool {
		return text("<|im_start|>user") + text(qwenResult) + text(qwenResultEnd) + text(qwenEnd)
	}
	tokens := text(qwenStart(m.Role)) + text(qwenEnd)
	for _, c := range m.ToolCalls {
		tokens += text("\n" + qwenCall(c))
	}
	if _, ok := thoughts(m); ok && t == Qwen3 {
		tokens += text(qwenThought) + text(qwenThoughtEnd)
		for _, p := range m.Content {
			if _, ok := p.(chat.Thinking); ok {
				tokens += t.CountPart(text, p)
			}
		}
	}
	return tokens
}

// qwenTools writes the list of tools and the end of the system message that it stands in.
func (w *writer) qwenTools(tools []chat.Tool) {
	w.addTokens(qwenToolsBeforeTokens)
	for _, t := range tools {
		w.add(toolJSON(t), "\n")
	}
	w.addTokens(qwenToolsAfterTokens)
}

// qwenResults writes the result at an index.
func (w *writer) qwenResults(messages []chat.Message, i int) {
	if i == 0 || messages[i-1].Role != chat.RoleTool {
		w.add("<|im_start|>user")
	}
	w.add(qwenResult, messages[i].Text(), qwenResultEnd)
	if i == len(messages)-1 || messages[i+1].Role != chat.RoleTool {
		w.add(qwenEnd)
	}
}

func (w *writer) qwen25(req chat.Request) {
	messages := req.Messages
	first := len(messages) > 0 && messages[0].Role == chat.RoleSystem
	w.add(qwenStart(chat.RoleSystem))
	if first {
		w.add(messages[0].Text())
	} else {
		w.addTokens(qwenPromptTokens)
		w.add(".")
	}
	if len(req.Tools) > 0 {
		w.add("\n\n")
		w.qwenTools(req.Tools)
	} else {
		w.add(qwenEnd)
	}
	for i, m := range messages {
		switch {
		case m.Role == chat.RoleSystem && i == 0:
		case m.Role == chat.RoleTool:
			w.qwenResults(messages, i)
		case len(m.ToolCalls) == 0:
			w.add(qwenStart(m.Role), m.Text(), qwenEnd)
		default:
			w.add("<|im_start|>assistant")
			if text := m.Text(); text != "" {
				w.add("\n", text)
			}
			for _, c := range m.ToolCalls {
				w.add("\n", qwenCall(c))
			}
			w.add(qwenEnd)
		}
		if m.Role != chat.RoleTool {
			w.flush()
		}
	}
	w.add(qwenStart(chat.RoleAssistant))
}

func (w *writer) qwen3(req chat.Request) {
	messages := req.Messages
	first := len(messages) > 0 && messages[0].Role == chat.RoleSystem
	switch {
	case len(req.Tools) > 0:
		w.add(qwenStart(chat.RoleSystem))
		if first {
			w.add(messages[0].Text(), "\n\n")
		}
		w.qwenTools(req.Tools)
	case first:
		w.add(qwenStart(chat.RoleSystem), messages[0].Text(), qwenEnd)
	}
	query := lastQuery(messages)
	for i, m := range messages {
		switch {
		case m.Role == chat.RoleSystem && i == 0:
		case m.Role == chat.RoleTool:
			w.qwenResults(messages, i)
		case m.Role != chat.RoleAssistant:
			w.add(qwenStart(m.Role), m.Text(), qwenEnd)
		default:
			w.qwen3Answer(m, i > query, i == len(messages)-1)
		}
		if m.Role != chat.RoleTool {
			w.flush()
		}
	}
	w.add(qwenStart(chat.RoleAssistant))
}

// lastQuery returns the index of the last user message that is not a result written as a text, or that of the last
// message if there is none.
func lastQuery(messages []chat.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		text := messages[i].Text()
		if messages[i].Role == chat.RoleUser && !(strings.HasPrefix(text, "<tool_response>") && strings.HasSuffix(text, "</tool_response>")) {
			return i
		}
	}
	return len(messages) - 1
}

// qwen3Answer writes an assistant's message. Thinking is written in the turn at hand only.
func (w *writer) qwen3Answer(m chat.Message, current, last bool) {
	text := m.Text()
	thought, ok := thoughts(m)
	if before, _, found := strings.Cut(text, "</think>"); found && !ok { // thinking that stands in the text
		text = strings.TrimLeft(text[strings.LastIndex(text, "</think>")+len("</think>"):], "\n")
		thought = strings.TrimRight(before, "\n")
		if at := strings.LastIndex(thought, "<think>"); at >= 0 {
			thought = thought[at+len("<think>"):]
		}
	}
	w.add("<|im_start|>assistant")
	if current && (last || thought != "") {
		w.add(qwenThought, strings.Trim(thought, "\n"), qwenThoughtEnd, strings.TrimLeft(text, "\n"))
	} else {
		w.add("\n", text)
	}
	for i, c := range m.ToolCalls {
		if i > 0 || text != "" {
			w.add("\n")
		}
		w.add(qwenCall(c))
	}
	w.add(qwenEnd)
}
