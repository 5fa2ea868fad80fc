package history

import (
	"context"
	"slices"
	"sync/atomic"
)

// Shown records which parts of a session's view the elements of a prompt show. [WithShown] returns one. Its methods are
// safe for concurrent use, and are of use once the prompt is laid out.
//
// An element counts once it is rendered, whether its messages are pruned afterwards or not. [Conversation] shows the
// compacted messages, unless it is TurnsOnly, and all turns but the last, [Compacted] the former, [TurnStart] and [TurnRounds] their parts of the last turn, and an
// element that calls [ViewIn] everything. An element that reads the session by itself, or takes another view of it from
// a [WithView] of its own, does not count.
type Shown struct {
	session *Session
	view    *snapshot
	parts   atomic.Uint32 // the viewParts that were recorded
}

// viewParts is a set of parts of a view.
type viewParts = uint32

const (
	partConversation viewParts = 1 << iota // all turns but the last
	partStart                              // of the last turn
	partRounds                             // of the last turn
	partCompacted                          // what replaces compacted turns
	partOther                              // of the view of another session

	wholeView = partCompacted | partConversation | partStart | partRounds
)

// shownKey is the context key for what records the parts that are shown.
type shownKey struct{}

// WithShown is [WithView] with a record of what elements show of the view. Use it for one layout. Within another
// WithShown, only the inner one records.
func WithShown(ctx context.Context, s *Session, v View) (context.Context, *Shown) {
	shown := &Shown{session: s, view: v.shown()}
	ctx = context.WithValue(ctx, viewKey{s}, shown.view)
	return context.WithValue(ctx, shownKey{}, shown), shown
}

// record records that an element shows parts of a snapshot.
func (s *Shown) record(session *Session, sn *snapshot, parts viewParts) {
	switch {
	case session != s.session:
		s.parts.Or(partOther)
	case sn == s.view:
		s.parts.Or(parts)
	}
}

// Last reports whether an element shows the view's last message. It is false for an empty view ([View.Empty]). Entries
// that yield no message are passed over, such as a turn's start that says nothing.
func (s *Shown) Last() bool {
	has := s.view.parts()
	for _, part := range [...]viewParts{partRounds, partStart, partConversation, partCompacted} {
		if has&part != 0 {
			return s.parts.Load()&part != 0
		}
	}
	return false
}

// Whole reports whether elements show all messages of the view: the compacted ones, all turns, and the start and the
// rounds of the last turn. It is true for an empty view.
func (s *Shown) Whole() bool { return s.view.parts()&^s.parts.Load() == 0 }

// Other reports whether an element showed another session: it took that session's view from [ViewIn], or is an element
// of this package.
func (s *Shown) Other() bool { return s.parts.Load()&partOther != 0 }

// parts returns the parts of the view that have messages.
func (sn *snapshot) parts() (has viewParts) {
	turns := sn.shown()
	if last := len(turns) - 1; last >= 0 {
		if turns[last].startSays() {
			has |= partStart
		}
		if slices.ContainsFunc(turns[last].rounds, (*openRound).says) {
			has |= partRounds
		}
		turns = turns[:last]
	}
	if slices.ContainsFunc(turns, (*openTurn).says) {
		has |= partConversation
	}
	if len(sn.compacted) > 0 {
		has |= partCompacted
	}
	return has
}

// startSays reports whether the start of the turn is sent.
func (t *openTurn) startSays() bool {
	_, says := Turn{Start: t.start}.Message()
	return says
}

// says reports whether anything of the turn is sent.
func (t *openTurn) says() bool {
	return t.startSays() || slices.ContainsFunc(t.rounds, (*openRound).says)
}

// viewKey is the context key for the view of a session.
type viewKey struct{ session *Session }

// WithView returns a context in which elements show a given view of the session: the one at the leaf when a render
// began, so that what is appended in the meantime does not change the prompt halfway, or the one of a compaction that
// is being tried ([Session.ViewWith]). An element of your own that shows a session must take its view from [ViewIn].
func WithView(ctx context.Context, s *Session, v View) context.Context {
	return context.WithValue(ctx, viewKey{s}, v.shown())
}

// ViewIn returns the view of the session that was set by [WithView], or the session's view at its leaf. Every element
// that shows a session uses it.
//
// For [Shown], an element that calls it shows the whole view.
func ViewIn(ctx context.Context, s *Session) (View, error) {
	sn, err := snapshotIn(ctx, s, wholeView)
	if err != nil {
		return View{}, err
	}
	return sn.view(), nil
}

// LookIn returns the view that [ViewIn] returns, for an element that shows nothing of the session itself, but depends on
// what others show of it. For [Shown], it shows nothing.
func LookIn(ctx context.Context, s *Session) (View, error) {
	return ViewIn(context.WithValue(ctx, shownKey{}, nil), s)
}

// snapshotIn returns the snapshot of the view that [ViewIn] returns, and records that parts of it are shown.
func snapshotIn(ctx context.Context, s *Session, parts viewParts) (*snapshot, error) {
	sn, ok := ctx.Value(viewKey{s}).(*snapshot)
	if !ok {
		var err error
		if sn, err = s.snapshotTo(ctx, ""); err != nil {
			return nil, err
		}
	}
	if shown, ok := ctx.Value(shownKey{}).(*Shown); ok {
		shown.record(s, sn, parts)
	}
	return sn, nil
}
