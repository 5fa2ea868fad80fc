package chat

import (
	"slices"

	"github.com/promptree-go/promptree/internal/callid"
)

// WithCallIDs returns an answer in which each tool call has an id that no other call of it has. The first call of an id keeps
// it byte for byte. A call without an id, or with that of a call before it, gets a random one of 31 letters, digits and "_".
// Some servers leave ids out or repeat them, and then no result can be matched to its call. The message given stays as it is,
// and so do parts of its content that name a call.
//
// The models of this module and package summarize/agent apply it. Other models and agents should do so as well, before the
// answer is appended and its tools are called. [CallIDs] is for answers that are streamed.
//
// New ids are random because those of two answers must differ even if the answers are the same. Tests make them deterministic
// by testing/cryptotest.
func WithCallIDs(m Message) Message {
	m.ToolCalls = new(CallIDs).Calls(m.ToolCalls)
	return m
}

// CallIDs gives the calls of one answer the ids of [WithCallIDs] while the answer is streamed, and the same ids when it is
// whole. The zero value is ready to use. It is not safe for concurrent use.
type CallIDs struct {
	made     map[string][]string // new ids, by the id that the calls came with, in order
	streamed map[string]int      // how often Next was called with each id
}

// Next returns the id of the next call that is streamed. The id given is the one that it came with, "" for none.
func (c *CallIDs) Next(id string) string {
	if c.streamed == nil {
		c.streamed = map[string]int{}
	}
	n := c.streamed[id]
	c.streamed[id]++
	return c.id(id, n)
}

// Calls returns the calls of the answer, all of them or as many as had arrived, with the ids that Next returned for them. The
// calls given stay as they are.
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

// id returns the id of a call that came with this one, after n others that did.
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
