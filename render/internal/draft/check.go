package draft

import (
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
)

// ErrOutsideMessage is the error of a text or another part outside a message.
var ErrOutsideMessage = errors.New("render: text or another part is outside a message: put it in one, such as a UserMessage")

// ErrNestedMessage is the error of a message in a message.
var ErrNestedMessage = errors.New("render: a message is inside another message: put them beside each other")

// CheckProps returns an error for properties that are out of range.
func CheckProps(p *elements.Props) error {
	switch {
	case p.FlexGrow < 0:
		return fmt.Errorf("a FlexGrow of %d: must be 0 or more", p.FlexGrow)
	case !(p.FlexBasis >= 0): // also NaN
		return fmt.Errorf("a FlexBasis of %v: must be 0 or more", p.FlexBasis)
	case p.FlexReserve.Tokens < 0:
		return fmt.Errorf("a FlexReserve of %d tokens: must be 0 or more", p.FlexReserve.Tokens)
	case !(p.FlexReserve.Share >= 0 && p.FlexReserve.Share <= 1):
		return fmt.Errorf("a FlexReserve with a share of %v: must be from 0 to 1, such as 0.25", p.FlexReserve.Share)
	}
	return nil
}
