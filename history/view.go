package history

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
)

// View is the part of a session that a model sees.
//
// Its fields belong to the caller: an element given a view ([Session.WithView]), a [Cut] and a [ClearRule] use what the session
// showed when it made the view, whatever was done to the fields since.
type View struct {
	// Compacted replaces what was compacted; it is empty before the first compaction.
	Compacted []chat.Message
	// Turns that are kept word for word. The last one is the current turn.
	Turns []Turn

	snapshot *snapshot // the source of the view
}

// View returns what a model sees of the path to the leaf: the messages of the latest compaction on it, then what that
// kept and what came after, with the placeholders of each [entry.Clearing]. The start of a turn is kept as long as one
// of its rounds is, and the start of the current turn always. The same path always has the same view. Its slices belong
// to the caller; what its entries hold is shared and must not be changed. Elements use [Session.ViewIn] instead.
func (s *Session) View(ctx context.Context) (View, error) { return s.ViewAt(ctx, "") }

// ViewAt returns what a model sees of the path to an entry, the leaf for "".
func (s *Session) ViewAt(ctx context.Context, id string) (View, error) {
	sn, err := s.snapshotTo(ctx, id)
	if err != nil {
		return View{}, err
	}
	return sn.view(), nil
}

// ViewWith returns the view as if the compaction had been appended to the leaf. With [Session.WithView] it shows how the
// compaction would change a prompt before it is written. The error is a [*entry.BoundaryError] if the entry at which
// the compaction cuts is not on the path, or is covered.
func (s *Session) ViewWith(ctx context.Context, c entry.Compaction) (View, error) {
	r, p, end, err := s.log.State()
	if err != nil {
		return View{}, err
	}
	if _, err := r.CheckBoundary(ctx, p, end, c); err != nil {
		return View{}, log.InEntry("a compaction", err)
	}
	all := p.Last().At + 1
	sn, err := snapshotFrom(ctx, r, p, p.Cut(c, all), all, c)
	if err != nil {
		return View{}, err
	}
	return sn.view(), nil
}

// shown returns the snapshot from which the view was made. For a view that was not made by a session, it makes one from
// the fields.
func (v View) shown() *snapshot {
	if v.snapshot != nil {
		return v.snapshot
	}
	sn := &snapshot{compacted: v.Compacted}
	for _, t := range v.Turns {
		turn := &openTurn{start: t.Start, at: -1, opening: &memo{}}
		for _, r := range t.Rounds {
			turn.rounds = append(turn.rounds, &openRound{Round: r})
		}
		sn.turns = append(sn.turns, turn)
	}
	return sn
}

// Leaf returns the id of the entry that the view ends with, shown or not, "" for a view of an empty session. For a view
// that was not made by a session it is [View.Newest].
func (v View) Leaf() string {
	if v.snapshot == nil {
		return v.Newest()
	}
	return v.snapshot.path.Last().ID
}

// Newest returns the id of the newest entry that is shown, "" if none is.
func (v View) Newest() string {
	if len(v.Turns) == 0 {
		return ""
	}
	last := v.Turns[len(v.Turns)-1]
	if len(last.Rounds) == 0 {
		return last.Start.ID
	}
	return last.Rounds[len(last.Rounds)-1].newest()
}

// NewestWithin returns a view of which elements and [View.Units] show the results of the newest round and the arguments of
// its calls within limit tokens in all, each cut in its middle, with the fraction head of a result kept at its start
// ([RoundLimits].Head). It is for a prompt that has less room for them than [RoundLimits] says.
func (v View) NewestWithin(limit int, head float64) View {
	sn := v.changing()
	last := len(sn.turns) - 1
	if last < 0 || len(sn.turns[last].rounds) == 0 {
		return v
	}
	round := sn.round(callAt{last, len(sn.turns[last].rounds) - 1})
	round.most, round.head = max(1, limit), head
	return sn.view()
}

