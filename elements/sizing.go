package elements

import "github.com/promptree-go/promptree/elements/chat"

// Sizing tells an element its share of the budget when it renders, and lets it count tokens.
//
// An element's share depends on its siblings. Elements ask for a share if they use it: an [Expandable], a [First], an
// element of your own that is not marked as one that ignores it ([IgnoresBudget]), a [TextChunk] with a break if
// FlexGrow or FlexBasis is set on the chunk itself, or an element that contains one of these. Siblings that do not ask
// are laid out first, whole. Those that ask share the remaining tokens in proportion to FlexBasis, but none is told
// less than an equal share of all siblings. In a budget of 10,000, counted as OpenAI does:
//
//	a system message "be brief", 6 tokens, and a user message with one element that asks   its share is 9,990
//	four such system messages                                                              9,972
//	two elements that ask in the user message                                              4,995 each
//	one of them with a FlexBasis of 3                                                      7,492 and 2,497
//
// Texts that ask share what the other elements leave, in proportion to FlexBasis: none gets more tokens than it has,
// and what it does not need goes to the others. So with a FlexBasis of 1, one in each of three files, a short file is
// whole and the two long ones are cut to the same length. Required texts are not cut.
//
// Tokens of a share that another element does not use are not shared again: put an element that should fill the
// remaining tokens into a later flex group, with a lower FlexGrow. In all groups but the last the shares are equal, by
// FlexBasis, as in prompt-tsx.
type Sizing struct {
	// TokenBudget is the element's share: its content should not take more tokens, or it is pruned. It is negative if
	// limits beside the element have used more than there was.
	TokenBudget int
	// PromptBudget is the token budget of the whole prompt, for example to cut tool results by.
	PromptBudget int
	// Tokenizer of the render.
	chat.Tokenizer
}
