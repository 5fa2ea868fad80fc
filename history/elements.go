package history

import (
	"context"
	"errors"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// ErrNoSession tells that an element was given no session.
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
	// Prune leaves out old tool output. Rounds should have the same.
	Prune OutputPrune
}

// Request shows the user message that the current turn answers, or what else started it. It is required.
type Request struct {
	elements.Props
	Session *Session
	// Limits of the output of a shell execution that started the turn.
	Limits Limits
}

// Rounds shows what the agent has done in the current turn. It stands after the user's message, and is required unless
// it is [Rounds.Droppable].
type Rounds struct {
	elements.Props
	Session *Session
	// Droppable lets rounds be pruned, the oldest first, each whole.
	Droppable bool
	// Limits of a round.
	Limits Limits
	// Prune leaves out old tool output, of the whole session as Conversation does.
	Prune OutputPrune
}

// ElementProps gives the properties, Required unless the conversation is droppable.
func (c Conversation) ElementProps() elements.Props {
	c.Props.Required = c.Props.Required || !c.Droppable
	return c.Props
}

// ElementProps gives the properties, with Required.
func (r Request) ElementProps() elements.Props {
	r.Props.Required = true
	return r.Props
}

// ElementProps gives the properties, Required unless the rounds are droppable.
func (r Rounds) ElementProps() elements.Props {
	r.Props.Required = r.Props.Required || !r.Droppable
	return r.Props
}

// Render shows the turns before the last.
func (c Conversation) Render(ctx context.Context, s sizing.Sizing) (elements.Node, error) {
	if c.Session == nil {
		return nil, ErrNoSession
	}
	if err := c.Limits.check(); err != nil {
		return nil, err
	}
	v, err := ViewIn(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	v, _ = c.Prune.in(ctx, c.Session).Apply(v, s)
	var list ranked
	for _, m := range v.Compacted {
		list.add(nil, m)
	}
	for _, t := range v.Turns[:max(0, len(v.Turns)-1)] {
		at := list.reserve()
		for _, r := range t.Rounds {
			list.next(r.Messages(c.Limits, s)...)
		}
		if m, ok := t.MessageWithin(c.Limits, s); ok {
			list.put(at, m)
		}
	}
	return list.nodes, nil
}

// Render shows the current turn's user message.
func (r Request) Render(ctx context.Context, s sizing.Sizing) (elements.Node, error) {
	if r.Session == nil {
		return nil, ErrNoSession
	}
	if err := r.Limits.check(); err != nil {
		return nil, err
	}
	v, err := ViewIn(ctx, r.Session)
	if err != nil {
		return nil, err
	}
	if len(v.Turns) == 0 {
		return nil, nil
	}
	m, ok := v.Turns[len(v.Turns)-1].MessageWithin(r.Limits, s)
	if !ok {
		return nil, nil
	}
	return elements.Message(elements.Props{}, m), nil
}

// Render shows the last turn's rounds.
func (r Rounds) Render(ctx context.Context, s sizing.Sizing) (elements.Node, error) {
	if r.Session == nil {
		return nil, ErrNoSession
	}
	if err := r.Limits.check(); err != nil {
		return nil, err
	}
	v, err := ViewIn(ctx, r.Session)
	if err != nil {
		return nil, err
	}
	if len(v.Turns) == 0 {
		return nil, nil
	}
	v, _ = r.Prune.in(ctx, r.Session).Apply(v, s)
	var list ranked
	for _, round := range v.Turns[len(v.Turns)-1].Rounds {
		list.next(round.Messages(r.Limits, s)...)
	}
	return list.nodes, nil
}

// ranked is a list of chunks whose priorities rise, so that the first goes first.
type ranked struct {
	nodes elements.Nodes
	rank  int
}

// add appends messages that stand or fall together.
func (l *ranked) add(priority *int, messages ...chat.Message) {
	if len(messages) > 0 {
		l.nodes = append(l.nodes, chunk(priority, messages...))
	}
}

// next appends messages of the next higher priority.
func (l *ranked) next(messages ...chat.Message) {
	l.add(new(l.rank), messages...)
	l.rank++
}

// reserve keeps a place for [ranked.put].
func (l *ranked) reserve() int {
	l.nodes = append(l.nodes, nil)
	return len(l.nodes) - 1
}

// put fills a place that was kept, with the next higher priority.
func (l *ranked) put(at int, m chat.Message) {
	l.nodes[at] = chunk(new(l.rank), m)
	l.rank++
}

func chunk(priority *int, messages ...chat.Message) elements.Node {
	return elements.Chunk{
		Props:    elements.Props{Priority: priority},
		Children: elements.Map(messages, func(m chat.Message) elements.Node { return elements.Message(elements.Props{}, m) }),
	}
}
