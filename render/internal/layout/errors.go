package layout

import "errors"

// Mistakes in a tree. Package draft has more.
var (
	ErrBreakpointPlace = errors.New("render: a cache breakpoint does not stand directly in a message")
	ErrNilElement      = errors.New("render: an element is nil")
	ErrDuplicateCall   = errors.New("render: two tool calls of a message have one id")
	ErrNoValue         = errors.New("render: an Expandable has no Value: it renders to nothing")
	ErrBreak           = errors.New("render: the break is invalid")
)
