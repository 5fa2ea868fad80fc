package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/layout"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// ErrNoTokenizer is the error of [Options] without a tokenizer.
var ErrNoTokenizer = errors.New("render: Options.Tokenizer is not set: use one of sizing/tiktoken, a *sizing.Calibrated, or your own")

// Options say what a prompt must fit. Features that prompt-tsx does not have are off by default.
type Options struct {
	// Budget is the maximum number of tokens of the messages and of the tools in the tree, 1 or more.
	// [sizing.Window.Budget] computes it.
	Budget int
	// Tokenizer counts the prompt.
	Tokenizer chat.Tokenizer
	// PromptBudget is the budget of the whole prompt that elements are told. Defaults to Budget. Set it to the usual
	// budget if a prompt is rendered smaller than usual, and elements that depend on the window should not change.
	PromptBudget int
	// LowWater is a share of the budget, above 0 and below 1, such as 0.7. Once a prompt is over its budget, the number
	// of dropped tokens is rounded up to a multiple of the budget less its low water. If a conversation grows by a
	// little from render to render, its cut then stays in place for many of them, the same prefix is sent again, and
	// the provider's prompt cache serves it. Limits are not affected. Defaults to 0, which is off.
	LowWater float64
	// Backfill fills the room that a large piece left with smaller pieces that were pruned before it, those of the
	// highest priority first, as far as they fit. Groups and chunks stay whole, and no tool call or result comes back
	// without its other half. Off by default.
	Backfill bool
	// Compatible renders as @vscode/prompt-tsx 0.4 does, to the byte, on every tree that both can express, with a tokenizer
	// that keeps the promise of [chat.Tokenizer] about texts that are joined. What Go cannot tell apart counts as not
	// given: an empty list of tool calls, a tokenUsage of 0, and a flexReserve of 0 unless Reserve.Zero says so. What
	// stands in an image or a document is left out as there, but not charged when the tree is laid out. Off by default.
	// Without it the differences are these:
	//
	//   - A budget of 0, a nil tree, a message in a message, two tool calls of one id in a message, and an Expandable
	//     without a Value are errors.
	//   - Chunks and groups stay whole: a chunk or finished messages with PassPriority, a chunk in a
	//     LegacyPrioritization, and one in which a message is removed for a limit. With a tool call, the group that it
	//     is linked to is removed.
	//   - In the last flex group, elements that ask for a share get what the others leave ([elements.Sizing]).
	//   - A text chunk with a break is laid out whole, unless it asks for a share itself, and trimmed rather than dropped
	//     if it is the last piece to be removed. A required one is trimmed to a limit. See Trimming and Shares on the
	//     package's page.
	//   - A cache breakpoint is a preference: it never makes a prompt fail that would fit without it. See rule 6 there.
	//   - Tokens to spare are offered to expandables by priority, the highest first, and not in the order of layout.
	//   - Text in the Children of an image or a document is an error; prompt-tsx leaves it out.
	//   - A prompt of which pruning leaves no message is an error: [*EmptyError].
	Compatible bool
	// Validate checks the messages and tools that are left with [chat.ValidateRequest], whose [*chat.ValidationError]
	// the error wraps: for example, that every tool call has its result, that the last message is the user's or a
	// tool's, and that the parameters of tools are JSON objects. Off by default, because a prompt may be only part of a
	// request.
	Validate bool
	// KeepUnranked requires each piece if neither the piece nor an element around it has a priority, so that only
	// pieces with a priority are removed. A priority of 2^53−1 or more, the highest, counts as none; so does the 0 of
	// an element with PassPriority. A TokenLimit is still kept, by pruning any piece in it that is not Required. Off by
	// default.
	KeepUnranked bool
	// History says whether the contents of elements with the marker [elements.ShowsHistory] are required. Defaults to
	// HistoryAsGiven.
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
		return nil, worded.Errorf(ErrBudget, "render: Options.PromptBudget is out of range: %d, must be 1 or more, or 0 for the budget", o.PromptBudget)
	case !(o.LowWater >= 0 && o.LowWater < 1):
		return nil, worded.Errorf(ErrBudget, "render: Options.LowWater is out of range: %v, must be a share of 0 or more and below 1", o.LowWater)
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
		return worded.Errorf(ErrBudget, "render: the budget is out of range: %d tokens, must be 1 or more", budget)
	}
	return nil
}

// Result is a rendered prompt.
type Result struct {
	// Messages to send.
	Messages []chat.Message
	// Tools to declare: those of the tree that are left ([elements.Tool]), in its order. Nil if none are.
	Tools []chat.Tool
	// Tokens of the messages and tools by the tokenizer's count, at most the budget. A message of only white space is
	// counted but not sent.
	Tokens int
	// Budget that the prompt was fitted to.
	Budget int
	// Metadata of the elements that are left, and all global metadata.
	Metadata elements.Metadata
	// References whose text was kept, each name once.
	References []elements.Reference
	// OmittedReferences are those of which no text was kept.
	OmittedReferences []elements.Reference

	left, all func() account // what it tells of what is left, and of everything
	survey    func(context.Context) (*survey, error)
}

// Report lists every piece of the prompt, kept or dropped. The first call costs a pass over the tree, which the result
// keeps in memory, and counts the dropped texts. The report is empty if the tokenizer fails, or a fit of the layout was
// left behind.
func (r *Result) Report() Report {
	if r == nil || r.all == nil {
		return Report{}
	}
	return r.all().report
}

