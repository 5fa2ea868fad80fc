package history

import (
	"iter"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// Turn is a user message, or what takes its place, and the rounds that answer it.
type Turn struct {
	// Start is a user message, a shell command, a custom message or a branch summary. Its ID is "" if the path starts
	// without one.
	Start  entry.Entry
	Rounds []Round
	// Late holds results in this turn of calls that were made in an earlier one. Only [Turns] separates them: in a
	// [View] each is in the round of its call.
	Late []entry.Entry
}

// Round is one assistant message and the results of all its tool calls.
type Round struct {
	Assistant entry.Entry
	// Results in the order of arrival. A call that was interrupted has none.
	Results []entry.Entry
	// Thinking that is put before the assistant message because a compaction covered it ([entry.Compaction.Thinking]).
	// Only a [View] has it.
	Thinking []chat.Thinking
}

// Aborted returns the calls of the round that have no result.
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

// Turns splits a path, such as one from [Session.PathTo], into its turns. It holds one turn at a time, so paths of any
// length can be processed; results are matched to calls by id, in whatever order they came. Compactions, entries that
// are not shown, and results without a call are skipped. An error is the last value.
func Turns(path iter.Seq2[entry.Entry, error]) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		var turn Turn
		round := map[string]int{} // index of the round by call id, in this turn
		late := map[string]bool{} // calls of earlier turns that were not answered
		begun := false
		for e, err := range path {
			if err != nil {
				yield(Turn{}, err)
				return
			}
			m := e.Message()
			switch k := e.Kind(); {
			case k.StartsTurn():
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
			case k == entry.KindAssistant:
				for _, c := range m.ToolCalls {
					round[c.ID] = len(turn.Rounds)
					delete(late, c.ID)
				}
				turn.Rounds, begun = append(turn.Rounds, Round{Assistant: e}), true
			case k == entry.KindTool:
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

// answers returns the first result of each call that has one.
func (r Round) answers() map[string]chat.Message {
	answers := make(map[string]chat.Message, len(r.Results))
	for _, e := range r.Results {
		m := e.Message()
		if _, again := answers[m.ToolCallID]; !again {
			answers[m.ToolCallID] = m
		}
	}
	return answers
}
