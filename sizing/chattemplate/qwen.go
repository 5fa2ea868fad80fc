package chattemplate

import "github.com/promptree-go/promptree/elements/chat"

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
	if t != Qwen3 {
		return tokens
	}
	around := 0
	for _, p := range m.Content {
		if _, ok := p.(chat.Thinking); ok {
			around = text(qwenThought) + text(qwenThoughtEnd)
			tokens += t.CountPart(text, p)
		}
	}
	return tokens + around
}
