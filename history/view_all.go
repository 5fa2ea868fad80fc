package history

import (
	"context"

	"github.com/promptree-go/promptree/elements"
)

// All shows the whole session: the summaries of what was compacted, the turns that are over, and the current turn. Place it
// where the conversation stands in the prompt. For a prompt that has something of its own between them, [Compacted],
// [Conversation], [TurnStart] and [TurnRounds] show the parts, each once and in this order.
//
// It is required unless [All.Droppable] is set: if it does not fit, that is an error, which is answered by a compaction,
// and nothing is lost silently.
type All struct {
	elements.Props
	Session *Session
	// Droppable lets rounds be pruned, the oldest first, each whole, and before those of the current turn all of the
	// turns that are over ([Conversation.Droppable]). What started the current turn stays. Off by default.
	Droppable bool
	// Limits of a round.
	Limits RoundLimits
}

// ElementProps returns the properties, Required unless the session is droppable.
func (a All) ElementProps() elements.Props { return required(a.Props, !a.Droppable) }

// ShowsHistory marks the element as one that shows history, which a compaction can shorten.
func (a All) ShowsHistory() {}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (a All) IgnoresBudget() {}

// Render shows the parts in their order.
func (a All) Render(context.Context, elements.Sizing) (elements.Node, error) {
	older, rounds := elements.Props{Priority: new(1)}, elements.Props{Priority: new(2)}
	return elements.Nodes{
		Conversation{Props: older, Session: a.Session, Droppable: a.Droppable, Limits: a.Limits},
		TurnStart{Session: a.Session, Limits: a.Limits},
		TurnRounds{Props: rounds, Session: a.Session, Droppable: a.Droppable, Limits: a.Limits},
	}, nil
}
