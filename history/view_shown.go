package history

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/internal/marks"
)

// Shown holds which parts of a session's view the elements of a prompt show, and in which order, once the prompt is laid
// out. [Session.WithShown] returns one.
//
// An element counts once it is in the layout, whether its messages are pruned afterwards or not. The elements of this
// package show their parts, and an element that calls [Session.ViewIn] shows everything. An element that reads the session by
// itself, or takes another view of it from a [Session.WithView] of its own, shows nothing.
type Shown struct {
	session *Session
	view    *snapshot
	marks   *marks.Collected
}

// viewParts is a set of parts of a view.
type viewParts uint8

// The parts, in their order.
const (
	partCompacted    viewParts = 1 << iota // what replaces compacted turns
	partConversation                       // all turns but the last
	partStart                              // of the last turn
	partRounds                             // of the last turn

	older     = partCompacted | partConversation
	wholeView = older | partStart | partRounds
)

// shownMark is the mark of an element that shows parts of a view, or of a [LeftOut].
type shownMark struct {
	session *Session
	view    *snapshot
	parts   viewParts
	left    *LeftOut
}

// WithShown is [Session.WithView] with a record of what elements show of the view. Use it for one layout. Within another
// WithShown, only the inner one records.
func (s *Session) WithShown(ctx context.Context, v View) (context.Context, *Shown) {
	shown := &Shown{session: s, view: v.shown()}
	ctx, shown.marks = marks.Collect(context.WithValue(ctx, viewKey{s}, shown.view))
	return ctx, shown
}

// each calls f with the parts that each element shows, and with each LeftOut, in the order of the document.
func (s *Shown) each(f func(parts viewParts, left *LeftOut)) {
	for _, m := range s.marks.All {
		if m, ok := m.(shownMark); ok && m.session == s.session && (m.view == s.view || m.left != nil) {
			f(m.parts, m.left)
		}
	}
}

// shown returns the parts that are shown, whether there is anything in them or not.
func (s *Shown) shown() (parts viewParts) {
	s.each(func(p viewParts, _ *LeftOut) { parts |= p })
	return parts
}

// Whole reports whether elements show all messages of the view. It is true for an empty view.
func (s *Shown) Whole() bool { return s.view.parts()&^s.shown() == 0 }

// Any reports whether an element shows any part of the view.
func (s *Shown) Any() bool { return s.shown() != 0 }

// Other reports whether an element showed another session: it took that session's view from [Session.ViewIn], or is an element
// of this package.
func (s *Shown) Other() bool {
	return slices.ContainsFunc(s.marks.All, func(m any) bool { of, ok := m.(shownMark); return ok && of.session != s.session })
}

// Check returns a [*ViewError] if the prompt does not show the whole view once and in order, except for what a [LeftOut]
// leaves out. A part without messages, such as the rounds of a turn that was not answered yet, need not be shown. What
// is pruned afterwards, and what the view itself leaves out (what was compacted, cleared or erased), is not missing.
// Other sessions may be shown beside this one.
func (s *Shown) Check() error {
	has := s.view.parts()
	var e ViewError
	var seen, left, again, late viewParts
	var named []string
	s.each(func(parts viewParts, out *LeftOut) {
		switch {
		case out != nil && out.Entries == nil:
			left |= older
		case out != nil:
			named = append(named, out.Entries...)
		}
		for p := partCompacted; p <= partRounds; p <<= 1 {
			if p&parts&has == 0 {
				continue
			}
			if seen&p != 0 {
				again |= p
			} else if seen > p {
				late |= p
			}
			seen |= p
		}
	})
	if shown := s.shown(); shown&older == partConversation { // TurnsOnly
		has |= partCompacted
	}
	e.Nothing = has != 0 && !s.Any()
	missing := has &^ seen &^ left
	if missing|again|late == 0 {
		return nil
	}
	for p := partCompacted; p <= partRounds; p <<= 1 {
		entries := slices.Collect(s.view.entriesOf(p))
		not := slices.DeleteFunc(slices.Clone(entries), func(id string) bool { return slices.Contains(named, id) })
		if missing&p != 0 && (len(not) > 0 || len(entries) == 0) {
			e.Missing, e.Elements = append(e.Missing, not...), append(e.Elements, elementOf[p])
		}
		if again&p != 0 {
			e.Repeated = append(e.Repeated, entries...)
		}
		if late&p != 0 {
			e.Late = append(e.Late, entries...)
		}
	}
	if len(e.Elements) == 0 && again|late == 0 { // what is missing is named by a LeftOut
		return nil
	}
	return &e
}

// CheckSummaries returns a [*ViewError] if the prompt would not show the summary of a compaction.
func (s *Shown) CheckSummaries() error {
	if s.shown()&partCompacted != 0 {
		return nil
	}
	return &ViewError{Elements: []string{elementOf[partCompacted]}}
}

// elementOf names the element that shows a part.
var elementOf = map[viewParts]string{
	partCompacted: "history.Compacted", partConversation: "history.Conversation", partStart: "history.TurnStart", partRounds: "history.TurnRounds",
}

