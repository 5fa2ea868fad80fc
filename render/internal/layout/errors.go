package layout

import "errors"

// The mistakes in a tree that have a name, besides those of package draft.
var (
	ErrBreakpointPlace = errors.New("a cache breakpoint stands somewhere else than directly in a message")
	ErrNilElement      = errors.New("an element is a nil pointer")
	ErrDuplicateCall   = errors.New("two tool calls have one id")
	ErrBreak           = errors.New("the break is invalid")
)
