package render

import (
	"context"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// survey is a pruning as far as possible.
type survey struct {
	state    *tree.State
	base     tree.Step // the last step of the limits
	keptFrom []int     // by step after base, the budget from which on the removed pieces are kept
	sizes    map[tree.ID][]SizeAt
	smallest int // smallest budget so far that the prompt fits

	from, below int // it holds for the budgets from from up to below
}

// setBudgets sets the budgets of a piece.
func (s *survey) setBudgets(p *Piece, at tree.Change) {
	step := s.removedAt(at)
	switch {
	case p.Dropped == reasonShare: // at any budget
	case step == 0:
		p.KeptFrom = s.smallest
	case step > s.base:
		p.KeptFrom = s.keptFrom[step-s.base-1]
		if p.Kind != pieceText {
			return
		}
		if p.Sizes = s.sizes[at.Node]; p.Sizes == nil && s.left(at.Node) < max(p.Tokens, p.TrimmedFrom) {
			p.Sizes = []SizeAt{{p.KeptFrom, s.left(at.Node)}}
		}
	}
}

// removedAt returns the step at which a piece was removed, 0 if it was not.
func (s *survey) removedAt(at tree.Change) tree.Step {
	step := s.state.DropOf(at).Step
	for n := at.Node; n != tree.None && step == 0; n = s.state.Tree.Nodes[n].Parent {
		step = s.state.Drop(n).Step
	}
	return step
}

// left returns the tokens of a text that layout and the limits left.
func (s *survey) left(text tree.ID) int {
	if t := s.state.Trimmed(text); t != nil {
		return t.Tokens
	}
	tokens, _ := s.state.Tree.Tokens(text)
	return tokens
}

// survey prunes the tree of a layout, as long as the budget is one at which the limits of the fit are kept.
func (l *Layout) survey(ctx context.Context, o FitOptions) (*survey, error) {
	switch _, joins := l.layouter.Tokenizer.(chat.Joiner); {
	case l.opts.LowWater != 0:
		return nil, fmt.Errorf("%w: there is a low water", ErrNoSurvey)
	case l.opts.Backfill:
		return nil, fmt.Errorf("%w: there is backfill", ErrNoSurvey)
	case !joins:
		return nil, fmt.Errorf("%w: the counts of the tokenizer do not add up", ErrNoSurvey)
	}
	return guarded(ctx, l.layouter, func(ctx context.Context, w *guard.Watch) (*survey, error) {
		f := newFitting(l, w, o)
		if len(f.growth.all) > 0 {
			return nil, fmt.Errorf("%w: there are expandables", ErrNoSurvey)
		}
		s := &survey{state: f.state, from: 1, sizes: map[tree.ID][]SizeAt{}}
		for _, limit := range f.limits {
			switch {
			case limit.max <= o.Budget:
				s.from = max(s.from, limit.max)
			case s.below == 0 || limit.max < s.below:
				s.below = limit.max
			}
		}
		if err := f.keepLimits(ctx); err != nil {
			return nil, err
		}
		f.lockUnranked()
		s.base = f.state.Now
		s.prune(ctx, f, o.Budget)
		return s, context.Cause(ctx)
	})
}

// prune removes pieces as far as the smallest budget of the survey. It is a budget at which the cache breakpoints are
// held if they are held at the given one, and else one below that.
func (s *survey) prune(ctx context.Context, f *fitting, budget int) {
	if _, held := f.order.Hold(tree.Root); held {
		s.remove(ctx, f)
		f.order.Release()
		if s.smallest <= budget {
			s.from = s.smallest
			return
		}
		if s.below == 0 || s.smallest < s.below {
			s.below = s.smallest
		}
		s.keptFrom, s.sizes = nil, map[tree.ID][]SizeAt{}
		f.rewind(s.base)
	}
	s.remove(ctx, f)
}

// remove removes pieces until the prompt fits the smallest budget of the survey or nothing more may be removed.
func (s *survey) remove(ctx context.Context, f *fitting) {
	tokens := f.count.Count(tree.Root)
	s.smallest = max(s.from, tokens)
	for tokens > s.from && ctx.Err() == nil {
		n, why, _ := f.order.Choose(tree.Root)
		if n == tree.None {
			break
		}
		var cuts []cut
		text := trimmableText(f.state.Tree, n)
		if text != tree.None {
			cuts = s.cutsOf(f, text)
		}
		f.order.Remove(n, why)
		keptFrom := s.smallest
		if tokens = f.count.Count(tree.Root); tokens < keptFrom {
			s.smallest = max(s.from, tokens)
			if text == tree.None {
				if text = f.trimmable(tree.Root, n); text != tree.None {
					f.rewind(f.state.Now - 1)
					cuts = s.cutsOf(f, text)
					f.order.Remove(n, why)
				}
			}
			if cuts != nil {
				sizes := append(sizesBetween(s.smallest, keptFrom, cuts), SizeAt{keptFrom, f.count.Piece(text)})
				s.sizes[text], keptFrom = sizes, sizes[0].Budget
			}
		}
		s.keptFrom = append(s.keptFrom, keptFrom)
	}
}

// cut holds the tokens of a trimmed text, and of the prompt with it. text is 0 if the text would be too short to keep.
type cut struct{ prompt, text int }

// cutsOf returns a cut for each text that one may be trimmed to, the shortest first.
func (s *survey) cutsOf(f *fitting, text tree.ID) []cut {
	whole := f.whole(text)
	cuts := make([]cut, whole.was)
	for i := 1; i < len(cuts); i++ { // nothing is left of the first
		f.count.Trim(text, i)
		if cuts[i].prompt = f.count.Count(tree.Root); whole.leavesEnough(f.state, f.count) {
			cuts[i].text = f.count.Piece(text)
		}
	}
	whole.undo(f.count)
	return cuts
}

// sizesBetween returns the sizes of a text at the budgets in [from, to). At to and above, the text is whole.
func sizesBetween(from, to int, cuts []cut) (sizes []SizeAt) {
	budgets := []int{from}
	for _, c := range cuts {
		budgets = append(budgets, c.prompt, c.prompt-tree.Slack) // only here the longest text that fits may change
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
			sizes = append(sizes, SizeAt{budget, tokens})
		}
	}
	return sizes
}
