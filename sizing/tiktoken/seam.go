package tiktoken

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/internal/split"
)

var _ chat.Joiner = (*Counter)(nil)

// SafeCut reports whether a text may be cut between these two characters without a change to its count, whatever else
// the text holds: before ends a word there or after starts one, in the whole text as in the parts. The text must be
// valid UTF-8 at the cut; U+FFFD is treated like any other character.
//
// In o200k_base and cl100k_base a cut is safe
//
//   - after a letter, unless a letter follows (in o200k_base also a mark or ');
//   - after a number, unless a number follows;
//   - after a line break, unless white space follows (in o200k_base also /);
//   - after any other character that is not white space, before a number or before white space other than a line break.
//
// The encodings of GPT-3 do not treat line breaks separately. There a cut is safe after a letter or a number as above,
// and after any other character that is not white space if a letter, a number or white space follows, except between '
// and a letter.
func (c *Counter) SafeCut(before, after rune) bool {
	return c.pattern.Cut(before, after) == split.Safe
}

// CountFrame counts a message without its text: the result of [Counter.CountMessage] less the tokens of the text parts.
// It also reports whether the text parts are counted joined, which they are unless the content is sent as a list.
func (c *Counter) CountFrame(m chat.Message) (tokens int, joined bool) {
	list := isList(m)
	tokens = messageTokens + c.CountText(string(m.Role))
	if m.Name != "" && m.Role != chat.RoleTool {
		tokens += nameTokens + c.CountText(m.Name)
	}
	if m.Role == chat.RoleTool {
		tokens += c.CountText(m.ToolCallID)
	}
	if m.Role == chat.RoleAssistant {
		for _, call := range m.ToolCalls {
			tokens += c.countCall(call)
		}
	}
	for _, part := range m.Content {
		switch part := part.(type) {
		case chat.Text:
			if list {
				tokens += c.CountText("text")
			}
		case chat.Image, chat.Document:
			if !textOnly(m.Role) {
				tokens += c.CountPart(part)
			}
		case chat.Thinking:
			if m.Role == chat.RoleAssistant {
				tokens += c.CountPart(part)
			}
		default:
			tokens += c.CountPart(part)
		}
	}
	return tokens, !list
}
