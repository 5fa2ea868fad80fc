package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/layout"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// ErrNoTokenizer tells that [Options] name no tokenizer.
var ErrNoTokenizer = errors.New("render: Options.Tokenizer is not set: use one of sizing/tiktoken, a *sizing.Calibrated, or your own")

// Options say what a prompt must fit. What is beyond prompt-tsx is off by default.
type Options struct {
	// Budget is the most tokens that the messages, and the tools of the tree, may take, 1 or more. [sizing.Window.Budget] works it out.
	Budget int
	// Tokenizer that the prompt is measured with.
	Tokenizer chat.Tokenizer
	// PromptBudget is what elements are told of the whole prompt's budget. Defaults to Budget; it differs where a prompt is
	// rendered smaller than usual, and what depends on the window should not change.
	PromptBudget int
	// LowWater is a share of the budget, above 0 and below 1, such as 0.7. Once a prompt is over its budget, what is
	// dropped is rounded up to a multiple of the budget less its low water. Where a conversation grows by a little from
	// render to render, its cut then stays where it is for many of them, the same prefix is sent again, and the
	// provider's prompt cache serves it. Limits are kept as ever. Defaults to 0, which is off.
	LowWater float64
	// Backfill gives room that a large piece left back to smaller ones that were pruned before it, those of the highest
	// priority first, as far as they fit. It costs a pass over the tree for each piece that is small enough to try.
	// Groups and chunks stay whole, and no tool call or result comes back without its other half.
	Backfill bool
	// Compatible renders as @vscode/prompt-tsx 0.4 does, to the byte, on every tree that it can express. Off by default. Without it the
	// differences are these:
	//
	//   - A budget of 0, a nil tree, a message in a message, two tool calls of one id in a message, and an Expandable without a Value are
	//     errors.
	//   - What must stay together does: a chunk or finished messages with PassPriority, a chunk in a LegacyPrioritization, and one in
	//     which a message goes for a limit. A tool call that goes takes the group along that it is linked to.
	//   - In the last flex group, elements that ask for a share get what the others leave ([elements.Sizing]).
	//   - A text chunk with a break is trimmed rather than dropped if it is the last piece to go. See Trimming in the package's page.
	//   - Text in the Children of an image or a document is an error; prompt-tsx leaves it out.
	Compatible bool
	// Validate checks the messages and tools that are left by [chat.ValidateRequest], whose [*chat.ValidationError] the error wraps: that
	// every tool call has its result, say, that the last message is the user's or a tool's, and that the parameters of tools are JSON
	// objects. Off by default, for part of a request may be rendered.
	Validate bool
	// KeepUnranked takes everything as required that has no priority, neither of its own nor from an element that it
	// stands in, so that only what somebody gave a priority goes. A priority of 2^53−1 or more, the highest, is the same
	// as none; an element with PassPriority gives none. A TokenLimit is still kept by pruning whatever stands in it that
	// is not Required. Off by default.
	KeepUnranked bool
	// History says whether history is required: what stands in elements with the marker [elements.ShowsHistory].
	// Defaults to HistoryAsGiven.
	History HistoryMode
}

// layouter checks the options.
func (o Options) layouter() (*layout.Layouter, error) {
	switch {
	case o.Tokenizer == nil:
		return nil, ErrNoTokenizer
	case guard.IsNil(o.Tokenizer):
		return nil, fmt.Errorf("%w: it is a nil %T", ErrNoTokenizer, o.Tokenizer)
	case o.PromptBudget < 0:
		return nil, worded.Errorf(ErrBudget, "render: Options.PromptBudget is out of range: %d, it is 1 or more, or 0 for the budget", o.PromptBudget)
	case !(o.LowWater >= 0 && o.LowWater < 1):
		return nil, worded.Errorf(ErrBudget, "render: Options.LowWater is out of range: %v, it is a share of 0 or more and below 1", o.LowWater)
	}
	if err := o.History.check(); err != nil {
		return nil, err
	}
	l := &layout.Layouter{
		Tokenizer: guard.Check(o.Tokenizer), Compatible: o.Compatible, KeepUnranked: o.KeepUnranked,
		Sizing: elements.Sizing{PromptBudget: cmp.Or(o.PromptBudget, o.Budget), Tokenizer: o.Tokenizer},
	}
	return l, o.checkBudget(o.Budget)
}

func (o Options) checkBudget(budget int) error {
	if budget < 0 || budget == 0 && !o.Compatible {
		return worded.Errorf(ErrBudget, "render: the budget is out of range: %d tokens, it is 1 or more", budget)
	}
	return nil
}

