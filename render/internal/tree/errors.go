package tree

import "errors"

// Mistakes in a tree that elements and transferred content may both have.
var (
	ErrOutsideMessage = errors.New("render: text or another part is outside a message: put it in one, such as a UserMessage")
	ErrNestedMessage  = errors.New("render: a message is inside another message: put them beside each other")
	ErrToolInMessage  = errors.New("render: a Tool is inside a message: put it beside the messages")
)
