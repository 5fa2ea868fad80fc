package history

import (
	"slices"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/sizing"
)

// Truncator is the last guard before a request: of a list of messages that does not fit it leaves the oldest out. It
// changes the request and nothing else; a session keeps everything, and the next request may show it again. Compaction
// comes first, and where that did its work a truncator only reports.
//
// The rules are those of the basic truncator of Copilot CLI:
//
//  1. Messages and tool definitions are counted apart, and both take of the limit.
//  2. Orphans go, even where everything fits: results without a call in the assistant message before them, second
//     results of one call, and calls that no result follows (one that runs cannot be sent yet). An assistant message of
//     which nothing is left goes too.
//  3. Where what is left fits the limit, that is all. Else messages go until it takes at most [Truncator.Target] of the
//     limit, a little below it, so that the next message does not cut again:
//     first the rounds before the latest user message, the oldest first, each an assistant message with all its
//     results; then the older user messages, the oldest first; last the rounds after the latest user message, the
//     oldest first, but for the newest one.
//  4. A user message of which [Truncator.Last] tells goes only where nothing else is left to go, and the rest is still over
//     the limit: the summary of what was compacted is one.
//  5. System messages and the latest user message stay, whatever they take. A list without a user message keeps its
//     newest round.
//
// Of messages that obey [chat.Validate] what is left does so too. A truncator is safe for concurrent use; its fields are
// set before the first.
type Truncator struct {
	// Tokenizer that the request is counted with.
	Tokenizer chat.Tokenizer
	// Limit is the most tokens that a request may take, tool definitions included. Defaults to [sizing.DefaultTokens].
	Limit int
	// Target is the share of the limit that is aimed at once it is exceeded, above 0 and up to 1. Defaults to 0.95.
	Target float64
	// Last tells of user messages that go after everything else. Defaults to none.
	Last func(chat.Message) bool
	// Name by which reports say who truncated. Defaults to "Truncator".
	Name string

	reported atomic.Bool
}

// Truncation reports what a request took before and after a [Truncator].
type Truncation struct {
	// By is the truncator's name.
	By string
	// Initial tells that this is the truncator's first report.
	Initial bool
	// Limit and Target in tokens.
	Limit, Target int
	// Before and After are what the request took, and takes. They are equal where nothing was removed.
	Before, After RequestUsage
	// Over is how many tokens what must stay is over the limit; 0 where the request fits.
	Over int
}

// RequestUsage is what a request takes.
type RequestUsage struct {
	// Messages is their number.
	Messages int
	// System, Conversation and Tools are the tokens of the system messages, of all others, and of the tool definitions.
	System, Conversation, Tools int
}

// Tokens of the whole request.
func (u RequestUsage) Tokens() int { return u.System + u.Conversation + u.Tools }

// Removed says how many messages and tokens went. Calls that were taken out of a message count as tokens only.
func (t Truncation) Removed() (messages, tokens int) {
	return t.Before.Messages - t.After.Messages, t.Before.Tokens() - t.After.Tokens()
}

// Truncate gives the messages that are to be sent. The list that it is given is not changed, and is given back where
// nothing went. Time and memory grow with the number of messages; each is counted once, and again where calls are taken
// out of it.
func (t *Truncator) Truncate(messages []chat.Message, tools []chat.Tool) ([]chat.Message, Truncation) {
	report := Truncation{By: t.Name, Initial: !t.reported.Swap(true), Limit: t.Limit}
	if report.By == "" {
		report.By = "Truncator"
	}
	if report.Limit <= 0 {
		report.Limit = sizing.DefaultTokens
	}
	target := t.Target
	if !(target > 0 && target <= 1) {
		target = 0.95
	}
	report.Target = clamp.Share(target, report.Limit)

	q := request{usage: RequestUsage{Messages: len(messages)}, items: make([]requestItem, len(messages))}
	if len(tools) > 0 {
		q.usage.Tools = t.Tokenizer.CountTools(tools)
	}
	for i, m := range messages {
		n := t.Tokenizer.CountMessage(m)
		q.items[i] = requestItem{message: m, tokens: n}
		*q.usage.part(m) += n
	}
	report.Before = q.usage
	changed := q.removeOrphans(t.Tokenizer)
	if q.usage.Tokens() > report.Limit {
		q.truncate(report.Target, report.Limit, t.Last)
	}
	report.After = q.usage
	report.Over = max(0, q.usage.Tokens()-report.Limit)
	if !changed && q.usage.Messages == len(messages) {
		return messages, report
	}
	kept := make([]chat.Message, 0, q.usage.Messages)
	for _, it := range q.items {
		if !it.gone {
			kept = append(kept, it.message)
		}
	}
	return kept, report
}

