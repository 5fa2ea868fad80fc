package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/render/internal/layout"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// offer lets the expandables in a limit, or in the whole prompt, grow into the rest of a number of tokens. If there are
// fewer than they were told at layout, they shrink, as far as that keeps the limit.
func (f *fitting) offer(ctx context.Context, limit, tokens int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	container := f.container(limit)
	grows := slices.ContainsFunc(f.growth.all, func(e tree.Expandable) bool { return isInside(f.state.Tree, e.ID, container) })
	if f.growth.fixed || !grows {
		return nil
	}
	if f.count.Count(container) < tokens {
		if err := f.expand(ctx, limit, tokens); err != nil {
			return err
		}
	}
	if f.layout.layouter.Compatible || f.count.Count(f.container(limit)) <= tokens {
		return nil
	}
	before := *f
	before.growth.all, before.limits = slices.Clone(f.growth.all), slices.Clone(f.limits)
	kept, err := f.shrink(ctx, limit, tokens)
	if err == nil && !kept { // pruning decides what goes
		*f = before
	}
	return err
}

// shrink offers as many tokens fewer as a limit is exceeded by to the expandables in it that take more than that, those of
// the lowest priority first, and reports whether the limit is kept then. So what grows into tokens to spare never costs
// what stands beside it, which may take a few more than layout reckoned where texts meet.
func (f *fitting) shrink(ctx context.Context, limit, tokens int) (kept bool, err error) {
	used := f.count.Count(f.container(limit))
	for i := len(f.growth.all) - 1; i >= 0; i-- {
		for try, before := 0, 0; try < maxShrinks && used > tokens; try++ {
			e := f.growth.all[i]
			if !isInside(f.state.Tree, e.ID, f.container(limit)) || !f.state.Attached(e.ID, tree.None) {
				break
			}
			takes := f.count.Count(e.ID)
			left := takes - (used - tokens)
			if left < 0 {
				break
			}
			told := min(left, e.Told*left/takes) // less than left if it takes more than it was told, because its text is escaped
			if used == before && try > 1 {       // it does not need what it was told
				told = e.Told / 2
			}
			if told >= e.Told {
				break
			}
			if _, err := f.grow(ctx, i, told); err != nil {
				return false, err
			}
			before, used = used, f.count.Count(f.container(limit))
		}
	}
	return used <= tokens, nil
}

// maxShrinks is the number of times that an expandable shrinks for a limit: where texts meet, a shorter one may count more.
const maxShrinks = 8

// grow renders an expandable again with a number of tokens, and puts it in its place. It returns how many tokens layout
// charges for it.
func (f *fitting) grow(ctx context.Context, i, tokens int) (charged int, err error) {
	grown, charged, largest, err := f.layout.layouter.Grow(ctx, f.watch, f.state.Tree, f.growth.all[i], tokens)
	if err != nil {
		return 0, err
	}
	f.growth.all[i].Largest, f.growth.all[i].Told = largest, tokens
	f.replace(i, grown)
	return charged, layout.CheckTools(f.state.Tree)
}

// blankTags returns the tokens of the blank tags around a node: they are written only once it holds text.
func blankTags(s *tree.State, n tree.ID) (tokens int) {
	for ; n != tree.None && s.Blank(n); n = s.Tree.Nodes[n].Parent {
		if tag := s.Tree.Extra(n).Tag; tag != nil {
			tokens += tag.InMessage()
		}
	}
	return tokens
}

// expand offers the rest of a limit to the expandables in it, one after the other. Each may use that and the tokens of
// its first rendering, so it can shrink too.
func (f *fitting) expand(ctx context.Context, limit, tokens int) error {
	used := f.count.Count(f.container(limit))
	for i, e := range f.growth.all {
		if e = f.growth.all[i]; e.Largest || !isInside(f.state.Tree, e.ID, f.container(limit)) || !f.state.Attached(e.ID, tree.None) {
			continue
		}
		now, err := f.grow(ctx, i, min(tokens, layout.MaxBudget)-used+e.Used-blankTags(f.state, e.ID))
		if err != nil {
			return err
		}
		if used += now - e.Used; used >= tokens {
			break
		}
	}
	return nil
}

// replace puts what an expandable grew to in its place.
func (f *fitting) replace(i int, grown *tree.Tree) {
	old, id := f.state.Tree, f.growth.all[i].ID
	t, moved := old.Replace(f.growth.all, i, grown, tree.HistoryMode(f.options.History))
	for k := range f.limits {
		if l := &f.limits[k]; l.id != tree.None {
			if l.id > id && l.id < old.Nodes[id].End {
				l.path = old.Path(l.id)
			}
			l.id = moved(l.id)
		}
	}
	next := tree.NewState(t)
	next.Replay(f.state, moved)
	f.prepare(next)
	f.removeShareless()
}