// Result is a rendered prompt.
type Result struct {
	// Messages to send.
	Messages []chat.Message
	// Tools to declare: those of the tree that are left ([elements.Tool]), in its order. Nil if none are.
	Tools []chat.Tool
	// Tokens that messages and tools take by the tokenizer's count, at most the budget. A message of white space alone is counted
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

	told     func() told
	outlined func() *Outline
	survey   func(context.Context) (*survey, error)
}

// Report lists every piece of the prompt, kept or dropped. It is made when it is asked for, and costs a pass over the
// tree, which the result holds on to. It is nil if the tokenizer fails, or a fit of the layout was left behind.
func (r *Result) Report() Report {
	if r == nil || r.told == nil {
		return nil
	}
	return r.told().report
}

// told is what is told of a prompt.
type told struct {
	report  Report
	outline *Outline
	sent    []*Outline // of each message
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
// What goes wrong in an element comes back as an [*ElementError] with its path; its panics too. What goes wrong in the tokenizer is a
// [*TokenizerError]. A cancelled context ends the render with its cause: as soon as the elements that are running have returned, or
// after a second. Then the error names the one that has not, and its goroutine is left behind.
//
// Same tree, same budget, same tokenizer: same messages.
func Render(ctx context.Context, root elements.Node, opts Options) (*Result, error) {
	laidOut, err := Lay(ctx, root, opts)
	if err != nil {
		return nil, err
	}
	return laidOut.Fit(ctx, opts.Budget)
}

// Layout is a tree that was laid out and can be fitted to any budget. It is safe for concurrent use.
type Layout struct {
	draft      *draft.Node // as it was laid out
	layouter   *layout.Layouter
	opts       Options
	holdsTools bool // there may be tools in it

	turn   chan struct{}                   // full while somebody uses what follows
	lost   chan struct{}                   // closed once somebody who does was left behind
	trees  [draft.HistoryModes]*draft.Tree // by mode, once one is asked for
	alone  bool                            // fits cannot share a run
	limits []int                           // of the tree, once there is a run
	runs   map[int]*run                    // that fits share, by how many limits they keep
}

// Lay does the first step of [Render]. The elements are told the budget in the options.
func Lay(ctx context.Context, root elements.Node, opts Options) (*Layout, error) {
	l, err := opts.layouter()
	if err != nil {
		return nil, err
	}
	if root == nil && !opts.Compatible {
		return nil, &ElementError{Path: tree.RootPath, Err: fmt.Errorf("%w: the tree", ErrNilElement)}
	}
	laidOut, w, err := guarded(ctx, l, func(ctx context.Context, w *guard.Watch) (*draft.Node, error) {
		return l.Lay(ctx, w, root, opts.Budget)
	})
	if err != nil {
		return nil, err
	}
	return &Layout{draft: laidOut, layouter: l, opts: opts, holdsTools: w.HoldsTools.Load(), turn: make(chan struct{}, 1), lost: make(chan struct{})}, nil
}

// Tools returns the tools that stand in the tree, in its order; nil if there are none. Those that an Expandable may grow by are not among them.
func (l *Layout) Tools() []chat.Tool {
	if !l.holdsTools {
		return nil
	}
	return l.draft.Tools(nil)
}

// Fit does the other steps, for a budget that need not be the one that the tree was laid out for: what would be sent at
// another price? Expandables are asked again; no other element is rendered anew, so an element that would have filled
// a larger share stays as it is.
//
// What goes first does not depend on the budget. So with a [chat.Joiner], and without expandables and backfill, all fits
// share one pruning: each goes on, or back, from where the one before ended, or looks up how far it must go. Fits of one
// layout then wait for each other.
func (l *Layout) Fit(ctx context.Context, budget int) (*Result, error) {
	if err := l.opts.checkBudget(budget); err != nil {
		return nil, err
	}
	return l.validated(fitted(ctx, l, func(ctx context.Context, w *guard.Watch) (*Result, error) {
		if result, err := l.fitTogether(ctx, w, budget); result != nil || err != nil {
			return result, err
		}
		return l.fitAlone(ctx, w, FitOptions{budget, l.opts.KeepUnranked, l.opts.History})
	}))
}

// validated checks a result if the options ask for that.
func (l *Layout) validated(r *Result, err error) (*Result, error) {
	if err != nil || !l.opts.Validate {
		return r, err
	}
	if err := chat.ValidateRequest(chat.Request{Messages: r.Messages, Tools: r.Tools}); err != nil {
		return nil, fmt.Errorf("render: the messages that are left within %d tokens: %w", r.Budget, err)
	}
	return r, nil
}
