package history

import (
	"context"
	"errors"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// ErrNoSession is the error of an element without a session.
var ErrNoSession = errors.New("history: the element has no Session")

// Conversation shows the turns that are over, and what stands for those that were compacted. It stands before the
// user's message.
//
// It is required unless it is [Conversation.Droppable]: what does not fit is an error, and so a compaction, and not
// silently lost.
type Conversation struct {
	elements.Props
	Session *Session
	// Droppable lets rounds be pruned, the oldest first, each whole; a user message goes once its rounds have gone.
	// What stands for compacted turns goes last.
	Droppable bool
	// Limits of a round.
	Limits Limits
}

// TurnStart shows the user message that the current turn answers, or what else started it. It is required.
type TurnStart struct {
	elements.Props
	Session *Session
	// Limits of the output of a shell execution that started the turn.
	Limits Limits
}

// TurnRounds shows what the agent has done in the current turn. It stands after the user's message, and is required unless
// it is [TurnRounds.Droppable].
type TurnRounds struct {
	elements.Props
	Session *Session
	// Droppable lets rounds be pruned, the oldest first, each whole.
	Droppable bool
	// Limits of a round.
	Limits Limits
}

// ElementProps returns the properties, Required unless the conversation is droppable.
func (c Conversation) ElementProps() elements.Props {
	c.Props.Required = c.Props.Required || !c.Droppable
	return c.Props
}

// ElementProps returns the properties, with Required.
func (r TurnStart) ElementProps() elements.Props {
	r.Props.Required = true
	return r.Props
}

// ElementProps returns the properties, Required unless the rounds are droppable.
func (r TurnRounds) ElementProps() elements.Props {
	r.Props.Required = r.Props.Required || !r.Droppable
	return r.Props
}

// ShowsHistory marks the element as one that shows history, which a compaction can shorten.
func (c Conversation) ShowsHistory() {}

// IgnoresBudget marks the element as one that takes what it takes.
func (c Conversation) IgnoresBudget() {}

// ShowsHistory marks the element as one that shows history, which a compaction can shorten.
func (r TurnStart) ShowsHistory() {}

// IgnoresBudget marks the element as one that takes what it takes.
func (r TurnStart) IgnoresBudget() {}

// ShowsHistory marks the element as one that shows history, which a compaction can shorten.
func (r TurnRounds) ShowsHistory() {}

// IgnoresBudget marks the element as one that takes what it takes.
func (r TurnRounds) IgnoresBudget() {}

// snapshotFor is what an element with these limits shows of its session; an error where it has none, or a limit is none.
func snapshotFor(ctx context.Context, s *Session, limits Limits) (*snapshot, error) {
	if s == nil {
		return nil, ErrNoSession
	}
	if err := limits.check(); err != nil {
		return nil, err
	}
	return snapshotIn(ctx, s)
}

// Render shows the turns before the last.
func (c Conversation) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	sn, err := snapshotFor(ctx, c.Session, c.Limits)
	if err != nil {
		return nil, err
	}
	turns := sn.shown()
	list := newFinisher(c.Limits, s)
	for _, m := range sn.compacted {
		list.nodes = append(list.nodes, &elements.Finished{Messages: []chat.Message{m}})
	}
	for _, t := range turns[:max(0, len(turns)-1)] {
		at := list.reserve()
		for _, r := range t.rounds {
			list.round(r)
		}
		list.opening(at, t)
	}
	return list.nodes, nil
}

// Render shows the current turn's user message.
func (r TurnStart) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	sn, err := snapshotFor(ctx, r.Session, r.Limits)
	if err != nil {
		return nil, err
	}
	turns := sn.shown()
	if len(turns) == 0 {
		return nil, nil
	}
	m, ok := Turn{Start: turns[len(turns)-1].start}.MessageWithin(r.Limits, s)
	if !ok {
		return nil, nil
	}
	return elements.Message(elements.Props{}, m), nil
}

// Render shows the last turn's rounds.
func (r TurnRounds) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	sn, err := snapshotFor(ctx, r.Session, r.Limits)
	if err != nil {
		return nil, err
	}
	turns := sn.shown()
	if len(turns) == 0 {
		return nil, nil
	}
	last := len(turns) - 1
	list := newFinisher(r.Limits, s)
	for _, round := range turns[last].rounds {
		list.round(round)
	}
	return list.nodes, nil
}
