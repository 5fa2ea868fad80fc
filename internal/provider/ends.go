package provider

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// end makes the last message one that the model can answer: system messages at the end move before the question or the
// round to be answered, and a user message is added after an answer, unless the API goes on with it, or if only system
// messages are left. A request without messages stays empty; given is its original number of messages.
func (r *Repairer) end(given int) {
	if given == 0 {
		return
	}
	last := len(r.Messages)
	for last > 0 && r.Messages[last-1].Role == chat.RoleSystem {
		last--
	}
	before := last - 1 // the question or the round to be answered
	for before > 0 && r.Messages[before].Role == chat.RoleTool {
		before--
	}
	paused := r.api.Paused != nil && r.api.Paused(chat.Request{Messages: r.Plain()[:last], Tools: r.Tools})
	switch {
	case last == 0 || r.Messages[last-1].Role == chat.RoleAssistant && !paused:
		r.Report(given-1, chat.RuleLast, "a user message added at the end")
		r.Messages = append(r.Messages, Indexed{Message: chat.UserMessage(GoOn), Index: given - 1})
	case last < len(r.Messages):
		r.Report(r.Messages[last].Index, chat.RuleLast, "%d system messages moved before the question or round to be answered", len(r.Messages)-last)
		r.Messages = slices.Concat(r.Messages[:before], r.Messages[last:], r.Messages[before:last])
	}
}

// InsertUser adds a user message that says that the conversation before it is not shown, before message n.
func (r *Repairer) InsertUser(n int, rule chat.Rule) {
	i := r.Messages[n].Index
	r.Fault(i, rule, "no message of the user comes before it", "a user message added before it")
	r.Messages = slices.Insert(r.Messages, n, Indexed{Message: chat.UserMessage(NotShown), Index: i})
}
