package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/visible"
)

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

	left, all func() account // the breakdown of what is left, and everything
	survey    func(context.Context) (*survey, error)
}

// account is what a fitting led to: where the tokens are, and every piece, kept or dropped, as a list and as a tree.
type account struct {
	breakdown Breakdown
	report    Report
	outline   *Outline
}

// Report lists every piece of the prompt, kept or dropped. The first call costs a pass over the tree, which the result
// keeps in memory, and counts the dropped texts. The report is empty if the tokenizer fails, or a fit of the layout was
// left behind.
func (r *Result) Report() Report { return r.account().report }

// account returns what the result's fitting led to, an empty one for a result that no render made.
func (r *Result) account() account {
	if r == nil || r.all == nil {
		return account{}
	}
	return r.all()
}

// Outline returns the prompt as a tree. Its pieces are those of [Result.Report], in the same order. It costs as much as
// the report, and a count of each message. It is nil if the tokenizer fails, or a fit of the layout was left behind.
func (r *Result) Outline() *Outline { return r.account().outline }

// Breakdown returns where the tokens of the prompt are. It costs a pass over what is left of the tree, and counts texts
// only of messages with several categories. It is zero if the tokenizer fails, and for a result that no render made.
func (r *Result) Breakdown() Breakdown {
	if r == nil || r.left == nil {
		return Breakdown{}
	}
	return r.left().breakdown
}

// Kept reports whether something of an element is left, by its name: its ReportName, the name of a tag, a tool or a type
// of your own, with or without its number among siblings. It is for tests of prompts, and for what a program logs. It
// costs what [Result.Report] does.
func (r *Result) Kept(name string) bool {
	name = visible.Line(name)
	return slices.ContainsFunc(r.Report().Kept(), func(p Piece) bool {
		return slices.ContainsFunc(strings.Split(p.Path, " > "), func(part string) bool {
			plain, _ := splitNumber(part)
			return name == part || name == plain
		})
	})
}

// ErrNoSurvey is the error of a survey if the budgets from which on pieces are kept cannot be known.
var ErrNoSurvey = errors.New("render: the budgets of the pieces are not known")

// Survey is the report of a result, with the budget from which on each piece is kept, and the sizes of texts that may
// be trimmed (Piece.KeptFrom, Piece.Sizes). They hold exactly, for fits of the same layout with the same options, at
// every budget at which the same limits are kept, and the cache breakpoints are held or given up as in the result: from
// From up to, but not including, Below. Pieces are removed in the order of KeptFrom, the largest first.
type Survey struct {
	Report Report
	// From is the largest [elements.TokenLimit] within the budget of the result, or 1; or the budget from which on cache
	// breakpoints are held, if they are held in the result and that is larger.
	From int
	// Below is the smallest [elements.TokenLimit] above the budget of the result, or the budget from which on cache
	// breakpoints are held; 0 if there is neither.
	Below int
	// Least is the smallest budget, at least From, that the prompt fits. If all messages may be removed, a fit to it is
	// an [*EmptyPromptError].
	Least int
}

// Survey returns the budgets from which on the pieces are kept. It prunes the prompt once, as far as possible,
// whatever the number of pieces, and goes on if no message is left. The error wraps [ErrNoSurvey] if one pruning says
// nothing about other budgets: with a low water, with backfill, with expandables, or with a tokenizer that is not a
// [chat.Joiner].
func (r *Result) Survey(ctx context.Context) (Survey, error) {
	if r == nil || r.survey == nil {
		return Survey{}, fmt.Errorf("%w: the result is not of a render", ErrNoSurvey)
	}
	s, err := r.survey(ctx)
	if err != nil {
		return Survey{}, err
	}
	all := r.all()
	report := all.report
	report.Pieces = make([]Piece, 0, len(report.Pieces))
	all.outline.each(func(o *Outline) {
		report.Pieces = append(report.Pieces, *o.Piece)
		s.setBudgets(&report.Pieces[len(report.Pieces)-1], o.at)
	})
	return Survey{report, s.from, s.below, s.smallest}, nil
}
