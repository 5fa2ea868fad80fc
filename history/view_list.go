package history

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/counting"
)

// finisher makes a list of nodes with increasing ranks as priorities, so that the first is pruned first.
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

// reserve keeps a place in the list for [finisher.opening].
func (f *finisher) reserve() int {
	f.nodes = append(f.nodes, nil)
	return len(f.nodes) - 1
}

// opening fills a reserved place with the start of a turn. If that is not sent it gets no rank.
func (f *finisher) opening(at int, t *openTurn) {
	made := f.kept(t.opening)
	if made == nil {
		var messages []chat.Message
		if m, ok := (Turn{Start: t.start}).MessageWithin(f.limits, f.sizing); ok {
			messages = append(messages, m)
		}
		_, shell := t.start.Body.(entry.Shell) // only the output of a shell command may be cut
		made = f.fresh(t.opening, !shell, messages...)
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
	case !f.keep || !last.keep || last.by != f.finishing:
		if !last.whole || last.messages != nil && !fits(last.messages.Messages, f.limits, f.sizing) {
			return nil
		}
	case last.rank == f.rank:
		return last
	}
	return f.ranked(m, last.whole, last.messages)
}

// fresh makes an element from messages.
func (f *finisher) fresh(m *memo, whole bool, messages ...chat.Message) *finished {
	var element *elements.Finished
	if len(messages) > 0 {
		element = &elements.Finished{Messages: messages}
	}
	return f.ranked(m, whole, element)
}

// ranked returns messages with the next rank. The element stays the same, so that a renderer recognises it.
func (f *finisher) ranked(m *memo, whole bool, messages *elements.Finished) *finished {
	made := &finished{by: f.finishing, keep: f.keep, whole: whole, messages: messages, rank: f.rank}
	if messages != nil {
		made.ranked = elements.WithPriority{Priority: f.rank, Node: messages}
	}
	m.last.Store(made)
	return made
}
