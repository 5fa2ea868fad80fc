package provider

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// Texts that repairs put where a provider requires one.
const (
	UnknownTool = "unknown_tool"
	NoResult    = "There is no result: the call was interrupted."
	NoOutput    = "(no output)"
	LostResult  = "Result of a tool call that is not shown:"
	NotShown    = "(The conversation before this is not shown.)"
	GoOn        = "Continue."
)

// Indexed is a message and its index in the original request.
type Indexed struct {
	chat.Message
	Index int
}

// ResultsOf matches results with calls. It returns, for the index of each message with calls, the indexes of their
// results in order, and the set of all results that were matched. A result belongs to the last message before it that
// has a call with its id; a message gets at most as many results with an id as it has calls with it.
func ResultsOf(messages []Indexed) (results map[int][]int, matched map[int]bool) {
	type claim struct{ message, calls int }
	open := map[string]claim{}
	results, matched = map[int][]int{}, map[int]bool{}
	for i, m := range messages {
		if c := open[m.ToolCallID]; m.Role == chat.RoleTool && c.calls > 0 {
			results[c.message] = append(results[c.message], i)
			matched[i] = true
			open[m.ToolCallID] = claim{c.message, c.calls - 1}
		}
		for _, call := range m.ToolCalls {
			c := open[call.ID]
			if c.message != i {
				c = claim{message: i}
			}
			c.calls++
			open[call.ID] = c
		}
	}
	return results, matched
}

// End makes the last message one that the model can answer: system messages at the end move before the question or the
// round to be answered, and a user message is added after an answer, or if only system messages are left. A request
// without messages stays empty; given is its original number of messages.
func (c *Changes) End(messages []Indexed, given int) []Indexed {
	if given == 0 {
		return messages
	}
	last := len(messages)
	for last > 0 && messages[last-1].Role == chat.RoleSystem {
		last--
	}
	before := last - 1 // the question or the round to be answered
	for before > 0 && messages[before].Role == chat.RoleTool {
		before--
	}
	switch {
	case last == 0 || messages[last-1].Role == chat.RoleAssistant:
		c.Report(given-1, chat.RuleLast, "a user message added at the end")
		return append(messages, Indexed{Message: chat.UserMessage(GoOn), Index: given - 1})
	case last < len(messages):
		c.Report(messages[last].Index, chat.RuleLast, "%d system messages moved before the question or round to be answered", len(messages)-last)
		return slices.Concat(messages[:before], messages[last:], messages[before:last])
	}
	return messages
}

// Repaired returns a request with the given messages and its other fields repaired, and all changes.
func (c *Changes) Repaired(req chat.Request, messages []Indexed) (chat.Request, []chat.Repair) {
	c.Choice(&req)
	c.Limit(&req)
	req.Tools = slices.Collect(c.Tools(req.Tools))
	req.Messages = make([]chat.Message, len(messages))
	for i, m := range messages {
		req.Messages[i] = m.Message
	}
	return req, c.ByMessage()
}
