package history

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// noResult is the text in place of a result that is missing.
const noResult = "(no result: the call was interrupted)"

// lateResult is what the user's message says that follows an answer, if the result of a call of an earlier turn came after
// it.
const lateResult = "(the missing result of an earlier call has arrived: see there)"

// lostResult is what comes before the result of a call that a compaction covers.
const lostResult = "The result of a tool call that is not shown has arrived:"

// arrived returns the message that follows the last answer if a result of an earlier turn came after it: the result is
// shown with its call, and no list to be sent may end with an answer.
func (sn *snapshot) arrived() []chat.Message {
	if !sn.late {
		return nil
	}
	return []chat.Message{chat.UserMessage(lateResult)}
}

// Messages returns the round as it is sent if nothing is cut: the assistant message, then one result for each of its
// calls, in their order. It is empty if the assistant said nothing. [View.Units] returns rounds within limits.
//
//   - A call without a result, as after an interruption, is answered by a note that says so.
//   - Blank text is left out, and so is thinking that was cut off before it was signed. An assistant message without
//     text and calls is left out.
//   - A call without a tool name was cut off and is left out with its result.
//   - Thinking that a compaction kept ([Round.Thinking]) comes first, and what was said before the results came
//     ([Round.Between]) last.
//   - A result whose call a compaction covers is the user's words.
func (r Round) Messages() []chat.Message {
	assistant := r.Assistant.Message()
	if r.isLost() {
		words := plaintext.ResultTag.Parts(withOutput(assistant.Content), "call", assistant.ToolCallID)
		return []chat.Message{{Role: chat.RoleUser, Content: append(chat.Parts{chat.Text(lostResult)}, words...)}}
	}
	for _, e := range r.Between {
		assistant.Content = slices.Concat(assistant.Content, e.Message().Content)
	}
	assistant.Content = sendable.Parts(assistant.Content)
	var calls []chat.ToolCall // a copy of the calls
	var results []entry.Entry
	for k, e := range r.answers() {
		if c := assistant.ToolCalls[k]; sendable.Call(c) {
			calls, results = append(calls, c), append(results, e)
		}
	}
	assistant.ToolCalls = calls
	if len(calls) == 0 && !sendable.HasAnswer(assistant.Content) {
		return nil
	}
	assistant = sendable.WithThinking(assistant, r.Thinking)
	messages := append(make([]chat.Message, 0, 1+len(calls)), assistant)
	for k, c := range calls {
		if results[k].Body == nil {
			m := chat.ToolResult(c.ID, noResult)
			m.IsError = true
			messages = append(messages, m)
			continue
		}
		m := results[k].Message()
		m.ToolCallID = c.ID
		m.Content = withOutput(m.Content)
		messages = append(messages, m)
	}
	return messages
}

// withOutput returns the content of a result as it is sent, with a text if it is blank.
func withOutput(content chat.Parts) chat.Parts {
	if content = sendable.Parts(content); !sendable.HasAnswer(content) {
		content = append(chat.Parts{chat.Text(sendable.NoOutput)}, content...)
	}
	return content
}

// round returns a round as it is sent, and reports whether something in it was cut: results together take at most their
// share of the prompt's budget, each cut in its middle; so do the calls' arguments. Both together take at most what is
// left for the round, if that is known ([View.NewestWithin]).
func (h handles) round(r *openRound, by finishing) (messages []chat.Message, cut bool) {
	if r.isLost() {
		e := r.Assistant
		m := e.Body.(entry.Message)
		m.Content = clipParts(by.tokenizer, m.Content, by.results, by.head, h.marks(e, 0), h.of(e, 0, 0))
		e.Body = m
		return Round{Assistant: e}.Messages(), true
	}
	messages = r.Messages()
	head := by.head
	if len(messages) > 0 && r.most > 0 {
		head = cmp.Or(r.head, DefaultHead)
		calls, outputs := by.sizesOf(messages)
		share := fairShare([]int{min(calls, by.arguments), min(outputs, by.results)}, r.most)
		by.arguments, by.results = min(by.arguments, share), min(by.results, share)
	}
	if len(messages) == 0 || by.fits(messages) {
		return messages, false
	}
	h.clipCalls(by.tokenizer, r, messages[0].ToolCalls, by.arguments, by.head)
	h.clipResults(by.tokenizer, r, messages[1:], by.results, head)
	return messages, true
}

// clipResults cuts results so that together they take at most limit tokens.
func (h handles) clipResults(t chat.Tokenizer, r *openRound, results []chat.Message, limit int, head float64) {
	sizes := make([]int, len(results))
	for i, m := range results {
		sizes[i] = partsUpTo(t, m.Content, limit)
	}
	share := fairShare(sizes, limit)
	given := map[string]entry.Entry{} // by call
	calls := r.Assistant.Message().ToolCalls
	for k, e := range r.answered() {
		given[calls[k].ID] = e
	}
	for i, size := range sizes {
		m := &results[i]
		if e, ok := given[m.ToolCallID]; ok && size > share {
			m.Content = clipParts(t, m.Content, share, head, h.resultMarks(r, e), h.of(e, 0, 0))
		}
	}
}

// clipCalls cuts arguments so that together they take at most limit tokens.
func (h handles) clipCalls(t chat.Tokenizer, r *openRound, calls []chat.ToolCall, limit int, head float64) {
	sizes := make([]int, len(calls))
	for i, c := range calls {
		sizes[i] = sizeUpTo(t, c.Arguments, limit)
	}
	share := fairShare(sizes, limit)
	for i, size := range sizes {
		if size > share {
			calls[i].Arguments = clipArguments(t, calls[i].Arguments, share, head, h.callMarks(r, calls[i]))
		}
	}
}

// sizesOf returns the tokens of the arguments of a round's calls, and of its results. A text that exceeds their limit in any
// case counts as one token more than that.
func (by finishing) sizesOf(round []chat.Message) (calls, outputs int) {
	for _, c := range round[0].ToolCalls {
		calls = clamp.Sum(calls, sizeUpTo(by.tokenizer, c.Arguments, by.arguments))
	}
	for _, m := range round[1:] {
		outputs = clamp.Sum(outputs, partsUpTo(by.tokenizer, m.Content, by.results))
	}
	return calls, outputs
}

// fits reports whether calls' arguments and results of a round are within limits, so that nothing is cut.
func (by finishing) fits(round []chat.Message) bool {
	calls, outputs := by.sizesOf(round)
	return calls <= by.arguments && outputs <= by.results
}

// says reports whether the round is sent: whether [Round.Messages] returns any message.
func (r Round) says() bool { return r.isLost() || sendable.Answers(r.Assistant.Message()) }

// Message returns the start of the turn as it is sent ([entry.Entry.Shown]), and false if it says nothing.
func (t Turn) Message() (chat.Message, bool) {
	m, ok := t.Start.Shown()
	m.Content = sendable.Parts(m.Content)
	return m, ok && sendable.HasAnswer(m.Content)
}

// start returns the start of a turn as it is sent, nothing if it says nothing. The output of a shell command is cut to
// its share of the prompt's budget, like a tool result, because the output may exceed any budget. What the user or the
// application says is never cut.
func (h handles) start(e entry.Entry, by finishing) []chat.Message {
	if shell, ok := e.Body.(entry.Shell); ok {
		shell.Output = clip(by.tokenizer, shell.Output, by.results, by.head, h.marks(e, len(e.Text())-len(shell.Output)))
		e.Body = shell
	}
	if m, ok := (Turn{Start: e}).Message(); ok {
		return []chat.Message{m}
	}
	return nil
}
