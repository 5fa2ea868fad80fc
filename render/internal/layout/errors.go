package layout

import "errors"

// The mistakes in a tree that have a name, besides those of package draft.
var (
	ErrBreakpointPlace = errors.New("a cache breakpoint does not stand directly in a message")
	ErrNilElement      = errors.New("an element is nil")
	ErrDuplicateCall   = errors.New("two tool calls of a message have one id")
	ErrNoValue         = errors.New("an Expandable has no Value: it renders to nothing")
	ErrBreak           = errors.New("the break is invalid")
)
