package history

import (
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
)

// memo keeps the element that a round, or what starts a turn, is shown by, for the limits and the sizing of the last time.
// What is made for others takes its place, so that a session holds one of each. Where nothing was cut, and would be for
// others, the element stays the same.
type memo struct {
	last atomic.Pointer[finished]
	unit atomic.Pointer[measured]
}

// measured holds the messages of a unit and their tokens, and what they were made for.
type measured struct {
	by       finishing
	messages []chat.Message // none if the unit says nothing
	tokens   int
}

// measure returns the messages that are made for a sizing, and their tokens. Keep says that the tokenizer counts the same
// each time.
func (m *memo) measure(by finishing, keep bool, make func() []chat.Message) ([]chat.Message, int) {
	if last := m.unit.Load(); keep && last != nil && last.by == by {
		return last.messages, last.tokens
	}
	made := &measured{by: by, messages: make()}
	for _, message := range made.messages {
		made.tokens += by.tokenizer.CountMessage(message)
	}
	if keep {
		m.unit.Store(made)
	}
	return made.messages, made.tokens
}

// finished is an element of messages, and what it was made for.
type finished struct {
	by       finishing
	keep     bool               // which counts the same each time
	whole    bool               // nothing was cut
	messages *elements.Finished // nil where there are none
	rank     int
	ranked   elements.Node // the messages with the rank for their priority
}

// finishing is what messages are finished by.
type finishing struct {
	limits    Limits
	window    int
	tokenizer chat.Tokenizer
}

// finisher makes nodes for a list in which each has the next higher rank as its priority, so that the first goes first.
type finisher struct {
	finishing
	sizing elements.Sizing
	keep   bool
	nodes  elements.Nodes
	rank   int
}

func newFinisher(limits Limits, s elements.Sizing) *finisher {
	return &finisher{finishing: finishing{limits, s.PromptBudget, s.Tokenizer}, sizing: s, keep: counting.MayKeep(s.Tokenizer)}
}

// round appends the next round.
func (f *finisher) round(r *openRound) {
	made := f.kept(&r.shown)
	if made == nil {
		messages, cut := r.within(f.limits, f.sizing)
		made = f.fresh(&r.shown, !cut, messages...)
	}
	if f.rank++; made.messages != nil {
		f.nodes = append(f.nodes, made.ranked)
	}
}

// reserve keeps a place for [finisher.opening].
func (f *finisher) reserve() int {
	f.nodes = append(f.nodes, nil)
	return len(f.nodes) - 1
}

// opening fills a place that was kept with what starts a turn. Where that says nothing it takes no rank.
func (f *finisher) opening(at int, t *openTurn) {
	made := f.kept(t.opening)
	if made == nil {
		var messages []chat.Message
		if m, ok := (Turn{Start: t.start}).MessageWithin(f.limits, f.sizing); ok {
			messages = append(messages, m)
		}
		_, shell := t.start.Body.(Shell) // which alone may be cut
		made = f.fresh(t.opening, !shell, messages...)
	}
	if made.messages != nil {
		f.nodes[at] = made.ranked
		f.rank++
	}
}

// kept is what a memo has at the next rank, nil where it has nothing for this.
func (f *finisher) kept(m *memo) *finished {
	last := m.last.Load()
	switch {
	case last == nil:
		return nil
	case !f.keep || !last.keep || last.by != f.finishing:
		if !last.whole || last.messages != nil && !fits(last.messages.Messages, f.limits, f.sizing) {
			return nil
		}
	case last.rank == f.rank:
		return last
	}
	return f.ranked(m, last.whole, last.messages)
}

// fresh makes an element of messages.
func (f *finisher) fresh(m *memo, whole bool, messages ...chat.Message) *finished {
	var element *elements.Finished
	if len(messages) > 0 {
		element = &elements.Finished{Messages: messages}
	}
	return f.ranked(m, whole, element)
}

// ranked returns messages the next rank. The element stays the same, so that a renderer knows it again.
func (f *finisher) ranked(m *memo, whole bool, messages *elements.Finished) *finished {
	made := &finished{by: f.finishing, keep: f.keep, whole: whole, messages: messages, rank: f.rank}
	if messages != nil {
		made.ranked = elements.WithPriority{Priority: f.rank, Node: messages}
	}
	m.last.Store(made)
	return made
}
