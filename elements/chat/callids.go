package chat

import (
	"slices"

	"github.com/promptree-go/promptree/internal/callid"
)

// WithCallIDs returns an answer in which every tool call has a unique id. The first call with an id keeps it byte for
// byte. A call without an id, or with the id of an earlier call, gets a random one of 31 letters, digits and "_". Some
// servers omit ids or repeat them, and then no result can be matched to its call. The message passed in is not changed,
// and neither are parts of its content that name a call.
//
// The models of this module and package summarize/agent apply it. Other models and agents should do so as well, before
// the answer is appended and its tools are called. Use [CallIDs] for answers that are streamed.
//
// New ids are random because those of two answers must differ even if the answers are equal. Tests make them
// deterministic with testing/cryptotest.
func WithCallIDs(m Message) Message {
	m.ToolCalls = new(CallIDs).Calls(m.ToolCalls)
	return m
}

// CallIDs assigns the ids of [WithCallIDs] to the calls of one answer: while it is streamed, and the same ids again
// when it is complete. The zero value is ready to use. It is not safe for concurrent use.
type CallIDs struct {
	made     map[string][]string // new ids by original id, in order
	streamed map[string]int      // the number of calls of Next with each id
}

// Next returns the id for the next call that is streamed. The argument is the id that the call came with, "" for none.
func (c *CallIDs) Next(id string) string {
	if c.streamed == nil {
		c.streamed = map[string]int{}
	}
	n := c.streamed[id]
	c.streamed[id]++
	return c.id(id, n)
}

// Calls returns the calls of the answer, all of them or those that have arrived, with the ids that Next returned for
// them. The calls passed in are not changed.
func (c *CallIDs) Calls(calls []ToolCall) []ToolCall {
	out := slices.Clone(calls)
	seen := make(map[string]int, len(calls))
	for i := range out {
		id := out[i].ID
		out[i].ID = c.id(id, seen[id])
		seen[id]++
	}
	return out
}

// id returns the new id of a call that came with this id after n others with the same one.
func (c *CallIDs) id(id string, n int) string {
	if id != "" {
		if n == 0 {
			return id
		}
		n--
	}
	if c.made == nil {
		c.made = map[string][]string{}
	}
	for len(c.made[id]) <= n {
		c.made[id] = append(c.made[id], callid.New())
	}
	return c.made[id][n]
}
