package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/layout"
	"github.com/promptree-go/promptree/render/internal/transfer"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// ErrTree is the error of a tree that breaks a rule, wherever in it: rendering it again fails again. It comes in an
// [*ElementError] that says where, and its text says which rule: a text or another part outside a message, a message or an
// [elements.Tool] in a message, a cache breakpoint that is not directly in a message, two tools of one name, two tool calls of
// a message with one id, a nil tree or element, a text chunk with more than one break or with a pattern that can match
// nothing, an [elements.Expandable] without a Value, a message in a tree that is to be transferred, or a tree that does
// not end: more than 500 nested elements or nested lists, 1,048,576 pieces, or 256 MiB of text.
var ErrTree = tree.ErrTree

// ErrBudget is the error of a budget, or of another number in [Options], that is out of range.
var ErrBudget = errors.New("render: a number is out of range")

// ElementError is the error of an element.
type ElementError struct {
	// Path of the element from the root, such as "User > Retrieval". Siblings of one name are numbered
	// from 1: "User#2".
	Path string
	// Err is what went wrong.
	Err error
	// Stack of a panic; else nil.
	Stack []byte
}

func (e *ElementError) Error() string { return "render: " + e.Path + ": " + withoutPrefix(e.Err) }

// Unwrap returns what went wrong.
func (e *ElementError) Unwrap() error { return e.Err }

// TokenizerError is the error of a tokenizer that panicked, ended its goroutine, returned a count out of range, or had
// not returned a second after the context ended.
type TokenizerError struct {
	// Tokenizer is its type, such as "*tiktoken.Counter".
	Tokenizer string
	// Err is what went wrong.
	Err error
	// Stack of a panic; else nil.
	Stack []byte
}

func (e *TokenizerError) Error() string {
	return fmt.Sprintf("render: counting with %s: %v", e.Tokenizer, e.Err)
}

// Unwrap returns what went wrong.
func (e *TokenizerError) Unwrap() error { return e.Err }

// TransferError is a mistake in a tree in transfer form, and its place.
type TransferError struct {
	// Place in the data, such as "node.children[2].text".
	Place string
	Err   error
}

func (e *TransferError) Error() string {
	return "transferred tree: " + e.Place + ": " + withoutPrefix(e.Err)
}

// Unwrap returns the mistake without its place.
func (e *TransferError) Unwrap() error { return e.Err }

// withoutPrefix returns the text of an error without the package's prefix, because the error that wraps it begins with
// the prefix.
func withoutPrefix(err error) string { return worded.Unprefixed("render", err) }

// guarded runs a stage of a render, and returns the engine's errors as those of this package.
func guarded[T any](ctx context.Context, l *layout.Layouter, stage func(context.Context, *guard.Watch) (T, error)) (T, error) {
	value, err := guard.Run(ctx, l.Sizing.Tokenizer, stage)
	return value, exported(err)
}

// exported returns an error of the engine as one of this package, and any other as it is.
func exported(err error) error {
	switch e := err.(type) {
	case *guard.ElementError:
		return &ElementError{Path: e.Path, Err: exported(e.Err), Stack: e.Stack}
	case *guard.TokenizerError:
		return &TokenizerError{Tokenizer: e.Tokenizer, Err: e.Err, Stack: e.Stack}
	case *transfer.Error:
		return &TransferError{Place: e.Place, Err: e.Err}
	}
	return err
}

// BudgetExceededError is the error of a prompt that does not fit although nothing more may be removed. Find it with
// errors.AsType.
type BudgetExceededError struct {
	// Budget that could not be kept, in tokens: that of the prompt or of the limit.
	Budget int
	// Needed is the number of tokens that are left once everything that may be removed is.
	Needed int
	// Limit is the path of the TokenLimit that cannot be kept, or "" for the whole prompt.
	Limit string
	// Path of the element in which nothing more could be removed.
	Path string
	// Largest lists the largest pieces that could not be removed, at most five, the largest first.
	Largest []Piece
	// Breakable is the path of the largest required text that has a break and is in no TokenLimit, which would trim it; ""
	// for none.
	Breakable string
	// Metadata of the elements that were left.
	Metadata elements.Metadata
	// Breakdown says where the tokens that are needed are.
	Breakdown Breakdown
	// Messages of the prompt before anything was pruned.
	Messages []chat.Message
	// Tools that are left.
	Tools []chat.Tool
}

func (e *BudgetExceededError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "render: %s needs %d tokens and has %d", cmp.Or(e.Limit, "the prompt"), e.Needed, e.Budget)
	writePieces(&b, "; the largest pieces that cannot be removed: ", e.Largest)
	if e.Breakable != "" {
		fmt.Fprintf(&b, ": put %s into a limit (el.Limit), which trims it", e.Breakable)
	}
	return b.String()
}

// EmptyPromptError is the error of a prompt that had messages, all of which were pruned. The tree says that none of them is
// needed, so raise the budget to Tokens, or set Required on what must stay: if that does not fit, the error is a
// [*BudgetExceededError] that names it. [Options.Compatible] turns this error off. Find it with errors.AsType.
type EmptyPromptError struct {
	// Budget of the prompt, in tokens.
	Budget int
	// Tokens of the prompt before anything was pruned and before any expandable grew.
	Tokens int
	// Largest lists the largest pieces that were dropped, at most five, the largest first. Piece.Limit is the path of
	// the TokenLimit for which a piece was dropped, if it was not for the budget.
	Largest []Piece
	// Messages of the prompt before anything was pruned.
	Messages []chat.Message
	// Result holds what pruning led to: no messages, the tools that are left, and the report of what was dropped.
	Result *Result
}

func (e *EmptyPromptError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "render: pruning left no message: the prompt takes %d tokens and has %d", e.Tokens, e.Budget)
	writePieces(&b, "; the largest pieces dropped: ", e.Largest)
	if i := slices.IndexFunc(e.Largest, func(p Piece) bool { return p.Limit != "" }); i >= 0 {
		fmt.Fprintf(&b, ": raise the budget and the limit of %s, or set Required on what must stay", e.Largest[i].Limit)
	} else {
		b.WriteString(": raise the budget, or set Required on what must stay")
	}
	return b.String()
}

// writePieces writes the paths and tokens of the first three pieces of a list.
func writePieces(b *strings.Builder, title string, list []Piece) {
	for i, p := range list[:min(3, len(list))] {
		b.WriteString([]string{title, ", ", ", "}[i])
		fmt.Fprintf(b, "%s (%d)", p.Path, p.Tokens)
	}
}
