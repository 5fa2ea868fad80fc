package render

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/layout"
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
	//   - A prompt of which pruning leaves no message is an error: [*EmptyPromptError].
	Compatible bool
	// KeepUnranked requires each piece if neither the piece nor an element around it has a priority, so that only
	// pieces with a priority are removed. A priority of 2^53−1 or more, the highest, counts as none; so does the 0 of
	// an element with PassPriority. A TokenLimit is still kept, by pruning any piece in it that is not Required. Off by
	// default.
	KeepUnranked bool
	// History says whether the contents of elements with the marker [elements.ShowsHistory] are required. Defaults to
	// HistoryAsGiven.
	History HistoryMode
}

// HistoryMode says whether history is required: the contents of elements with the marker [elements.ShowsHistory].
type HistoryMode uint8

// The history modes.
const (
	// HistoryAsGiven requires history if its elements are Required.
	HistoryAsGiven HistoryMode = iota
	// HistoryRequired requires all history, whatever its elements say. A TokenLimit around more history than it allows
	// is then a [*BudgetExceededError].
	HistoryRequired
	// HistoryDroppable ignores Required on an element with the marker, and on everything in it, if one of its messages,
	// or an element between it and them, has a priority. Messages are then dropped by their priorities, as if the
	// Conversation and TurnRounds of package history were Droppable. An element whose messages have no priorities stays
	// Required, for example one that shows the current request. An element with the marker inside another is judged by
	// its own messages.
	HistoryDroppable
)

// FitOptions replace the options that the tree was laid out with, for [Layout.FitWith] and [Layout.Floor].
type FitOptions struct {
	// Budget is the maximum number of tokens of the messages and tools, 1 or more.
	Budget int
	// KeepUnranked requires all pieces without a priority, as [Options.KeepUnranked] does. Off by default.
	KeepUnranked bool
	// History says whether history is required. Defaults to HistoryAsGiven.
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
	l := &layout.Layouter{
		Tokenizer: guard.Check(o.Tokenizer), Compatible: o.Compatible, KeepUnranked: o.KeepUnranked,
		Sizing: elements.Sizing{PromptBudget: cmp.Or(o.PromptBudget, o.Budget), Tokenizer: o.Tokenizer},
	}
	return l, o.checkFit(FitOptions{Budget: o.Budget, History: o.History})
}

// checkFit returns an error for options of a fit that are out of range.
func (o Options) checkFit(fit FitOptions) error {
	switch {
	case fit.History > HistoryDroppable:
		return worded.Errorf(ErrBudget, "render: History is out of range: %d, must be a mode from 0 to %d", fit.History, HistoryDroppable)
	case fit.Budget < 0 || fit.Budget == 0 && !o.Compatible:
		return worded.Errorf(ErrBudget, "render: the budget is out of range: %d tokens, must be 1 or more", fit.Budget)
	}
	return nil
}

// target returns how many tokens of a prompt may be left: the budget, or with a low water the rest after the number of
// dropped tokens is rounded up to a multiple of (budget − low water).
func (o Options) target(budget, tokens int) int {
	if tokens <= budget {
		return budget
	}
	step := max(1, budget-int(o.LowWater*float64(budget)))
	drop := (tokens - budget + step - 1) / step * step
	return max(0, tokens-drop)
}