// changing returns a snapshot that shows the same and may be changed.
func (v View) changing() *snapshot {
	sn := *v.shown()
	sn.build, sn.turns = min(0, sn.build)-1, slices.Clone(sn.turns) // no turn has this number, so what changes is copied
	return &sn
}

// Len returns how many messages of the session are shown, a turn's start and each message of a round counted as one.
func (v View) Len() int {
	n := len(v.Compacted)
	for _, t := range v.Turns {
		if t.Start.ID != "" {
			n++
		}
		for _, r := range t.Rounds {
			n += 1 + len(r.Between) + len(r.Results)
		}
	}
	return n
}

// Messages returns all that the view shows, in order and uncut, as it is sent.
func (v View) Messages() []chat.Message {
	list := append([]chat.Message(nil), v.Compacted...)
	for _, t := range v.Turns {
		if m, ok := t.Message(); ok {
			list = append(list, m)
		}
		for _, r := range t.Rounds {
			list = append(list, r.Messages()...)
		}
	}
	return append(list, v.shown().arrived()...)
}

// view returns the snapshot as a view with slices of its own.
func (sn *snapshot) view() View {
	v := View{Compacted: sn.compacted, snapshot: sn}
	for _, t := range sn.shown() {
		turn := Turn{Start: t.start, Rounds: slices.Grow([]Round(nil), len(t.rounds))}
		for _, r := range t.rounds {
			round := r.Round
			round.Results, round.Between = slices.Clone(r.Results), slices.Clone(r.Between)
			turn.Rounds = append(turn.Rounds, round)
		}
		v.Turns = append(v.Turns, turn)
	}
	return v
}

// Instead returns a view of which elements and [View.Units] show other content of entries: a function returns what is shown
// of an entry, and reports whether that differs from the content that it is given. The entry has no id for content that
// replaces compacted history, and no body for thinking that a compaction put before its message ([Round].Thinking). The
// entries in the view's fields change too.
func (v View) Instead(content func(e entry.Entry, parts chat.Parts) (chat.Parts, bool)) View {
	sn := v.changing()
	sn.compacted = slices.Clone(sn.compacted)
	for i, m := range sn.compacted {
		if parts, other := content(entry.Entry{}, m.Content); other {
			sn.compacted[i].Content = parts
		}
	}
	for i, t := range sn.turns {
		if e, other := instead(t.start, content); other {
			turn := sn.turn(i)
			turn.start, turn.opening = e, &memo{}
		}
		for k, r := range t.rounds {
			at := callAt{i, k}
			if e, other := instead(r.Assistant, content); other {
				sn.round(at).Assistant = e
			}
			if len(r.Thinking) > 0 {
				if _, other := content(entry.Entry{ID: r.Assistant.ID}, nil); other {
					sn.round(at).Thinking = nil
				}
			}
			for n, e := range r.Between {
				if e, other := instead(e, content); other {
					sn.round(at).Between[n] = e
				}
			}
			for n, e := range r.Results {
				if e, other := instead(e, content); other {
					sn.round(at).Results[n] = e
				}
			}
		}
	}
	return sn.view()
}

// Clear returns the view as if a clearing had been appended to the leaf.
func (v View) Clear(c entry.Clearing) View {
	if len(c.Results)+len(c.Arguments) == 0 {
		return v
	}
	sn := v.changing()
	sn.clear(c)
	return sn.view()
}

// instead returns an entry with other content, and reports whether it has it.
func instead(e entry.Entry, content func(e entry.Entry, parts chat.Parts) (chat.Parts, bool)) (entry.Entry, bool) {
	m, shown := e.Shown()
	if !shown {
		return e, false
	}
	parts, other := content(e, m.Content)
	if !other {
		return e, false
	}
	m.Content = parts
	said, _ := e.Body.(entry.Message) // another entry becomes one, as it is shown, between its tags
	said.Message = m
	e.Body = said
	return e, true
}
