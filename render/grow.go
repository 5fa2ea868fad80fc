package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// growth is what may grow in a fitting.
type growth struct {
	mode  HistoryMode
	all   []expandable    // in the order in which they were rendered
	fixed bool            // they do not grow
	grown map[*node]*node // what each grew to last
}

// expandable is a node that may grow, and what grows it.
type expandable struct {
	id    tree.ID // None once another grew over it
	draft *node   // as it was laid out
}

// offer has the expandables in a limit, or in the whole prompt, grow into what is left of so many tokens.
func (f *fitting) offer(ctx context.Context, limit, tokens int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	container := f.container(limit)
	grows := slices.ContainsFunc(f.growth.all, func(e expandable) bool { return f.standsIn(e.id, container) })
	if f.growth.fixed || !grows || f.count.Count(container) >= tokens {
		return nil
	}
	return f.expand(ctx, limit, tokens)
}

// container returns the node of a limit.
func (f *fitting) container(limit int) tree.ID {
	if limit == wholePrompt {
		return tree.Root
	}
	return f.limits[limit].id
}

func (f *fitting) standsIn(id, container tree.ID) bool {
	return id > container && id < f.Nodes[container].End
}

// expand offers what is left of a limit to the expandables in it, one after the other. Each may take what is left and
// what its first rendering used, so that it can shrink too.
func (f *fitting) expand(ctx context.Context, limit, tokens int) error {
	used := f.count.Count(f.container(limit))
	for i, e := range f.growth.all {
		if e = f.growth.all[i]; !f.standsIn(e.id, f.container(limit)) || !f.Attached(e.id, tree.None) {
			continue
		}
		first := e.draft.more().expandMax
		have := &room{budget: min(tokens, most) - used + first}
		grown, err := f.layout.layouter.grow(ctx, e.draft, f.watch, have)
		if err != nil {
			return err
		}
		if f.growth.grown == nil {
			f.growth.grown = map[*node]*node{}
		}
		f.growth.grown[e.draft] = grown
		f.replace(e.id, grown)
		if used += have.consumed() - first; used >= tokens {
			break
		}
	}
	return nil
}

// replace puts what an expandable grew to in its place.
func (f *fitting) replace(id tree.ID, grown *node) {
	old := f.State
	end := old.Nodes[id].End
	p := newBuilder(f.growth.mode)
	t := p.tree
	*t = *old.Tree
	t.Names, t.Extras = slices.Clone(old.Names), slices.Clone(old.Extras)
	t.Groups, t.References = slices.Clone(old.Groups), slices.Clone(old.References)
	t.Nodes = append(make([]tree.Node, 0, len(old.Nodes)), old.Nodes[:id]...)
	for number, name := range t.Names {
		p.names[name] = uint16(number)
	}
	var in surroundings
	for up := old.Nodes[id].Parent; up != tree.None; up = old.Nodes[up].Parent {
		n := &old.Nodes[up]
		in.message = in.message || n.Kind == tree.Message
		in.required = in.required || n.Is(tree.Required)
		in.legacy = in.legacy || n.Is(tree.Legacy)
	}
	in.ignored = f.growth.mode.ignores(grown)
	p.add(grown, old.Nodes[id].Parent, int(old.Nodes[id].Nth), in)
	t.Globals = nil
	f.layout.draft.globals(&t.Globals, f.growth.grown)
	shift := tree.ID(len(t.Nodes)) - end
	moved := func(n tree.ID) tree.ID {
		switch {
		case n <= id: // the expandable itself stands where it stood
			return n
		case n < end:
			return tree.None
		}
		return n + shift
	}
	for _, n := range old.Nodes[end:] {
		n.Parent, n.End = moved(n.Parent), n.End+shift
		t.Nodes = append(t.Nodes, n)
	}
	for up := old.Nodes[id].Parent; up != tree.None; up = old.Nodes[up].Parent {
		t.Nodes[up].End += shift
		if !t.Nodes[id].Is(tree.Lines) {
			t.Nodes[up].Flags &^= tree.Lines
		}
	}
	for k := range f.limits {
		if l := &f.limits[k]; l.id != tree.None {
			if l.id > id && l.id < end {
				l.path = old.Path(l.id)
			}
			l.id = moved(l.id)
		}
	}
	for k := range f.growth.all {
		if e := &f.growth.all[k]; e.id != tree.None {
			e.id = moved(e.id)
		}
	}
	next := tree.NewState(t, nil)
	next.Replay(old, moved)
	f.prepare(next)
}
