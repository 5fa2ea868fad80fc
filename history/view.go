package history

import (
	"context"
	"slices"

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
// The same path gives the same view, whenever and wherever it is read. Elements use [ViewIn] instead.
func (s *Session) View() (View, error) { return s.ViewAt("") }

// ViewAt gives what a model sees of the path to an entry, to the leaf for "".
func (s *Session) ViewAt(id string) (View, error) {
	t, at, err := s.tree(id)
	if err != nil {
		return View{}, err
	}
	boundary, compacted, err := t.boundary(at)
	if err != nil {
		return View{}, err
	}
	return t.view(at, boundary, compacted)
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
	c, trying := ctx.Value(previewKey{s}).(Compaction)
	if !trying {
		return s.View()
	}
	t, leaf, err := s.tree("")
	if err != nil {
		return View{}, err
	}
	if id := c.boundary(); id != "" {
		switch _, at, err := s.tree(id); {
		case err != nil:
			return View{}, &BoundaryError{ID: id, Reason: BoundaryMissing}
		case !t.follows(leaf, at):
			return View{}, &BoundaryError{ID: id, Reason: BoundaryLeft}
		}
	}
	return t.view(leaf, t.cut(c, leaf, int32(len(t.nodes))), c.Messages)
}

// view makes turns of the entries on the path to a leaf from a boundary on.
func (t *tree) view(leaf, boundary int32, compacted []chat.Message) (View, error) {
	// What is before the turn in which the boundary lies is covered.
	var places []int32
	for at := range t.up(leaf) {
		k := t.nodes[at].kind
		if at >= boundary && k.shown() || k.startsTurn() {
			places = append(places, at)
		}
		if at <= boundary && k.startsTurn() {
			break
		}
	}
	slices.Reverse(places)
	entries, err := t.entries(places)
	if err != nil {
		return View{}, err
	}
	type open struct { // a turn whose rounds may still be answered
		start   Entry
		rounds  []*Round
		covered bool // its start is
	}
	turns := []*open{{}}
	calls := map[string]*Round{}
	for i, e := range entries {
		turn := turns[len(turns)-1]
		switch k := t.nodes[places[i]].kind; {
		case k.startsTurn():
			turns = append(turns, &open{start: e, covered: places[i] < boundary})
		case k == kindAssistant:
			r := &Round{Assistant: e}
			for _, c := range e.Message().ToolCalls {
				calls[c.ID] = r
			}
			turn.rounds = append(turn.rounds, r)
		case k == kindTool:
			if r := calls[e.Message().ToolCallID]; r != nil {
				r.Results = append(r.Results, e)
			}
		}
	}
	v := View{Compacted: compacted}
	for i, o := range turns {
		current := i == len(turns)-1
		if len(o.rounds) == 0 && (o.start.ID == "" || o.covered && !current) {
			continue
		}
		turn := Turn{Start: o.start}
		for _, r := range o.rounds {
			turn.Rounds = append(turn.Rounds, *r)
		}
		v.Turns = append(v.Turns, turn)
	}
	return v, nil
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
