package tiktoken

import (
	"github.com/promptree-go/promptree/elements/chat"
)

var _ chat.Joiner = (*Counter)(nil)

// SafeCut tells that a text may be cut between these two characters without a change to its count, whatever stands
// around them: the one ends a word there, or the other starts one, in the whole text as in the parts. The text has to be
// valid UTF-8 at the cut; U+FFFD is a character like any other.
//
// In o200k_base and cl100k_base that is
//
//   - after a letter, where no letter follows (in o200k_base no mark and no ' either);
//   - after a number, where no number follows;
//   - after a line break, where no white space follows (in o200k_base no / either);
//   - after any other character that is not white space, before a number or before white space that is no line break.
//
// The encodings of GPT-3 know no line breaks: it is after a letter or a number as above, and after any other character
// that is not white space, where a letter, a number or white space follows. No letter may follow a ' there.
func (c *Counter) SafeCut(before, after rune) bool { return c.encoding.safeCut(before, after) }

func cl100kCut(before, after rune) bool {
	next := classOf(after)
	switch classOf(before) {
	case lower, upper, caseless:
		return next&letter == 0
	case number:
		return next != number
	case newline:
		return next&white == 0
	case mark, symbol:
		return next&(number|space) != 0
	default:
		return false
	}
}

func o200kCut(before, after rune) bool {
	next := classOf(after)
	switch classOf(before) {
	case lower, upper, caseless:
		return next&(letter|mark) == 0 && after != '\''
	case number:
		return next != number
	case newline:
		return next&white == 0 && after != '/'
	case mark, symbol:
		return next&(number|space) != 0
	default:
		return false
	}
}

func gpt3Cut(before, after rune) bool {
	next := classOf(after)
	switch classOf(before) {
	case lower, upper, caseless:
		return next&letter == 0
	case number:
		return next != number
	case mark, symbol:
		return next&rest == 0 && (before != '\'' || next&letter == 0)
	default:
		return false
	}
}

// CountFrame counts what a message takes besides its text: what [Counter.CountMessage] counts, less the tokens of the
// text parts. They count joined, but for a message whose content is sent as a list.
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
