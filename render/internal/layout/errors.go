package layout

import "github.com/promptree-go/promptree/render/internal/tree"

// Mistakes in a tree. Package tree has more.
var (
	ErrBreakpointPlace = tree.Mistake("a cache breakpoint is not directly in a message")
	ErrNilElement      = tree.Mistake("an element is nil")
	ErrDuplicateCall   = tree.Mistake("two tool calls of a message have the same id")
	ErrNoValue         = tree.Mistake("the Expandable has no Value")
	ErrBreak           = tree.Mistake("the break is invalid")
	ErrDuplicateTool   = tree.Mistake("two tools have the same name")
)
