package history

import (
	"slices"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// memo keeps the element that a round, or what starts a turn, is shown by, for the limits and the sizing of the last time.
// What is made for others takes its place, so that a session holds one of each. Where nothing was cut, and would be for
// others, the element stays the same.
type memo struct{ last atomic.Pointer[finished] }

// finished is an element of messages, and what it was made for.
type finished struct {
	by       finishing
	keep     bool               // which counts the same each time
	whole    bool               // nothing was cut
	gone     []output           // of the round
	messages *elements.Finished // nil where there are none
	rank     int
	ranked   elements.Node // the messages with the rank for their priority
}

// finishing is what messages are finished by.
type finishing struct {
	limits    Limits
	window    int
	tokenizer sizing.Tokenizer
}

// finisher makes nodes for a list in which each has the next higher rank as its priority, so that the first goes first.
type finisher struct {
	finishing
	sizing sizing.Sizing
	keep   bool
	rounds int      // that were passed
	gone   []output // of the rounds to come
	nodes  elements.Nodes
	rank   int
}

func newFinisher(limits Limits, s sizing.Sizing, gone []output) *finisher {
	return &finisher{finishing: finishing{limits, s.Window, s.Tokenizer}, sizing: s, keep: sizing.Lasting(s.Tokenizer), gone: gone}
}

// skip passes the rounds of turns.
func (f *finisher) skip(turns []*openTurn) {
	for _, t := range turns {
		f.rounds += len(t.rounds)
	}
	_, f.gone = upTo(f.gone, f.rounds-1)
}

// round appends the next round, placeholders in the place of outputs that are gone.
func (f *finisher) round(r *openRound) {
	var gone []output
	gone, f.gone = upTo(f.gone, f.rounds)
	f.rounds++
	made := f.kept(&r.shown, gone)
	if made == nil {
		messages, cut := without(r.Round, gone).within(f.limits, f.sizing)
		made = f.fresh(&r.shown, gone, !cut, messages...)
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
	made := f.kept(t.opening, nil)
	if made == nil {
		var messages []chat.Message
		if m, ok := (Turn{Start: t.start}).MessageWithin(f.limits, f.sizing); ok {
			messages = append(messages, m)
		}
		_, shell := t.start.Body.(Shell) // which alone may be cut
		made = f.fresh(t.opening, nil, !shell, messages...)
	}
	if made.messages != nil {
		f.nodes[at] = made.ranked
		f.rank++
	}
}

// kept is what a memo has at the next rank, nil where it has nothing for this.
func (f *finisher) kept(m *memo, gone []output) *finished {
	last := m.last.Load()
	switch {
	case last == nil || !slices.Equal(last.gone, gone):
		return nil
	case !f.keep || !last.keep || last.by != f.finishing:
		if !last.whole || last.messages != nil && !fits(last.messages.Messages, f.limits, f.sizing) {
			return nil
		}
	case last.rank == f.rank:
		return last
	}
	return f.ranked(m, gone, last.whole, last.messages)
}

// fresh makes an element of messages.
func (f *finisher) fresh(m *memo, gone []output, whole bool, messages ...chat.Message) *finished {
	var element *elements.Finished
	if len(messages) > 0 {
		element = elements.NewFinished(elements.Props{}, messages...)
	}
	return f.ranked(m, gone, whole, element)
}

// ranked gives messages the next rank. The element stays the same, so that a renderer knows it again.
func (f *finisher) ranked(m *memo, gone []output, whole bool, messages *elements.Finished) *finished {
	made := &finished{by: f.finishing, keep: f.keep, gone: slices.Clone(gone), whole: whole, messages: messages, rank: f.rank}
	if messages != nil {
		made.ranked = elements.WithPriority{Priority: f.rank, Node: messages}
	}
	m.last.Store(made)
	return made
}

// outputMemo keeps what the results of a round take.
type outputMemo struct {
	last atomic.Pointer[measuredOutputs]
}

type measuredOutputs struct {
	tokenizer sizing.Tokenizer
	most      int
	outputs   []PrunedOutput
}

// of gives the results of a round as [Round.outputs] does. Keep tells that the tokenizer is [lasting].
func (m *outputMemo) of(r Round, t sizing.Tokenizer, most int, keep bool) []PrunedOutput {
	if last := m.last.Load(); keep && last != nil && last.most == most && last.tokenizer == t {
		return last.outputs
	}
	outputs := r.outputs(t, most)
	if keep {
		m.last.Store(&measuredOutputs{t, most, outputs})
	}
	return outputs
}
