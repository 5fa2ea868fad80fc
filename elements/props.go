package elements

// Props are the properties that every element takes. The zero value is an element that is never cheaper to lose than
// its siblings and takes its place in the first flex group.
type Props struct {
	// ReportName is the element's name in paths, errors and reports, such as "file handler.go". Defaults to the name of its type; for a
	// message that is its role, for a [Tag] the tag's name.
	ReportName string
	// Priority among the element's siblings: the lowest goes first. Set it with new(900). Nil is the highest,
	// and what is above 2^53−1 counts as that.
	Priority *int
	// PassPriority lets the element's children compete as if they stood in its place. It does nothing on a message, a
	// [Chunk] or [Finished] messages.
	PassPriority bool
	// Required keeps the element and everything in it from being pruned. What does not fit then is an error that says
	// how much the required pieces take.
	Required bool
	// FlexGrow names the element's flex group. Siblings without one are laid out first, then each group from the
	// highest value down, with what is left of the budget. It has no say in pruning. 0 is unset; it is never negative.
	FlexGrow int
	// FlexBasis is the element's part in the sharing of its group's budget. Defaults to 1.
	FlexBasis float64
	// FlexReserve keeps room for the element while the groups before its own are laid out: see [Reserve].
	FlexReserve Reserve
}

// ElementProps returns the properties to the renderer.
func (p Props) ElementProps() Props { return p }

// Reserve is room that the elements of earlier flex groups are not told of: a number of tokens, or a share of what is left of the
// parent's budget. It keeps nothing in pruning, and an element that takes more than its share takes of the reserve too. The zero value
// reserves nothing.
type Reserve struct {
	// Tokens to reserve, 0 or more.
	Tokens int
	// Share of what is left, from 0 to 1, such as 0.25. It is taken if it is not 0, instead of Tokens.
	Share float64
}
