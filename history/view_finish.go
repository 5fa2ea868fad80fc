package history

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/sendable"
)

// noResult is the text in place of a result that is missing.
const noResult = "(no result: the call was interrupted)"

// Messages returns the round as it is sent: the assistant message, then one result for each of its calls, in their
// order. It is empty if the assistant said nothing.
//
//   - Results together take at most their share of the prompt's budget, each cut in its middle; so do the calls'
//     arguments.
//   - A call without a result, as after an interruption, is answered by a note that says so.
//   - Blank text is left out, and so is thinking that was cut off before it was signed. An assistant message without
//     text and calls is left out.
//   - A call without a tool name was cut off and is left out with its result.
//   - Thinking that a compaction kept ([Round.Thinking]) comes first.
func (r Round) Messages(limits Limits, s elements.Sizing) []chat.Message {
	messages, _ := r.within(limits, s)
	return messages
}

// within returns the round as it is sent, and reports whether something in it was cut.
func (r Round) within(limits Limits, s elements.Sizing) (messages []chat.Message, cut bool) {
	messages = r.whole()
	if len(messages) == 0 || fits(messages, limits, s) {
		return messages, false
	}
	limits = limits.withDefaults()
	clipCalls(s, messages[0].ToolCalls, limits.arguments(s), limits.Head)
	clipResults(s, messages[1:], limits.results(s), limits.Head)
	return messages, true
}

// clipResults cuts results so that together they take at most limit tokens.
func clipResults(t chat.Tokenizer, results []chat.Message, limit int, head float64) {
	sizes := make([]int, len(results))
	for i, m := range results {
		sizes[i] = partsUpTo(t, m.Content, limit)
	}
	shares := fairly(sizes, limit)
	for i, size := range sizes {
		if size > shares[i] {
			results[i].Content = clipParts(t, results[i].Content, shares[i], head)
		}
	}
}

// fits reports whether a round is within its shares of the prompt's budget, so that nothing is cut.
func fits(round []chat.Message, limits Limits, s elements.Sizing) bool {
	limits = limits.withDefaults()
	left := limits.arguments(s)
	for _, c := range round[0].ToolCalls {
		if left -= sizeUpTo(s, c.Arguments, left); left < 0 {
			return false
		}
	}
	left = limits.results(s)
	for _, m := range round[1:] {
		if left -= partsUpTo(s, m.Content, left); left < 0 {
			return false
		}
	}
	return true
}

// whole returns the round as it is sent if nothing is cut.
func (r Round) whole() []chat.Message {
	assistant := r.Assistant.Message()
	assistant.Content = sendable.Parts(assistant.Content)
	var calls []chat.ToolCall // a copy of the calls
	for _, c := range assistant.ToolCalls {
		if c.ID != "" && c.Name != "" {
			calls = append(calls, c)
		}
	}
	assistant.ToolCalls = calls
	if len(calls) == 0 && !sendable.HasAnswer(assistant.Content) {
		return nil
	}
	assistant = sendable.WithThinking(assistant, r.Thinking)
	messages := append(make([]chat.Message, 0, 1+len(calls)), assistant)
	answers := r.answers()
	for _, c := range calls {
		m, ok := answers[c.ID]
		switch m.Content = sendable.Parts(m.Content); {
		case !ok:
			m = chat.ToolResult(c.ID, noResult)
			m.IsError = true
		case !sendable.HasAnswer(m.Content):
			m.Content = append(chat.Parts{chat.Text(sendable.NoOutput)}, m.Content...)
		}
		messages = append(messages, m)
	}
	return messages
}

// says reports whether the round is sent: whether [Round.Messages] returns any message.
func (r Round) says() bool { return sendable.Answers(r.Assistant.Message()) }

// clipCalls cuts arguments so that together they take at most limit tokens.
func clipCalls(t chat.Tokenizer, calls []chat.ToolCall, limit int, head float64) {
	sizes := make([]int, len(calls))
	for i, c := range calls {
		sizes[i] = sizeUpTo(t, c.Arguments, limit)
	}
	for i, share := range fairly(sizes, limit) {
		if sizes[i] > share {
			calls[i].Arguments = clipArguments(t, calls[i].Arguments, share, head)
		}
	}
}

// Message returns the start of the turn as it is sent ([entry.Entry.Shown]), and false if it says nothing.
func (t Turn) Message() (chat.Message, bool) {
	m, ok := t.Start.Shown()
	m.Content = sendable.Parts(m.Content)
	return m, ok && sendable.HasAnswer(m.Content)
}

// MessageWithin returns [Turn.Message] with the output of a shell command cut to its share of the prompt's budget,
// like a tool result, because the output may exceed any budget. What the user or the application says is never cut.
func (t Turn) MessageWithin(limits Limits, s elements.Sizing) (chat.Message, bool) {
	if shell, ok := t.Start.Body.(entry.Shell); ok {
		limits = limits.withDefaults()
		shell.Output = Clip(s, shell.Output, limits.results(s), limits.Head)
		t.Start.Body = shell
	}
	return t.Message()
}
