package sizing

import (
	"reflect"

	"github.com/promptree-go/promptree/elements/chat"
)

// Tokenizer counts tokens as one model does. The same input gives the same count every time, and an implementation is
// safe for concurrent use. Counts are never negative.
//
// Counts nearly add up: taking a piece out of a message makes it smaller by no more than half as much again as the piece
// counts by itself, and 8. A part or a tool call may count more than that in a message, but no more than a second one of it
// adds there, as long as others of its type are left. Pruning relies on that to count long messages less often; of a
// tokenizer that breaks it, a little more may be pruned than must be. So it is with a list of tools: without one of them it counts no more,
// and less by no more than half as much again as that one adds to a list of another, and 8.
type Tokenizer interface {
	// CountText counts a text on its own, special tokens as plain text.
	CountText(text string) int
	// CountPart counts one part of a message's content.
	CountPart(part chat.Part) int
	// CountMessage counts a whole message: its parts, role, name, tool calls and what the provider wraps it in.
	CountMessage(m chat.Message) int
	// CountTools counts the definitions of the tools that a request declares; 0 where there are none.
	CountTools(tools []chat.Tool) int
}

// Lasting tells that what a tokenizer counted may be kept and used again: it can be told from other tokenizers, and does
// not learn as a [Calibrated] does.
func Lasting(t Tokenizer) bool {
	_, learns := t.(*Calibrated)
	return t != nil && !learns && reflect.ValueOf(t).Comparable()
}

// Joiner is a [Tokenizer] that knows where its counts add up. With one, the exact count of a message from which a piece
// was taken costs a few bytes around the piece; without, the message is counted again. A type that embeds a Joiner and
// counts messages its own way must bring a CountFrame of its own too.
type Joiner interface {
	Tokenizer
	// SafeCut tells that a text may be cut between these two characters without a change to its count: in valid UTF-8,
	// CountText(a+b) is CountText(a) + CountText(b) where a ends in the one and b starts with the other.
	SafeCut(before, after rune) bool
	// CountFrame counts what a message takes besides its text. What the text parts say has no say in it, not even
	// whether they are empty; how many there are, and what stands beside them, may have. CountMessage is that, and
	// CountText of the text parts: of all of them joined where joined is true, else of each.
	//
	// Frames add up too. Which types of parts a message has may decide whether its texts count joined, and what any part
	// takes; but where others of its type are left, a part takes no more or less than in any message of that role with
	// the same types of parts, and so does a tool call.
	CountFrame(m chat.Message) (tokens int, joined bool)
}

// Sizing is what an element is told when it renders, and how it may measure.
//
// The share of the budget that an element is told depends on what stands beside it. Elements ask for a share if they use it: a
// TextChunk with a break, an Expandable, an element of your own that is not marked as one that ignores it (elements.IgnoresBudget), or
// what holds one of these. Siblings that do not ask are laid out first, and those that ask share what they leave in proportion to
// FlexBasis, but never less than an equal share of all siblings. In a budget of 10,000, counted as OpenAI does:
//
//	a system message "be brief", 6 tokens, and a user message with one element that asks   it is told 9,990
//	four such system messages                                                              9,972
//	two elements that ask in the user message                                              4,995 each
//	one of them with a FlexBasis of 3                                                      7,492 and 2,497
//
// What an element does not use of its share is not shared again: what should fill what is left at last goes into a later flex group,
// with a lower FlexGrow. In all groups but the last the shares are equal, by FlexBasis, as in prompt-tsx.
type Sizing struct {
	// TokenBudget is the element's share: what it renders should not take more tokens. What takes more is pruned. It
	// is negative where limits beside the element have used up more than there was.
	TokenBudget int
	// Window is the token budget of the whole prompt, what tool results and the like are cut by.
	Window int
	// Tokenizer that the prompt is measured with.
	Tokenizer
}
