package history

import (
	"slices"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/sizing"
)

// Truncator is the last guard before a request: from a list of messages that does not fit, it removes the oldest. It
// changes the request and nothing else; a session keeps everything, and the next request may show it again. Compaction
// comes first, and if that was enough a truncator only reports.
//
// The rules are those of the basic truncator of Copilot CLI:
//
//  1. Messages and tool definitions are counted separately, and both count towards the limit.
//  2. Orphans are removed even if everything fits: results without a call in the assistant message before them, second
//     results of one call, and calls without a result (a call that is still running cannot be sent). An assistant message
//     that becomes empty is removed too.
//  3. If the rest fits the limit, nothing more is removed. Otherwise a round or a user message that exceeds the limit
//     alone is removed first, so that it does not take the others with it. If the rest still exceeds the limit, the
//     rounds before the latest user message are
//     removed, the oldest first, each an assistant message with all its results; if the rest still exceeds the limit,
//     the older user messages, the oldest first; and if it exceeds it even then, the rounds after the latest user
//     message, the oldest first, except for the newest one. Each of the three ends once the rest takes less than
//     [Truncator.Target] of the limit, so that the next message does not cause another cut.
//  4. A user message for which [Truncator.Last] returns true is removed only if the rest exceeds the limit although
//     nothing else is left to remove. Then what was removed before it is there again, as far as the limit allows. The
//     summary of a compaction is an example.
//  5. System messages and the latest user message stay, whatever their size. A list without a user message keeps its
//     newest round.
//
// If the messages obey [chat.Validate], so does the result. A truncator is safe for concurrent use; its fields must not
// be changed after the first use.
type Truncator struct {
	// Tokenizer that counts the request.
	Tokenizer chat.Tokenizer
	// Limit is the maximum size of a request in tokens, tool definitions included. Defaults to [sizing.DefaultTokens].
	Limit int
	// Target is the fraction of the limit below which a request that exceeds it is cut, above 0 and up to 1. Defaults to
	// 0.95.
	Target float64
	// Last reports whether a user message is removed after everything else. None by default.
	Last func(chat.Message) bool
	// Name of the truncator in reports. Defaults to "Truncator".
	Name string

	reported atomic.Bool
}

// Truncation reports the size of a request before and after a [Truncator].
type Truncation struct {
	// By is the truncator's name.
	By string
	// Initial reports that this is the truncator's first report.
	Initial bool
	// Limit and Target in tokens.
	Limit, Target int
	// Before and After are the sizes of the request. They are equal if nothing was removed.
	Before, After RequestUsage
	// Over is the number of tokens by which what must stay exceeds the limit; 0 if the request fits.
	Over int
}

// RequestUsage is the size of a request.
type RequestUsage struct {
	// Messages is the number of messages.
	Messages int
	// System, Conversation and Tools are the tokens of the system messages, of all others, and of the tool definitions.
	System, Conversation, Tools int
}

// Tokens returns the tokens of the whole request.
func (u RequestUsage) Tokens() int { return u.System + u.Conversation + u.Tools }

// Removed returns the number of messages and tokens that were removed. Calls removed from within a message count as
// tokens only.
func (t Truncation) Removed() (messages, tokens int) {
	return t.Before.Messages - t.After.Messages, t.Before.Tokens() - t.After.Tokens()
}

// Truncate returns the messages to send. The list passed in is not changed, and is returned itself if nothing was
// removed. Time and memory are proportional to the number of messages; each is counted once, and again if calls are
// removed from it.
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
		q.truncate(target*float64(report.Limit), report.Limit, t.Last)
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

// part returns the field that counts the tokens of a message.
func (u *RequestUsage) part(m chat.Message) *int {
	if m.Role == chat.RoleSystem {
		return &u.System
	}
	return &u.Conversation
}

// request is a list of messages from which some are removed.
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

// removeOrphans removes results without a call and calls without a result, and reports whether there were any.
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
			if len(answered) == 0 && !sendable.HasAnswer(sendable.Parts(m.Content)) {
				q.remove(i)
			}
		}
		i = end
	}
	return changed
}

// truncate removes messages until the rest takes at most limit tokens or must stay, in passes. Each pass that is needed
// goes on until the rest takes less than target tokens; only messages that go last are removed one by one.
func (q *request) truncate(target float64, limit int, last func(chat.Message) bool) {
	fits := func() bool { return float64(q.usage.Tokens()) < target }
	exceeds := func() bool { return q.usage.Tokens() > limit }
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
	if q.removeLarge(latest, newest, limit); !exceeds() {
		return
	}
	before := request{usage: q.usage, items: slices.Clone(q.items)}
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
	if exceeds() {
		for i := 0; i < latest && !fits(); i++ {
			if q.items[i].message.Role == chat.RoleUser && !isLast(i) {
				q.remove(i)
			}
		}
	}
	if exceeds() {
		rounds(latest+1, newest)
	}
	var gone []int
	for i := 0; i < latest && exceeds(); i++ {
		if q.items[i].message.Role == chat.RoleUser && !q.items[i].gone { // only user messages that go last are left
			q.remove(i)
			gone = append(gone, i)
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, i := range gone { // they take nothing else with them
		before.remove(i)
	}
	if *q = before; exceeds() {
		q.truncate(target, limit, last)
	}
}

// removeLarge removes rounds and user messages that exceed the limit alone, beside tools and system messages, except the
// latest user message, and the newest round if it is after that.
func (q *request) removeLarge(latest, newest, limit int) {
	most := limit - q.usage.Tools - q.usage.System
	q.units(func(from, to, tokens int) {
		if q.items[from].message.Role == chat.RoleSystem || from == latest || from == newest && newest > latest || tokens <= most {
			return
		}
		for i := from; i < to; i++ {
			q.remove(i)
		}
	})
}

// units calls do with each round, and each message that is in none, and its tokens.
func (q *request) units(do func(from, to, tokens int)) {
	for from := 0; from < len(q.items); {
		to, tokens := from, 0
		for ; to == from || to < len(q.items) && q.items[to].message.Role == chat.RoleTool; to++ {
			if !q.items[to].gone {
				tokens += q.items[to].tokens
			}
		}
		do(from, to, tokens)
		from = to
	}
}
