package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// ErrOutsideMessage tells that text or another part stands outside a message. It comes in an [*ElementError].
var ErrOutsideMessage = errors.New("text or another part stands outside a message")

// ErrBreakpointPlace tells that a cache breakpoint does not stand directly in a message. It comes in an
// [*ElementError].
var ErrBreakpointPlace = errors.New("a cache breakpoint stands somewhere else than directly in a message")

// ErrNilElement tells that a nil pointer stands in a tree as an element. It comes in an [*ElementError].
var ErrNilElement = errors.New("an element is a nil pointer")

// ErrNestedMessage tells that a message stands in a message. It comes in an [*ElementError].
var ErrNestedMessage = errors.New("a message stands in a message")

// ErrDuplicateCall tells that a message makes two tool calls of one id. It comes in an [*ElementError].
var ErrDuplicateCall = errors.New("two tool calls have one id")

// ErrEndless is the error of a tree that is too deep or too large: more than 500 elements or lists stand in each other, there
// are more than 1,048,576 pieces, or more than 256 MiB of text. It comes in an [*ElementError].
var ErrEndless = errors.New("the tree does not end: does an element render itself, or a list hold itself?")

// ErrLeftBehind is the error of a layout of which a fit was left behind, because the tokenizer or an element had not returned
// when the context ended. The layout is of no use any more: lay the prompt out anew.
var ErrLeftBehind = errors.New("render: an earlier fit of the layout has not returned: lay it out anew")

// ErrBreak tells that a text chunk names more than one break, or a pattern that can match nothing. It comes in an
// [*ElementError].
var ErrBreak = errors.New("a break is no good")

// ErrBudget tells that a budget, or another number in [Options], is out of range.
var ErrBudget = errors.New("out of range")

// ElementError tells what went wrong in which element.
type ElementError struct {
	// Path of the element from the root, such as "Root > UserMessage > Retrieval". Siblings of one name are numbered
	// from 1: "Root > UserMessage#2".
	Path string
	// Err is what went wrong.
	Err error
	// Stack of a panic; else nil.
	Stack []byte
}

func (e *ElementError) Error() string { return fmt.Sprintf("render: %s: %v", e.Path, e.Err) }

// Unwrap gives what went wrong.
func (e *ElementError) Unwrap() error { return e.Err }

// TokenizerError is the error of a tokenizer that panicked, ended its goroutine, counted what cannot be, or had not returned a
// second after the context ended.
type TokenizerError struct {
	// Tokenizer is its type, such as "*openai.Counter".
	Tokenizer string
	// Err is what went wrong.
	Err error
	// Stack of a panic; else nil.
	Stack []byte
}

func (e *TokenizerError) Error() string {
	return fmt.Sprintf("counting with %s: %v", e.Tokenizer, e.Err)
}

// Unwrap gives what went wrong.
func (e *TokenizerError) Unwrap() error { return e.Err }

// BudgetExceededError tells that a prompt does not fit although nothing more may go. Find it with errors.AsType.
type BudgetExceededError struct {
	// Budget that was to be kept, in tokens: the prompt's, or that of the limit.
	Budget int
	// Needed is how many tokens are left once everything that may go has gone.
	Needed int
	// Limit is the path of the TokenLimit that cannot be kept, or "" for the whole prompt.
	Limit string
	// Path of the element in which nothing more was to be found.
	Path string
	// Largest pieces of those that could not go, at most five, the largest first.
	Largest []Piece
	// Metadata of what was left.
	Metadata elements.Metadata
	// Messages of the prompt before anything was pruned.
	Messages []chat.Message
}

func (e *BudgetExceededError) Error() string {
	var b strings.Builder
	what := "the prompt"
	if e.Limit != "" {
		what = e.Limit
	}
	fmt.Fprintf(&b, "render: %s needs %d tokens and has %d", what, e.Needed, e.Budget)
	for i, p := range e.Largest {
		if i == 3 {
			break
		}
		b.WriteString([]string{"; the largest pieces that cannot go: ", ", ", ", "}[i])
		fmt.Fprintf(&b, "%s (%d)", p.Path, p.Tokens)
	}
	return b.String()
}
