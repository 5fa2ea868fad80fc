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

// Turn is a user message and the rounds that answer it.
type Turn struct {
	// User message; its ID is "" where the session starts without one.
	User   Entry
	Rounds []Round
}

// Round is one assistant message with all its tool results.
type Round struct {
	Assistant Entry
	// Results in the order in which they came. A call that was cut short has none.
	Results []Entry
}

// View gives what a model sees of the session: the messages of the latest compaction, then what it kept and what was
// said since. The user message of a turn is kept as long as a round of it is, and that of the current turn always. Elements
// use [ViewIn] instead.
func (s *Session) View() View {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return view(s.entries, boundary(s.entries, s.index), latest(s.entries))
}

// latest gives the messages of the latest compaction.
func latest(entries []Entry) []chat.Message {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Type() == TypeCompaction {
			return entries[i].Compaction().Messages
		}
	}
	return nil
}

// boundary is the index of the first entry that the latest compaction does not cover.
func boundary(entries []Entry, index map[string]int) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Type() != TypeCompaction {
			continue
		}
		if kept, ok := index[entries[i].Compaction().FirstKept]; ok {
			return kept
		}
		return i + 1
	}
	return 0
}

// view makes turns of the messages from a boundary on.
func view(entries []Entry, boundary int, compacted []chat.Message) View {
	type open struct { // a turn whose rounds may still be answered
		user    Entry
		rounds  []*Round
		covered bool // its user message is
	}
	turns := []*open{{}}
	calls := map[string]*Round{}
	// What is before the turn in which the boundary lies is covered.
	first := min(boundary, len(entries)-1)
	for first > 0 && !(entries[first].Type() == TypeMessage && entries[first].Message().Role == chat.RoleUser) {
		first--
	}
	for i := max(0, first); i < len(entries); i++ {
		e := entries[i]
		if e.Type() != TypeMessage {
			continue
		}
		switch turn := turns[len(turns)-1]; e.Message().Role {
		case chat.RoleUser:
			turns = append(turns, &open{user: e, covered: i < boundary})
		case chat.RoleAssistant:
			if i < boundary {
				continue
			}
			r := &Round{Assistant: e}
			for _, c := range e.Message().ToolCalls {
				calls[c.ID] = r
			}
			turn.rounds = append(turn.rounds, r)
		case chat.RoleTool:
			if r := calls[e.Message().ToolCallID]; r != nil {
				r.Results = append(r.Results, e)
			}
		}
	}
	v := View{Compacted: compacted}
	for i, t := range turns {
		current := i == len(turns)-1
		if len(t.rounds) == 0 && (t.user.ID == "" || t.covered && !current) {
			continue
		}
		turn := Turn{User: t.user}
		for _, r := range t.rounds {
			turn.Rounds = append(turn.Rounds, *r)
		}
		v.Turns = append(v.Turns, turn)
	}
	return v
}

// previewKey finds a compaction that is being tried in a context.
type previewKey struct{ session *Session }

// Preview gives a context in which the elements of this package show the session as if the compaction had been made.
// It is how a compactor sees that a compaction helps before it is written.
func Preview(ctx context.Context, s *Session, c Compaction) context.Context {
	return context.WithValue(ctx, previewKey{s}, c)
}

// ViewIn gives the session's view, or the one that is being tried in a context ([Preview]). An element that shows a session
// uses it, so that a compactor can see what a compaction would make of the prompt.
func ViewIn(ctx context.Context, s *Session) View {
	c, trying := ctx.Value(previewKey{s}).(Compaction)
	if !trying {
		return s.View()
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	first, ok := s.index[c.FirstKept]
	if !ok {
		first = len(s.entries)
	}
	return view(s.entries, first, c.Messages)
}
