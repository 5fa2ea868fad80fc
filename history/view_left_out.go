package history

import (
	"context"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/marks"
)

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
