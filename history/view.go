package history

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
)

// View is what of a session a model sees.
type View struct {
	// Compacted stands for what was compacted; empty before the first compaction.
	Compacted []chat.Message
	// Turns that are kept word for word. The last one is the current turn.
	Turns []Turn
}

// View gives what a model sees of the path to the leaf: the messages of the latest compaction on it, then what that kept
// and what came after. What starts a turn is kept as long as a round of it is, and what starts the current turn always.
// The same path gives the same view, whenever and wherever it is read. Its slices are the caller's own; what its entries
// hold is the session's and must not be changed. Elements use [ViewIn] instead.
func (s *Session) View() (View, error) { return s.ViewAt("") }

// ViewAt gives what a model sees of the path to an entry, to the leaf for "".
func (s *Session) ViewAt(id string) (View, error) {
	t, at, err := s.tree(id)
	if err != nil {
		return View{}, err
	}
	sn, err := s.snapshot(t, at)
	if err != nil {
		return View{}, err
	}
	return sn.view(), nil
}

// previewKey finds a compaction that is being tried in a context.
type previewKey struct{ session *Session }

// Preview gives a context in which the elements of this package show the session as if the compaction had been made.
// It is how a compactor sees that a compaction helps before it is written.
func Preview(ctx context.Context, s *Session, c Compaction) context.Context {
	return context.WithValue(ctx, previewKey{s}, c)
}

// pruneKey finds a rule for old output that holds in a context.
type pruneKey struct{ session *Session }

// WithPrune gives a context in which the elements of this package leave old tool output of the session out by a rule, unless
// they have one of their own. It is how a policy prunes before it summarises, without a say in the prompt.
func WithPrune(ctx context.Context, s *Session, p OutputPrune) context.Context {
	return context.WithValue(ctx, pruneKey{s}, p)
}

// in is the rule, or that of the context where there is none.
func (p OutputPrune) in(ctx context.Context, s *Session) OutputPrune {
	if p.Keep <= 0 {
		if rule, ok := ctx.Value(pruneKey{s}).(OutputPrune); ok {
			p = rule
		}
	}
	return p.of(s)
}

// ViewIn gives the session's view, or the one that is being tried in a context ([Preview]). An element that shows a session
// uses it, so that a compactor can see what a compaction would make of the prompt. The error is a [*BoundaryError] where the
// place at which the one that is tried cuts is not on the path.
func ViewIn(ctx context.Context, s *Session) (View, error) {
	sn, err := snapshotIn(ctx, s)
	if err != nil {
		return View{}, err
	}
	return sn.view(), nil
}

// snapshotIn is what [ViewIn] gives.
func snapshotIn(ctx context.Context, s *Session) (*snapshot, error) {
	t, leaf, err := s.tree("")
	if err != nil {
		return nil, err
	}
	c, trying := ctx.Value(previewKey{s}).(Compaction)
	if !trying {
		return s.snapshot(t, leaf)
	}
	if id := c.boundary(); id != "" {
		switch _, at, err := s.tree(id); {
		case err != nil:
			return nil, &BoundaryError{ID: id, Reason: BoundaryMissing}
		case !t.follows(leaf, at):
			return nil, &BoundaryError{ID: id, Reason: BoundaryLeft}
		}
	}
	return t.snapshotFrom(leaf, t.cut(c, leaf, int32(len(t.nodes))), c)
}

// Messages gives all that the view shows, in order and uncut, as it is sent.
func (v View) Messages() []chat.Message {
	list := append([]chat.Message(nil), v.Compacted...)
	for _, t := range v.Turns {
		if m, ok := t.Message(); ok {
			list = append(list, m)
		}
		for _, r := range t.Rounds {
			list = append(list, r.whole()...)
		}
	}
	return list
}