// part is where the tokens of a message are counted.
func (u *RequestUsage) part(m chat.Message) *int {
	if m.Role == chat.RoleSystem {
		return &u.System
	}
	return &u.Conversation
}

// request is a list of messages from which some go.
type request struct {
	usage RequestUsage
	items []requestItem
}

type requestItem struct {
	message chat.Message
	tokens  int
	gone    bool
}

// remove takes a message out.
func (q *request) remove(i int) {
	it := &q.items[i]
	if it.gone {
		return
	}
	it.gone = true
	q.usage.Messages--
	*q.usage.part(it.message) -= it.tokens
}

// removeOrphans takes out results without a call and calls without a result, and tells whether there were any.
func (q *request) removeOrphans(t chat.Tokenizer) bool {
	changed := false
	for i := 0; i < len(q.items); {
		if q.items[i].message.Role != chat.RoleAssistant {
			if q.items[i].message.Role == chat.RoleTool {
				q.remove(i)
				changed = true
			}
			i++
			continue
		}
		m := &q.items[i].message
		open := make(map[string]bool, len(m.ToolCalls)) // true until it is answered
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		end := i + 1
		for ; end < len(q.items) && q.items[end].message.Role == chat.RoleTool; end++ {
			id := q.items[end].message.ToolCallID
			if !open[id] {
				q.remove(end)
				changed = true
			}
			if _, known := open[id]; known {
				open[id] = false
			}
		}
		answered := slices.DeleteFunc(slices.Clone(m.ToolCalls), func(c chat.ToolCall) bool { return open[c.ID] })
		if len(answered) < len(m.ToolCalls) {
			changed = true
			before := q.items[i].tokens
			m.ToolCalls = answered
			q.items[i].tokens = t.CountMessage(*m)
			q.usage.Conversation += q.items[i].tokens - before
			if len(answered) == 0 && !hasAnswer(sayable(m.Content)) {
				q.remove(i)
			}
		}
		i = end
	}
	return changed
}

// truncate takes messages out until the rest takes at most target tokens, or must stay; those that go last only until it
// takes at most limit.
func (q *request) truncate(target, limit int, last func(chat.Message) bool) {
	fits := func() bool { return q.usage.Tokens() <= target }
	latest, newest := -1, -1 // the latest user message, the newest assistant message
	for i, it := range q.items {
		switch {
		case it.gone:
		case it.message.Role == chat.RoleUser:
			latest = i
		case it.message.Role == chat.RoleAssistant:
			newest = i
		}
	}
	rounds := func(from, to int) {
		for i := from; i < to && !fits(); i++ {
			if q.items[i].message.Role != chat.RoleAssistant {
				continue
			}
			q.remove(i)
			for i+1 < len(q.items) && q.items[i+1].message.Role == chat.RoleTool {
				i++
				q.remove(i)
			}
		}
	}
	rounds(0, latest)
	isLast := func(i int) bool { return last != nil && last(q.items[i].message) }
	for i := 0; i < latest && !fits(); i++ {
		if q.items[i].message.Role == chat.RoleUser && !isLast(i) {
			q.remove(i)
		}
	}
	rounds(latest+1, newest)
	for i := 0; i < latest && q.usage.Tokens() > limit; i++ {
		if q.items[i].message.Role == chat.RoleUser { // only those are left
			q.remove(i)
		}
	}
}
