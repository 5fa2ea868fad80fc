package history

import (
	"iter"

	"github.com/promptree-go/promptree/elements/chat"
)

// Turn is what the user, or somebody in the user's place, said, and the rounds that answer it.
type Turn struct {
	// Start is a user message, a shell execution, a custom message or a branch summary. Its ID is "" where the path
	// begins without one.
	Start  Entry
	Rounds []Round
	// Late are results in this turn of calls that were made in one before it. Only [Turns] gives them apart: in a [View]
	// each stands in the round of its call.
	Late []Entry
}

// Round is one assistant message with all its tool results.
type Round struct {
	Assistant Entry
	// Results in the order in which they came. A call that was cut short has none.
	Results []Entry
	// Thinking with which the assistant message is shown to begin, where a compaction covered it ([Compaction.Thinking]).
	// Only a [View] has it.
	Thinking []chat.Thinking
}

// Aborted lists the calls of the round that have no result.
func (r Round) Aborted() []chat.ToolCall {
	var list []chat.ToolCall
	answers := r.answers()
	for _, c := range r.Assistant.Message().ToolCalls {
		if _, ok := answers[c.ID]; !ok {
			list = append(list, c)
		}
	}
	return list
}

// Turns parts a path, such as [Session.PathTo] gives, into its turns. It holds one turn at a time, so a path of any
// length can be gone through; a result is told from the others by its call, in whatever order they came. Compactions and
// what is not shown are passed over, and so is a result without a call. An error is the last that is given.
func Turns(path iter.Seq2[Entry, error]) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		var turn Turn
		round := map[string]int{} // by call, of this turn
		late := map[string]bool{} // calls of earlier turns that were not answered
		begun := false
		for e, err := range path {
			if err != nil {
				yield(Turn{}, err)
				return
			}
			m := e.Message()
			switch k := kindOf(e); {
			case k.startsTurn():
				if begun && !yield(turn, nil) {
					return
				}
				for _, r := range turn.Rounds {
					for _, c := range r.Aborted() {
						late[c.ID] = true
					}
				}
				clear(round)
				turn, begun = Turn{Start: e}, true
			case k == kindAssistant:
				for _, c := range m.ToolCalls {
					round[c.ID] = len(turn.Rounds)
					delete(late, c.ID)
				}
				turn.Rounds, begun = append(turn.Rounds, Round{Assistant: e}), true
			case k == kindTool:
				if i, ok := round[m.ToolCallID]; ok {
					turn.Rounds[i].Results = append(turn.Rounds[i].Results, e)
				} else if late[m.ToolCallID] {
					turn.Late, begun = append(turn.Late, e), true
				}
			}
		}
		if begun {
			yield(turn, nil)
		}
	}
}

// AllRounds parts a path into its rounds, see [Turns]. What starts a turn and late results are passed over.
func AllRounds(path iter.Seq2[Entry, error]) iter.Seq2[Round, error] {
	return func(yield func(Round, error) bool) {
		for t, err := range Turns(path) {
			if err != nil {
				yield(Round{}, err)
				return
			}
			for _, r := range t.Rounds {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}
