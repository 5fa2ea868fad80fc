package history

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// ErrSessionUnset is returned by an element whose Session is not set.
var ErrSessionUnset = errors.New("history: the element has no Session")

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

// Conversation shows the turns that are over, and the summaries of those that were compacted. Place it before the
// user's message.
//
// It is required unless [Conversation.Droppable] is set: if it does not fit, that is an error, which is answered by a
// compaction, and nothing is lost silently.
type Conversation struct {
	elements.Props
	Session *Session
	// TurnsOnly leaves the summaries out, because a [Compacted] before it shows them. Off by default.
	TurnsOnly bool
	// Droppable lets rounds be pruned, the oldest first, each whole; a user message is pruned after its rounds, and the
	// replacement of compacted turns last. Off by default.
	Droppable bool
	// Limits of a round.
	Limits RoundLimits
}

// Compacted shows only what stands for the turns that were compacted, for a prompt that has something to say between the
// summary and the turns that are kept, such as what was loaded. A [Conversation] that is TurnsOnly follows. It is required.
type Compacted struct {
	elements.Props
	Session *Session
}

// TurnStart shows the user message that started the current turn, or whatever else started it. It is required.
type TurnStart struct {
	elements.Props
	Session *Session
	// Limits of the output of a shell command that started the turn.
	Limits RoundLimits
}

// TurnRounds shows what the agent has done in the current turn. Place it after the user's message. It is required
// unless [TurnRounds.Droppable] is set.
type TurnRounds struct {
	elements.Props
	Session *Session
	// Droppable lets rounds be pruned, the oldest first, each whole. Off by default.
	Droppable bool
	// Limits of a round.
	Limits RoundLimits
}

// ElementProps returns the properties, Required unless the conversation is droppable.
func (c Conversation) ElementProps() elements.Props { return required(c.Props, !c.Droppable) }

// ElementProps returns the properties, with Required.
func (c Compacted) ElementProps() elements.Props { return required(c.Props, true) }

// ElementProps returns the properties, with Required.
func (r TurnStart) ElementProps() elements.Props { return required(r.Props, true) }

// ElementProps returns the properties, Required unless the rounds are droppable.
func (r TurnRounds) ElementProps() elements.Props { return required(r.Props, !r.Droppable) }

// required returns properties, which are Required if they were or always is set.
func required(p elements.Props, always bool) elements.Props {
	p.Required = p.Required || always
	return p
}

// ShowsHistory marks the element as one that shows history, which a compaction can shorten.
func (c Conversation) ShowsHistory() {}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (c Conversation) IgnoresBudget() {}

// ShowsHistory marks the element as one that shows history, which a compaction can shorten.
func (c Compacted) ShowsHistory() {}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (c Compacted) IgnoresBudget() {}

// ShowsHistory marks the element as one that shows history, which a compaction can shorten.
func (r TurnStart) ShowsHistory() {}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (r TurnStart) IgnoresBudget() {}

// ShowsHistory marks the element as one that shows history, which a compaction can shorten.
func (r TurnRounds) ShowsHistory() {}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (r TurnRounds) IgnoresBudget() {}

// snapshotFor returns what an element with these limits shows of its session, and records the parts that it shows. It
// returns an error if the session is missing or a limit is invalid.
func snapshotFor(ctx context.Context, s *Session, limits RoundLimits, parts viewParts) (*snapshot, error) {
	if s == nil {
		return nil, ErrSessionUnset
	}
	if err := limits.check(); err != nil {
		return nil, err
	}
	return snapshotIn(ctx, s, parts)
}

// Render shows the turns before the last.
func (c Conversation) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	parts := partConversation | partCompacted
	if c.TurnsOnly {
		parts = partConversation
	}
	sn, err := snapshotFor(ctx, c.Session, c.Limits, parts)
	if err != nil {
		return nil, err
	}
	turns := sn.shown()
	list := finisher{finishing: c.Limits.finishing(s), handles: sn.handles()}
	if !c.TurnsOnly {
		list.nodes = sn.summaries()
	}
	for _, t := range turns[:max(0, len(turns)-1)] {
		at := len(list.nodes)
		list.nodes = append(list.nodes, nil) // the place of the turn's start
		for _, r := range t.rounds {
			list.round(r)
		}
		list.opening(at, t)
	}
	return list.nodes, nil
}

// Render shows what stands for compacted turns.
func (c Compacted) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	sn, err := snapshotFor(ctx, c.Session, RoundLimits{}, partCompacted)
	if err != nil {
		return nil, err
	}
	return sn.summaries(), nil
}

