package history

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/sizing"
)

// Truncator is the last guard before a request: from a list of messages that does not fit, it removes the oldest. It
// changes the request and nothing else; a session keeps everything, and the next request may show it again. Compaction
// comes first.
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
//     95% of the limit, so that the next message does not cause another cut.
//  4. A user message for which [Truncator.Last] returns true is removed only if the rest exceeds the limit although
//     nothing else is left to remove. Then what was removed before it is there again, as far as the limit allows. The
//     summary of a compaction is an example.
//  5. System messages and the latest user message stay, whatever their size. A list without a user message keeps its
//     newest round.
//
// If the messages obey [chat.Validate], so does the result.
type Truncator struct {
	// Tokenizer that counts the request.
	Tokenizer chat.Tokenizer
	// Limit is the maximum size of a request in tokens, tool definitions included. Defaults to [sizing.DefaultTokens].
	Limit int
	// Last reports whether a user message is removed after everything else. None by default.
	Last func(chat.Message) bool
}

// targetShare is the part of the limit below which a request that exceeds it is cut.
const targetShare = 0.95

// Truncate returns the messages to send, and the number of tokens by which what must stay exceeds the limit, 0 if it fits.
// The list passed in is not changed. Time and memory are proportional to the number of messages; each is counted once, and
// again if calls are removed from it.
func (t Truncator) Truncate(messages []chat.Message, tools []chat.Tool) (kept []chat.Message, over int) {
	limit := cmp.Or(max(0, t.Limit), sizing.DefaultTokens)
	q := request{items: make([]requestItem, len(messages))}
	if len(tools) > 0 {
		q.fixed = t.Tokenizer.CountTools(tools)
	}
	q.tokens = q.fixed
	for i, m := range messages {
		n := t.Tokenizer.CountMessage(m)
		q.items[i] = requestItem{message: m, tokens: n}
		q.tokens += n
		if m.Role == chat.RoleSystem {
			q.fixed += n
		}
	}
	q.removeOrphans(t.Tokenizer)
	if q.tokens > limit {
		q.truncate(targetShare*float64(limit), limit, t.Last)
	}
	for _, it := range q.items {
		if !it.gone {
			kept = append(kept, it.message)
		}
	}
	return kept, max(0, q.tokens-limit)
}

// request is a list of messages from which some are removed.
type request struct {
	tokens int // of tools and messages
	fixed  int // of tools and system messages
	items  []requestItem
}

type requestItem struct {
	message chat.Message
	tokens  int
	gone    bool
}

// remove takes a message out.
func (q *request) remove(i int) {
	if it := &q.items[i]; !it.gone {
		it.gone = true
		q.tokens -= it.tokens
	}
}

// removeOrphans removes results without a call and calls without a result.
func (q *request) removeOrphans(t chat.Tokenizer) {
	for i := 0; i < len(q.items); {
		if q.items[i].message.Role != chat.RoleAssistant {
			if q.items[i].message.Role == chat.RoleTool {
				q.remove(i)
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
			if id := q.items[end].message.ToolCallID; open[id] {
				open[id] = false
			} else {
				q.remove(end)
			}
		}
		answered := slices.DeleteFunc(slices.Clone(m.ToolCalls), func(c chat.ToolCall) bool { return open[c.ID] })
		if len(answered) < len(m.ToolCalls) {
			before := q.items[i].tokens
			m.ToolCalls = answered
			q.items[i].tokens = t.CountMessage(*m)
			q.tokens += q.items[i].tokens - before
			if len(answered) == 0 && !sendable.HasAnswer(sendable.Parts(m.Content)) {
				q.remove(i)
			}
		}
		i = end
	}
}

// truncate removes messages until the rest takes at most limit tokens or must stay, in passes. Each pass that is needed
// goes on until the rest takes less than target tokens; only messages that go last are removed one by one.
func (q *request) truncate(target float64, limit int, last func(chat.Message) bool) {
	fits := func() bool { return float64(q.tokens) < target }
	exceeds := func() bool { return q.tokens > limit }
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
	before := request{tokens: q.tokens, fixed: q.fixed, items: slices.Clone(q.items)}
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
	most := limit - q.fixed
	for from := 0; from < len(q.items); { // a round, or a message that is in none
		to, tokens := from, 0
		for ; to == from || to < len(q.items) && q.items[to].message.Role == chat.RoleTool; to++ {
			if !q.items[to].gone {
				tokens += q.items[to].tokens
			}
		}
		stays := q.items[from].message.Role == chat.RoleSystem || from == latest || from == newest && newest > latest
		for ; from < to; from++ {
			if !stays && tokens > most {
				q.remove(from)
			}
		}
	}
}
