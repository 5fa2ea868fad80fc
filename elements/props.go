package elements

// Props are the properties that every element takes. An element with the zero value has the highest priority and is in
// the first flex group.
type Props struct {
	// ReportName is the element's name in paths, errors and reports, such as "file handler.go". Defaults to the name of
	// its constructor in package el, such as Text, of its type, the role of a message, or the name of a [Tag].
	ReportName string
	// Priority among the element's siblings: the lowest is pruned first. Set it with new(900). Nil is the highest, and
	// anything above 2^53−1 counts as that.
	Priority *int
	// PassPriority lets the element's children compete as if they stood in its place. It does nothing on a message, a
	// [Chunk] or [Finished] messages.
	PassPriority bool
	// Required keeps the element and everything in it from being pruned. If the required pieces do not fit, the render
	// fails with an error that says how many tokens they take.
	Required bool
	// Category says what the element's content is, for the breakdown of a prompt's tokens (render.Breakdown). It holds for
	// everything in the element that has no category of its own, and has no other effect. Unset by default.
	Category Category
	// FlexGrow is the element's flex group. Siblings without one are laid out first, then each group from the highest
	// value down, with the budget that is left. The name is that of prompt-tsx: it is an order, not a weight or a size, and
	// does not affect the order of pruning. 0 is unset; it is never negative.
	FlexGrow int
	// FlexBasis is the element's weight in the sharing of its group's budget. Defaults to 1.
	FlexBasis float64
	// FlexReserve keeps tokens for the element while earlier groups are laid out: see [Reserve].
	FlexReserve Reserve
}

// ElementProps returns the properties to the renderer.
func (p Props) ElementProps() Props { return p }

// Reserve is a number of tokens withheld from the elements of earlier flex groups, or a share of the parent's remaining
// budget. It has no effect on pruning, and an element that takes more than its share uses up the reserve too. The zero
// value reserves nothing.
type Reserve struct {
	// Tokens to reserve, 0 or more.
	Tokens int
	// Share of the remaining budget, from 0 to 1, such as 0.25. If it is not 0, it is used instead of Tokens.
	Share float64
	// Zero says that a reserve of 0 tokens was given, which the transfer form writes and prompt-tsx keeps apart from none.
	// It has no other effect.
	Zero bool
}
