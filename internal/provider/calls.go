package provider

import (
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// CallStream collects tool calls whose arguments arrive in pieces, and streams the pieces as [chat.CallDelta]. Calls are
// in the order in which they started, whatever index the provider gives them.
type CallStream struct {
	// Stream is called with each piece. It may be nil.
	Stream func(chat.Delta)
	// IDs assigns the ids under which the calls are streamed.
	IDs chat.CallIDs

	calls []*streamedCall
	begun int            // the number of calls whose first piece was streamed
	last  map[int64]int  // the last call with an index
	named map[string]int // the first call with an id
}

type streamedCall struct {
	call      chat.ToolCall // with the provider's id, without arguments
	arguments strings.Builder
	streamed  int // the number of bytes of the arguments that were streamed
}

// Add adds a piece of the call with this index, and returns the call without its arguments. Because some servers give
// every call the index 0, an id that differs from the call's starts another call, and so does a name with arguments but
// without an id after complete arguments. The first piece is held back until the id and the name are known.
func (s *CallStream) Add(index int64, id, name, arguments string) *chat.ToolCall {
	i := s.find(index, id)
	if i < 0 || id == "" && name != "" && arguments != "" && WholeArguments(s.calls[i].arguments.String()) {
		i = s.grow(index)
	}
	s.add(i, id, name, arguments)
	return &s.calls[i].call
}

// End streams the rest of a call, given its complete arguments.
func (s *CallStream) End(index int64, id, name, arguments string) {
	i := s.find(index, id)
	if at, ok := s.named[id]; i < 0 && ok { // the final index may differ from the one in the stream
		i = at
	}
	if i < 0 {
		i = s.grow(index)
	}
	rest, ok := strings.CutPrefix(arguments, s.calls[i].arguments.String())
	if !ok {
		rest = "" // they differ from the streamed arguments
	}
	s.add(i, id, name, rest)
	s.flush(i + 1)
}

// Flush streams the pieces that were held back, at the end of an answer.
func (s *CallStream) Flush() { s.flush(len(s.calls)) }

func (s *CallStream) grow(index int64) int {
	if s.last == nil {
		s.last, s.named = map[int64]int{}, map[string]int{}
	}
	s.last[index] = len(s.calls)
	s.calls = append(s.calls, &streamedCall{})
	return len(s.calls) - 1
}

// Calls returns the calls as far as they arrived, in the order in which they started, with the ids of s.IDs.
func (s *CallStream) Calls() []chat.ToolCall {
	var calls []chat.ToolCall
	for _, c := range s.calls {
		call := c.call
		call.Arguments = c.arguments.String()
		calls = append(calls, call)
	}
	return s.IDs.Calls(calls)
}

// find returns the call of a piece, the last one with that index, or -1 if the piece starts another.
func (s *CallStream) find(index int64, id string) int {
	i, ok := s.last[index]
	if !ok {
		return -1
	}
	if had := s.calls[i].call.ID; id != "" && had != "" && had != id {
		return -1
	}
	return i
}

func (s *CallStream) add(i int, id, name, arguments string) {
	c := s.calls[i]
	if c.call.ID == "" && id != "" {
		c.call.ID = id
		if _, ok := s.named[id]; !ok {
			s.named[id] = i
		}
	}
	if c.call.Name == "" {
		c.call.Name = name
	}
	c.arguments.WriteString(arguments)
	switch {
	case i < s.begun && c.streamed < c.arguments.Len():
		s.send(i)
	case i >= s.begun && c.call.ID != "" && c.call.Name != "":
		s.flush(i + 1)
	}
}

// flush begins the first n calls, in order.
func (s *CallStream) flush(n int) {
	for s.begun < n {
		s.send(s.begun)
		s.begun++
	}
}

// send streams the part of a call that was not streamed yet.
func (s *CallStream) send(i int) {
	c := s.calls[i]
	d := chat.CallDelta{Index: i, Arguments: c.arguments.String()[c.streamed:]}
	if i == s.begun {
		d.ID, d.Name = s.IDs.Next(c.call.ID), c.call.Name
	}
	c.streamed = c.arguments.Len()
	if s.Stream != nil {
		s.Stream(d)
	}
}

// WholeArguments reports whether arguments are a complete JSON object.
func WholeArguments(arguments string) bool {
	return strings.HasPrefix(strings.TrimLeft(arguments, " \t\r\n"), "{") && json.Valid([]byte(arguments))
}

// Partial returns the response that comes with an error: the part of the answer that had arrived. A message without
// content and calls becomes the zero value.
func Partial(m chat.Message, usage chat.Usage) chat.Response {
	if len(m.Content) == 0 && len(m.ToolCalls) == 0 {
		m = chat.Message{}
	}
	return chat.Response{Message: m, Usage: usage}
}