// Kept reports whether something of an element is left, by its name: its ReportName, the name of a tag, a tool or a type
// of your own, with or without its number among siblings. It is for tests of prompts, and for what a program logs. It
// costs what [Result.Report] does.
func (r *Result) Kept(name string) bool {
	return slices.ContainsFunc(r.Report().Kept(), func(p Piece) bool {
		return slices.ContainsFunc(strings.Split(p.Path, " > "), func(part string) bool {
			plain, _ := splitNumber(part)
			return name == part || name == plain
		})
	})
}

// Render makes messages from a tree of elements and prunes them until they fit the budget, in four steps.
//
//  1. Lay out. Elements are rendered from the root down, each with a share of its parent's budget: siblings without
//     FlexGrow first, then each FlexGrow value from high to low. The share only says how much an element may use; see
//     [elements.Props].
//  2. Limit and grow. Token limits are kept in the reverse order of layout, the whole prompt's budget last. If a limit
//     has tokens left, they are offered to each [elements.Expandable] and [elements.First] in it, those of the highest
//     priority first.
//  3. Prune. If a limit is exceeded, one piece after the other is removed, the least important first, until the exact
//     count fits. Required pieces stay.
//  4. If nothing more may be removed and it still does not fit, an element that can make room ([elements.MakesRoom]) does,
//     and the tree is rendered once more; else the error is a [*BudgetExceededError]. If the prompt had
//     a message and pruning left none, the error is an [*EmptyError], unless the options say Compatible.
//
// A tree without a message is not an error, because nothing was lost: for example one with only tools, with conditions
// that are all false, or with a session in which nothing was said yet. [Options.Validate] refuses it.
//
// An error or a panic in an element is returned as an [*ElementError] with its path, one in the tokenizer as a
// [*TokenizerError]. A cancelled context ends the render with its cause, as soon as the elements that are running have
// returned. After a second the render ends anyway: the error names the element that has not returned, and its goroutine
// is left behind.
//
// The same tree, budget and tokenizer always give the same messages.
func Render(ctx context.Context, root elements.Node, opts Options) (*Result, error) {
	laidOut, err := Lay(ctx, root, opts)
	if err != nil {
		return nil, err
	}
	result, err := laidOut.Fit(ctx, opts.Budget)
	if over, ok := errors.AsType[*BudgetExceededError](err); ok && over.Limit == "" {
		smaller, failed := laidOut.makeRoom(ctx, over.Needed-over.Budget)
		if failed != nil {
			return nil, fmt.Errorf("%w: making room: %w", err, failed)
		}
		if smaller {
			if laidOut, err = Lay(ctx, root, opts); err == nil {
				result, err = laidOut.Fit(ctx, opts.Budget)
			}
		}
	}
	return result, err
}

// makeRoom asks the first element that can to take less room, and reports whether it does.
func (l *Layout) makeRoom(ctx context.Context, over int) (smaller bool, err error) {
	for _, m := range l.tree.Marks() {
		room, ok := m.(elements.MakesRoom)
		if !ok {
			continue
		}
		smaller, err = callback.Call(ctx, func(ctx context.Context) (bool, error) { return room.MakeRoom(ctx, over) })
		if smaller || err != nil {
			return smaller, err
		}
	}
	return false, nil
}

// Layout is a tree that was laid out and can be fitted to any budget. It is safe for concurrent use.
type Layout struct {
	tree     *tree.Tree // as it was laid out
	layouter *layout.Layouter
	opts     Options

	mu    sync.Mutex
	trees [tree.HistoryModes]*tree.Tree // by mode, nil until needed
}

// inMode returns the tree of a history mode.
func (l *Layout) inMode(mode HistoryMode) *tree.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trees[mode] == nil {
		l.trees[mode] = l.tree.WithHistory(tree.HistoryMode(mode))
	}
	return l.trees[mode]
}

// Lay does the first step of [Render]. Elements get shares of the budget in the options.
func Lay(ctx context.Context, root elements.Node, opts Options) (*Layout, error) {
	l, err := opts.layouter()
	if err != nil {
		return nil, err
	}
	if root == nil && !opts.Compatible {
		return nil, &ElementError{Path: tree.RootPath, Err: fmt.Errorf("%w: the tree", ErrNilElement)}
	}
	laidOut, err := guarded(ctx, l, func(ctx context.Context, w *guard.Watch) (*tree.Tree, error) {
		return l.Lay(ctx, w, root, opts.Budget)
	})
	if err != nil {
		return nil, err
	}
	if c := marks.Of(ctx); c != nil {
		c.All = laidOut.Marks()
	}
	return &Layout{tree: laidOut, layouter: l, opts: opts}, nil
}

// Tools returns the tools in the tree, in its order; nil if there are none. Tools that an Expandable adds when it grows
// are not among them.
func (l *Layout) Tools() []chat.Tool { return l.tree.ToolsOf(l.tree.Tools) }

// Fit does the other steps, for a budget that need not be the one that the tree was laid out for. Expandables are
// rendered again; no other element is, so an element that would have filled a larger share stays as it is.
//
// Each fit prunes anew, but a text is counted only once. To learn what other budgets would keep, call [Result.Survey],
// which prunes once for all of them.
func (l *Layout) Fit(ctx context.Context, budget int) (*Result, error) {
	return l.FitWith(ctx, FitOptions{budget, l.opts.KeepUnranked, l.opts.History})
}

// validated checks a result if the options say so.
func (l *Layout) validated(r *Result, err error) (*Result, error) {
	if err != nil || !l.opts.Validate {
		return r, err
	}
	if err := chat.ValidateRequest(chat.Request{Messages: r.Messages, Tools: r.Tools}); err != nil {
		return nil, fmt.Errorf("render: the messages left within %d tokens are invalid: %w", r.Budget, err)
	}
	return r, nil
}
