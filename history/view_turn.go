package history

import (
	"iter"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
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
	// Assistant is the assistant's message. In a [View] it may be the result of a call that a compaction covered before
	// the result came, which is sent as the user's words.
	Assistant entry.Entry
	// Between holds what the assistant said after it, in messages without calls, before a result came. It is sent with
	// the message itself, because providers take nothing between a call and its result.
	Between []entry.Entry
	// Results in the order of arrival. A call that was interrupted has none.
	Results []entry.Entry
	// Thinking that is put before the assistant message because a compaction covered it ([entry.Compaction.Thinking]).
	// Only a [View] has it.
	Thinking []chat.Thinking
}

// Aborted returns the calls of the round that have no result.
func (r Round) Aborted() []chat.ToolCall {
	var list []chat.ToolCall
	calls := r.Assistant.Message().ToolCalls
	for k, e := range r.answers() {
		if e.Body == nil {
			list = append(list, calls[k])
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
		var pairing chat.Pairing
		said := 0               // the messages in pairing
		rounds := map[int]int{} // the rounds of this turn, by the index of their first message in pairing
		begun := false
		for e, err := range path {
			if err != nil {
				yield(Turn{}, err)
				return
			}
			m := e.Message()
			switch k := kind.Of(e); {
			case k.StartsTurn():
				if begun && !yield(turn, nil) {
					return
				}
				clear(rounds)
				turn, begun = Turn{Start: e}, true
			case k == kind.Assistant:
				pairing.Add(m)
				rounds[said] = len(turn.Rounds)
				said++
				turn.Rounds, begun = append(turn.Rounds, Round{Assistant: e}), true
			case k == kind.Tool:
				call, answers := pairing.Add(m)
				said++
				if i, ok := rounds[call.Message]; answers && ok {
					turn.Rounds[i].Results = append(turn.Rounds[i].Results, e)
					n := untilCalls(turn.Rounds)
					for _, r := range turn.Rounds[n:] {
						turn.Rounds[n-1].Between = append(turn.Rounds[n-1].Between, r.Assistant)
					}
					turn.Rounds = turn.Rounds[:n]
				} else if answers {
					turn.Late, begun = append(turn.Late, e), true
				}
			}
		}
		if begun {
			yield(turn, nil)
		}
	}
}

// newest returns the id of the last entry of the round.
func (r Round) newest() string {
	if n := len(r.Results); n > 0 {
		return r.Results[n-1].ID
	}
	return r.Assistant.ID
}

// calls reports whether the assistant calls tools, or another result takes the place of its message.
func (r Round) calls() bool { return len(r.Assistant.Message().ToolCalls) > 0 || r.isLost() }

// isLost reports whether the round is the result of a call that is not shown.
func (r Round) isLost() bool { return r.Assistant.Message().Role == chat.RoleTool }

// untilCalls returns the number of rounds up to the last that calls tools. If a result follows, what the assistant said in
// the others is sent with that one, because no list to be sent may end with it.
func untilCalls[R interface{ calls() bool }](rounds []R) int {
	n := len(rounds)
	for n > 0 && !rounds[n-1].calls() {
		n--
	}
	return n
}

// answers returns the result of each call, the zero value if it has none.
func (r Round) answers() []entry.Entry {
	answers := make([]entry.Entry, len(r.Assistant.Message().ToolCalls))
	for k, e := range r.answered() {
		answers[k] = e
	}
	return answers
}

// answered yields the results that answer calls, each with the index of its call, in the order of arrival.
func (r Round) answered() iter.Seq2[int, entry.Entry] {
	return func(yield func(int, entry.Entry) bool) {
		var pairing chat.Pairing
		pairing.Add(r.Assistant.Message())
		for _, e := range r.Results {
			if call, ok := pairing.Add(e.Message()); ok && !yield(call.Call, e) {
				return
			}
		}
	}
}
