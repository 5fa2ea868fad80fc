package elements

import "github.com/promptree-go/promptree/elements/chat"

// Sizing is what an element is told when it renders, and how it may measure.
//
// The share of the budget that an element is told depends on what stands beside it. Elements ask for a share if they use it: a
// [TextChunk] with a break, an [Expandable], an element of your own that is not marked as one that ignores it ([IgnoresBudget]), or
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
	// PromptBudget is the token budget of the whole prompt, what tool results and the like are cut by.
	PromptBudget int
	// Tokenizer that the prompt is measured with.
	chat.Tokenizer
}
