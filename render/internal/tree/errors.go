package tree

import (
	"errors"

	"github.com/promptree-go/promptree/internal/worded"
)

// ErrTree is the error of a tree that breaks a rule. The errors of single rules wrap it.
var ErrTree = errors.New("render: the tree breaks a rule")

// Mistake returns the error of a rule, which wraps [ErrTree].
func Mistake(text string) error { return worded.Errorf(ErrTree, "render: %s", text) }

// ErrEndless is the error of a tree that is too deep or too large.
var ErrEndless = Mistake("the tree does not end (does an element render itself, or a list contain itself?)")

// Mistakes in a tree. Transferred content may have the first two.
var (
	ErrOutsideMessage  = Mistake("text or another part is outside a message: put it in one, such as a UserMessage")
	ErrNestedMessage   = Mistake("a message is inside another message: put them beside each other")
	ErrToolInMessage   = Mistake("a Tool is inside a message: put it beside the messages")
	ErrBreakpointPlace = Mistake("a cache breakpoint is not directly in a message")
	ErrNilElement      = Mistake("an element is nil")
	ErrDuplicateCall   = Mistake("two tool calls of a message have the same id")
	ErrNoValue         = Mistake("the Expandable has no Value")
	ErrBreak           = Mistake("the break is invalid")
	ErrDuplicateTool   = Mistake("two tools have the same name")
)
