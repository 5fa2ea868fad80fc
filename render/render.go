package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// ErrNoTokenizer tells that [Options] name no tokenizer.
var ErrNoTokenizer = errors.New("render: Options.Tokenizer is not set: use sizing/openai, or a tokenizer of your own")

// Options say what a prompt must fit.
type Options struct {
	// Budget is the most tokens that the messages may take, 1 or more. [sizing.Window.Budget] works it out.
	Budget int
	// Tokenizer that the prompt is measured with.
	Tokenizer sizing.Tokenizer
	// Window is what elements are told of the whole prompt's budget. Defaults to Budget; it differs where a prompt is
	// rendered smaller than usual, and what depends on the window should not change.
	Window int
}

// Result is a rendered prompt.
type Result struct {
	// Messages to send.
	Messages []chat.Message
	// Tokens that they take by the tokenizer's count, at most the budget. A message of white space alone is counted
	// but not sent.
	Tokens int
	// Budget that was kept.
	Budget int
	// Metadata of the elements that are left, and all global metadata.
	Metadata elements.Metadata
	// References whose text was kept, each name once.
	References []elements.Reference
	// OmittedReferences are those of which no text was kept.
	OmittedReferences []elements.Reference
	// Report of every piece.
	Report Report
}

// Render makes messages from a tree of elements and prunes them until they fit the budget, in four steps.
//
//  1. Lay out. Elements are rendered from the root down, each with a share of its parent's budget: siblings without
//     FlexGrow first, then each FlexGrow value from high to low. The share decides nothing but what an element is told
//     it may use; see [elements.Props].
//  2. Limit, grow, prune. Token limits are kept from the last met to the first, the whole prompt's last. Where tokens
//     are left, each [elements.Expandable] is offered them in the order of rendering.
//  3. Where there are too many, one piece after the other is taken out, the least important first, until the exact
//     count fits. Required pieces stay.
//  4. When nothing more may go and it still does not fit, the error is a [*BudgetExceededError].
//
// What goes wrong in an element comes back as an [*ElementError] with its path; its panics too. A cancelled context
// ends the render with its cause, once the elements that are running have returned.
//
// Same tree, same budget, same tokenizer: same messages.
func Render(ctx context.Context, root elements.Node, opts Options) (*Result, error) {
	switch {
	case opts.Tokenizer == nil:
		return nil, ErrNoTokenizer
	case opts.Budget < 1:
		return nil, fmt.Errorf("render: a budget of %d tokens: it is 1 or more", opts.Budget)
	case opts.Window < 0:
		return nil, fmt.Errorf("render: a window of %d tokens: it is 1 or more, or 0 for the budget", opts.Window)
	}
	l := &layouter{tokenizer: opts.Tokenizer, window: opts.Window}
	if l.window == 0 {
		l.window = opts.Budget
	}
	tree := &laid{path: rootPath}
	if err := l.contents(ctx, tree, root, place{path: rootPath, root: true}, &room{budget: opts.Budget}); err != nil {
		return nil, err
	}
	return fitTree(ctx, l, tree, opts.Budget)
}

// rootPath is the first element of every path.
const rootPath = "Root"
