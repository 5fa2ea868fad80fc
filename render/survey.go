package render

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// ErrNoSurvey is the error of a survey if it is not known from which budget on pieces are kept.
var ErrNoSurvey = errors.New("render: the budgets of the pieces are not known")

// Survey is the report of a result, and in it the budget from which on each piece is kept, and the sizes of texts that may be
// trimmed ([Piece]). They hold for fits of the same layout with the same options, and exactly: at every budget at which the same limits
// are kept, which is those from From up to below Below. Of the pieces that go for the
// budget, that with the largest KeptFrom goes first.
type Survey struct {
	Report Report
	// From is the largest [elements.TokenLimit] within the budget of the result, or 1.
	From int
	// Below is the smallest [elements.TokenLimit] above the budget of the result, 0 if there is none.
	Below int
	// Least is the smallest budget from From on that the prompt fits.
	Least int
}

// Survey prunes the prompt once, as far as it goes, whatever the number of pieces. The error wraps [ErrNoSurvey] if that says nothing of
// other budgets: with a low water, with backfill, with expandables, or with a tokenizer that is no [chat.Joiner].
func (r *Result) Survey(ctx context.Context) (Survey, error) {
	if r == nil || r.survey == nil {
		return Survey{}, fmt.Errorf("%w: the result is not of a render", ErrNoSurvey)
	}
	s, err := r.survey(ctx)
	if err != nil {
		return Survey{}, err
	}
	report := slices.Clone(r.Report())
	for i := range report {
		s.tell(&report[i], s.going[i])
	}
	return Survey{report, s.from, s.below, s.smallest}, nil
}

// survey is a pruning as far as it goes.
type survey struct {
	base     tree.Step // of the limits
	keptFrom []int     // by step from the base on, the budget from which on what goes is kept
	sizes    map[tree.ID][]Size
	smallest int // budget that the prompt fits
	going    []going

	from, below int // budgets that it holds for
}

// tell sets the budgets of a piece.
func (s *survey) tell(p *Piece, g going) {
	switch {
	case g.step == 0:
		p.KeptFrom = s.smallest
	case g.step > s.base:
		p.KeptFrom, p.Sizes = s.keptFrom[g.step-s.base-1], s.sizes[g.text]
	}
}

// survey prunes the tree of a layout as far as budgets keep the limits that a fit kept.
func (l *Layout) survey(ctx context.Context, o FitOptions) (*survey, error) {
	switch {
	case l.opts.LowWater != 0:
		return nil, fmt.Errorf("%w: there is a low water", ErrNoSurvey)
	case l.opts.Backfill:
		return nil, fmt.Errorf("%w: there is backfill", ErrNoSurvey)
	case !l.joins():
		return nil, fmt.Errorf("%w: the counts of the tokenizer do not add up", ErrNoSurvey)
	}
	return fitted(ctx, l, func(ctx context.Context, w *guard.Watch) (*survey, error) {
		from, err := l.built(ctx, w, o.History)
		if err != nil {
			return nil, err
		}
		if len(from.Expandables) > 0 {
			return nil, fmt.Errorf("%w: there are expandables", ErrNoSurvey)
		}
		f := newFitting(l, from, o)
		f.watch = w
		s := &survey{from: 1, sizes: map[tree.ID][]Size{}}
		for _, limit := range f.limits {
			switch {
			case limit.max <= o.Budget:
				s.from = max(s.from, limit.max)
			case s.below == 0 || limit.max < s.below:
				s.below = limit.max
			}
		}
		if err := f.keepLimits(ctx, o.Budget); err != nil {
			return nil, err
		}
		f.lockUnranked()
		s.base = f.state.Now
		s.prune(ctx, f)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return s, nil
	})
}

// prune takes out one piece after the other until the prompt fits a budget or nothing more may go.
func (s *survey) prune(ctx context.Context, f *fitting) {
	tokens := f.count.Count(tree.Root)
	s.smallest = max(s.from, tokens)
	for tokens > s.from && ctx.Err() == nil {
		n, why, _ := f.order.Choose(tree.Root)
		if n == tree.None {
			break
		}
		var cuts []cut
		text := trims(f.state.Tree, n, why)
		if text != tree.None && !f.order.BeforeBreakpoint(text) {
			cuts = s.cutsOf(f, text)
		}
		f.order.Remove(n, why)
		keptFrom := s.smallest
		if tokens = f.count.Count(tree.Root); tokens < keptFrom {
			s.smallest = max(s.from, tokens)
			if cuts != nil {
				sizes := append(sizesBetween(s.smallest, keptFrom, cuts), Size{keptFrom, f.count.Piece(text)})
				s.sizes[text], keptFrom = sizes, sizes[0].Budget
			}
		}
		s.keptFrom = append(s.keptFrom, keptFrom)
	}
	s.going = (&reporter{fit: f, at: tree.Latest}).of(tree.Root).going
}

// cut is a text that became shorter: what the prompt counts with it, and what the text does, 0 if that is too little to be left.
type cut struct{ prompt, text int }

// cutsOf returns the texts that one may become, from the shortest on.
func (s *survey) cutsOf(f *fitting, text tree.ID) []cut {
	whole := trimming{text, f.state.Tree.Extra(text).Trim.Texts}
	if before := f.state.Trimmed(text); before != nil {
		whole.was = before.Index
	}
	cuts := make([]cut, whole.was)
	for i := 1; i < len(cuts); i++ { // of the first nothing is left
		f.count.Trim(text, i)
		if cuts[i].prompt = f.count.Count(tree.Root); whole.leavesEnough(f.state, f.count) {
			cuts[i].text = f.count.Piece(text)
		}
	}
	whole.undo(f.count)
	return cuts
}

// sizesBetween returns the sizes of a text at the budgets from one up to below another, at which it is whole.
func sizesBetween(from, to int, cuts []cut) (sizes []Size) {
	budgets := []int{from}
	for _, c := range cuts {
		budgets = append(budgets, c.prompt, c.prompt-tree.Slack) // at which another one may be the longest
	}
	slices.Sort(budgets)
	for _, budget := range slices.Compact(budgets) {
		if budget < from || budget >= to {
			continue
		}
		tokens := 0
		if longest := longestWithin(budget, len(cuts), func(i int) int { return cuts[i].prompt }); longest > 0 {
			tokens = cuts[longest].text
		}
		switch {
		case tokens == 0:
			sizes = nil
		case len(sizes) == 0 || sizes[len(sizes)-1].Tokens != tokens:
			sizes = append(sizes, Size{budget, tokens})
		}
	}
	return sizes
}