// summaries returns the messages that stand for compacted turns.
func (sn *snapshot) summaries() (nodes elements.Nodes) {
	for _, m := range sn.compacted {
		nodes = append(nodes, &elements.Finished{Props: elements.Props{ReportName: "summary"}, Messages: []chat.Message{m}})
	}
	return nodes
}

// Render shows the current turn's user message.
func (r TurnStart) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	sn, err := snapshotFor(ctx, r.Session, r.Limits, partStart)
	if err != nil {
		return nil, err
	}
	if start := sn.handles().start(sn.current().start, r.Limits.finishing(s)); len(start) > 0 {
		return elements.Message(elements.Props{}, start[0]), nil
	}
	return nil, nil
}

// Render shows the last turn's rounds.
func (r TurnRounds) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	sn, err := snapshotFor(ctx, r.Session, r.Limits, partRounds)
	if err != nil {
		return nil, err
	}
	list := finisher{finishing: r.Limits.finishing(s), handles: sn.handles()}
	for _, round := range sn.current().rounds {
		list.round(round)
	}
	for _, m := range sn.arrived() {
		list.nodes = append(list.nodes, elements.Message(elements.Props{}, m))
	}
	return list.nodes, nil
}

// finisher makes a list of nodes with increasing ranks as priorities, so that the first is pruned first.
type finisher struct {
	finishing
	handles handles
	nodes   elements.Nodes
	rank    int
}

// round appends the next round.
func (f *finisher) round(r *openRound) {
	made := f.kept(&r.shown)
	if made == nil {
		messages, cut := f.handles.round(r, f.finishing)
		made = f.fresh(&r.shown, "round", !cut, messages...)
	}
	if f.rank++; made.messages != nil {
		f.nodes = append(f.nodes, made.ranked)
	}
}

// opening fills a reserved place with the start of a turn. If that is not sent it gets no rank.
func (f *finisher) opening(at int, t *openTurn) {
	made := f.kept(t.opening)
	if made == nil {
		_, shell := t.start.Body.(entry.Shell) // only the output of a shell command may be cut
		made = f.fresh(t.opening, "turn", !shell, f.handles.start(t.start, f.finishing)...)
	}
	if made.messages != nil {
		f.nodes[at] = made.ranked
		f.rank++
	}
}

// kept returns what a memo holds for the next rank, nil if it was made with something else.
func (f *finisher) kept(m *memo) *finished {
	last := m.last.Load()
	switch {
	case last == nil:
		return nil
	case !f.keep || last.by != f.finishing:
		if !last.whole || last.messages != nil && !f.fits(last.messages.Messages) {
			return nil
		}
	case last.rank == f.rank:
		return last
	}
	return f.ranked(m, last.whole, last.messages)
}

// fresh makes an element from messages. In reports the start of a turn is called a turn, and what follows it its rounds.
func (f *finisher) fresh(m *memo, name string, whole bool, messages ...chat.Message) *finished {
	var element *elements.Finished
	if len(messages) > 0 {
		element = &elements.Finished{Props: elements.Props{ReportName: name}, Messages: messages}
	}
	return f.ranked(m, whole, element)
}

// ranked returns messages with the next rank. The element stays the same, so that a renderer recognises it.
func (f *finisher) ranked(m *memo, whole bool, messages *elements.Finished) *finished {
	made := &finished{by: f.finishing, whole: whole, messages: messages, rank: f.rank}
	if messages != nil {
		made.ranked = elements.WithPriority{Priority: f.rank, Node: messages}
	}
	m.last.Store(made)
	return made
}

// memo remembers the element that shows a round, or the start of a turn, for the most recent limits and sizing, so that
// a session holds one of each. If nothing was cut, and would not be with other limits, the element stays the same.
type memo struct {
	last atomic.Pointer[finished]
	unit atomic.Pointer[measured]
}

// measured holds the messages of a unit and their tokens, and what they were made with.
type measured struct {
	by       finishing
	messages []chat.Message // empty if the unit is not sent
	tokens   int
}

// measure returns the messages made for a sizing, and their tokens.
func (m *memo) measure(by finishing, make func() []chat.Message) ([]chat.Message, int) {
	if last := m.unit.Load(); by.keep && last != nil && last.by == by {
		return last.messages, last.tokens
	}
	made := &measured{by: by, messages: make()}
	for _, message := range made.messages {
		made.tokens += by.tokenizer.CountMessage(message)
	}
	if by.keep {
		m.unit.Store(made)
	}
	return made.messages, made.tokens
}

// finished is an element made of messages, and what it was made with.
type finished struct {
	by       finishing
	whole    bool               // nothing was cut
	messages *elements.Finished // nil if there are none
	rank     int
	ranked   elements.Node // the element with its rank as priority
}