// entriesOf yields the ids of the entries of a part that are sent. A round has that of its assistant's message, and summaries
// that of their compaction, if it is an entry yet.
func (sn *snapshot) entriesOf(part viewParts) iter.Seq[string] {
	return func(yield func(string) bool) {
		if part == partCompacted {
			for _, n := range slices.Backward(sn.path.Nodes) {
				if n.Kind == kind.Compaction && n.At < sn.after {
					yield(n.ID)
					return
				}
			}
			return
		}
		turns := sn.shown()
		for i, t := range turns {
			if over := i < len(turns)-1; over != (part == partConversation) {
				continue
			}
			if _, says := (Turn{Start: t.start}).Message(); says && part != partRounds && !yield(t.start.ID) {
				return
			}
			for _, r := range t.rounds {
				if part != partStart && r.says() && !yield(r.Assistant.ID) {
					return
				}
			}
		}
	}
}

// parts returns the parts of the view that have messages.
func (sn *snapshot) parts() (has viewParts) {
	if len(sn.compacted) > 0 {
		has = partCompacted
	}
	for p := partConversation; p <= partRounds; p <<= 1 {
		for range sn.entriesOf(p) {
			has |= p
			break
		}
	}
	return has
}

// viewKey is the context key for the view of a session.
type viewKey struct{ session *Session }

// WithView returns a context in which elements show a given view of the session: the one at the leaf when a render
// began, so that what is appended in the meantime does not change the prompt halfway, or the one of a compaction that
// is being tried ([Session.ViewWith]). An element of your own that shows a session must take its view from [Session.ViewIn].
func (s *Session) WithView(ctx context.Context, v View) context.Context {
	return context.WithValue(ctx, viewKey{s}, v.shown())
}

// ViewIn returns the view of the session that was set by [Session.WithView], or the session's view at its leaf. Every element
// that shows a session uses it.
//
// For [Shown], an element that calls it shows the whole view.
func (s *Session) ViewIn(ctx context.Context) (View, error) {
	sn, err := snapshotIn(ctx, s, wholeView)
	if err != nil {
		return View{}, err
	}
	return sn.view(), nil
}

// LookIn returns the view that [Session.ViewIn] returns, for an element that shows nothing of the session itself, but depends on
// what others show of it. For [Shown], it shows nothing.
func (s *Session) LookIn(ctx context.Context) (View, error) {
	return s.ViewIn(marks.Without(ctx))
}

// snapshotIn returns the snapshot of the view that [Session.ViewIn] returns, and records that parts of it are shown.
func snapshotIn(ctx context.Context, s *Session, parts viewParts) (*snapshot, error) {
	sn, ok := ctx.Value(viewKey{s}).(*snapshot)
	if !ok {
		var err error
		if sn, err = s.snapshotTo(ctx, ""); err != nil {
			return nil, err
		}
	}
	marks.Add(ctx, shownMark{session: s, view: sn, parts: parts})
	return sn, nil
}

// LeftOut says that a prompt leaves entries out on purpose, or that an element of the application's own shows them, so
// that a compactor does not miss them. It shows nothing.
type LeftOut struct {
	Session *Session
	// Entries by id; a round by that of the assistant's message, a summary by that of its compaction. Nil means all
	// before the current turn.
	Entries []string
}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (l LeftOut) IgnoresBudget() {}

// Render returns nothing.
func (l LeftOut) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	if l.Session == nil {
		return nil, ErrSessionUnset
	}
	marks.Add(ctx, shownMark{session: l.Session, left: &l})
	return nil, nil
}

// ViewError reports that a prompt does not show the view of a session once and in order. Each entry is named by its id,
// in the view's order; a round is named by that of the assistant's message, a summary by that of its compaction.
type ViewError struct {
	// Missing entries are not shown, Repeated ones more than once, and Late ones behind entries that follow them.
	Missing, Repeated, Late []string
	// Elements that would show the missing ones, such as "history.Conversation".
	Elements []string
	// Nothing reports that the prompt shows nothing of the session.
	Nothing bool
}

func (e *ViewError) Error() string {
	names := strings.Join(e.Elements, " and ")
	switch {
	case e.Nothing:
		return fmt.Sprintf("history: the prompt shows nothing of the session, which has %s: place history.All with this session in it", entriesIn(e.Missing))
	case len(e.Missing)+len(e.Repeated)+len(e.Late) == 0:
		return "history: the prompt has no place for summaries: place history.Compacted in it before the turns, or history.All in place of the other elements of history"
	}
	var wrong, mend []string
	if len(e.Missing) > 0 {
		wrong, mend = append(wrong, "does not show "+entriesIn(e.Missing)), append(mend, "place "+names+" in it, history.All in place of them all, or a history.LeftOut if that is meant")
	}
	if len(e.Repeated) > 0 {
		wrong, mend = append(wrong, "shows more than once "+entriesIn(e.Repeated)), append(mend, "take out all but one of the elements that show them (history.All shows everything, and so does an element that calls Session.ViewIn and not Session.LookIn)")
	}
	if len(e.Late) > 0 {
		wrong, mend = append(wrong, "shows behind what follows it "+entriesIn(e.Late)), append(mend, "place history.Compacted, Conversation, TurnStart and TurnRounds in this order, or history.All in their place")
	}
	return "history: the prompt " + strings.Join(wrong, ", and ") + ": " + strings.Join(mend, "; ")
}

// entriesIn returns words for entries.
func entriesIn(ids []string) string {
	switch n := len(ids); {
	case n == 1:
		return "entry " + ids[0]
	case n > 4:
		return fmt.Sprintf("%d entries (%s, %s, …, %s)", n, ids[0], ids[1], ids[n-1])
	default:
		return fmt.Sprintf("%d entries (%s)", n, strings.Join(ids, ", "))
	}
}
