package layout

import "errors"

// The mistakes in a tree that have a name, besides those of package draft.
var (
	ErrBreakpointPlace = errors.New("render: a cache breakpoint does not stand directly in a message")
	ErrNilElement      = errors.New("render: an element is nil")
	ErrDuplicateCall   = errors.New("render: two tool calls of a message have one id")
	ErrNoValue         = errors.New("render: an Expandable has no Value: it renders to nothing")
	ErrBreak           = errors.New("render: the break is invalid")
)
