package layout

import "errors"

// Mistakes in a tree. Package tree has more.
var (
	ErrBreakpointPlace = errors.New("render: a cache breakpoint is not directly in a message")
	ErrNilElement      = errors.New("render: an element is nil")
	ErrDuplicateCall   = errors.New("render: two tool calls of a message have the same id")
	ErrNoValue         = errors.New("render: the Expandable has no Value")
	ErrBreak           = errors.New("render: the break is invalid")
	ErrDuplicateTool   = errors.New("render: two tools have the same name")
)
