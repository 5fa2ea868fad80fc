// Package calls puts the calls of an answer together from the pieces in which they are streamed.
package calls

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// NoIndex is the index of a piece that has none.
const NoIndex = -1

// Stream collects tool calls whose pieces arrive one by one, and streams them as [chat.CallDelta]. Calls are in the
// order in which they started, whatever index the provider gives them. What servers do otherwise than OpenAI's:
//
//	every call has the index 0                     Ollama (ollama#15457)
//	no index, calls alternate by id                LibreChat-agents#260
//	the id of a later piece is another             pool#9
//	arguments under an index that began no call    dirac#215
//	a second call begins at the index of the first agno#8880
//	the name comes in pieces, or in each piece     gateways
//	each piece repeats the arguments so far        hermes-agent#35718
//	the last piece repeats the whole call          opencode#17339
//
// A piece without a name continues a call: that of its id, else that of its index, else the last one. Arguments are the
// pieces put together. If that is not a JSON object, but what came after a whole one is, or the last piece alone, that is:
// they were sent again.
type Stream struct {
	// Stream is called with each piece. It may be nil.
	Stream func(chat.Delta)
	// IDs assigns the ids under which the calls are streamed.
	IDs chat.CallIDs
	// Tools are the names that the request declares. They say what a name in pieces is.
	Tools map[string]bool
	// Quoted reads an object that was written as JSON twice, as a text (sglang#7863).
	Quoted bool

	calls   []*call
	begun   int            // the number of calls whose first piece was streamed
	latest  int            // the call of the last piece
	indexed map[int64]int  // the last call with an index
	named   map[string]int // the first call with an id
}

type call struct {
	call      chat.ToolCall // with the provider's id, without name and arguments
	names     []string      // the pieces of the name
	arguments strings.Builder
	last      string // the last piece of the arguments
	shape     shape  // of the arguments
	streamed  int    // the number of bytes of the arguments that were streamed
	free      bool   // the arguments are not JSON
	held      bool   // the arguments may be sent again, or are a text: they are streamed at the end
}

// Add adds a piece, and returns the index of its call. The first piece is held back until the id and the
// name are known.
func (s *Stream) Add(index int64, id, name, arguments string) int {
	i := s.find(index, id, name, arguments)
	if i < 0 {
		i = s.grow(index)
	}
	s.add(i, id, name, arguments)
	return i
}

// Free says that the arguments of a call are free text and no JSON.
func (s *Stream) Free(call int) { s.calls[call].free = true }

// End streams the rest of a call, given its complete arguments.
func (s *Stream) End(index int64, id, name, arguments string) {
	i, ok := s.indexed[index]
	if had := ok && s.calls[i].call.ID != ""; !ok || had && id != "" && s.calls[i].call.ID != id {
		if i, ok = s.named[id]; !ok { // the final index may differ from the one in the stream
			i = s.grow(index)
		}
	}
	rest, ok := strings.CutPrefix(arguments, s.calls[i].arguments.String())
	if !ok {
		rest = "" // they differ from the streamed arguments
	}
	if len(s.calls[i].names) > 0 {
		name = ""
	}
	s.add(i, id, name, rest)
	s.flush(i + 1)
}

// Flush streams the pieces that were held back, at the end of an answer.
func (s *Stream) Flush() {
	s.flush(len(s.calls))
	for i, c := range s.calls {
		rest, begins := strings.CutPrefix(s.whole(c), c.arguments.String()[:c.streamed])
		if c.held && begins && rest != "" && s.Stream != nil {
			s.Stream(chat.CallDelta{Index: i, Arguments: rest})
		}
		c.held, c.streamed = false, c.arguments.Len()
	}
}

// Calls returns the calls as far as they arrived, in the order in which they started, with the ids of s.IDs.
func (s *Stream) Calls() []chat.ToolCall {
	var calls []chat.ToolCall
	for _, c := range s.calls {
		of := c.call
		of.Name, of.Arguments = s.name(c), s.whole(c)
		calls = append(calls, of)
	}
	return s.IDs.Calls(calls)
}

func (s *Stream) grow(index int64) int {
	if s.indexed == nil {
		s.indexed, s.named = map[int64]int{}, map[string]int{}
	}
	s.calls = append(s.calls, &call{})
	i := len(s.calls) - 1
	if index != NoIndex {
		s.indexed[index] = i
	}
	return i
}

// find returns the call of a piece, or -1 if it starts one.
func (s *Stream) find(index int64, id, name, arguments string) int {
	at, indexed := s.indexed[index]
	if index == NoIndex && id == "" && len(s.calls) > 0 {
		at, indexed = s.latest, true
	}
	by, known := s.named[id]
	switch {
	case indexed && id != "" && s.calls[at].call.ID == id:
		return at
	case known && name == "" && indexed && s.calls[by].call.ID != id: // several calls go on under one id that is not theirs
		return at
	case known && (name == "" || indexed || index == NoIndex):
		return by
	case known: // another call with the same id
		return -1
	case name == "" && indexed:
		return at
	case name == "" && len(s.calls) > 0 && (id == "" || arguments != "" || index == NoIndex):
		return s.latest
	case !indexed: // without a name, it may follow
		return -1
	}
	c := s.calls[at]
	switch object := strings.HasPrefix(strings.TrimLeft(arguments, space), "{"); {
	case len(c.names) == 0:
		return at
	case id != "" && c.call.ID != "": // another call, unless it goes on in the middle of the arguments
		if more := arguments != "" && (c.shape.depth > 0 && !object || c.arguments.Len() == 0 && s.name(c) == name); !more {
			return -1
		}
	case id != "" || !c.shape.closed:
	case name != s.name(c), object && strings.TrimSpace(arguments) != strings.TrimSpace(c.arguments.String()):
		return -1 // another call
	}
	return at
}

func (s *Stream) add(i int, id, name, arguments string) {
	c := s.calls[i]
	s.latest = i
	if id != "" {
		c.call.ID = cmp.Or(c.call.ID, id)
		if _, ok := s.named[id]; !ok {
			s.named[id] = i
		}
	}
	if name != "" && !(len(c.names) > 0 && c.names[len(c.names)-1] == name) {
		c.names = append(c.names, name)
	}
	if arguments != "" {
		so := c.arguments.String()
		c.held = c.held || s.Quoted && so+arguments[:1] == `"` || so != "" && (c.shape.closed || strings.HasPrefix(arguments, so))
		c.arguments.WriteString(arguments)
		c.shape.read(arguments)
		c.last = arguments
	}
	switch {
	case i < s.begun && c.streamed < c.arguments.Len():
		s.send(i)
	case i >= s.begun && c.call.ID != "" && s.settled(c):
		s.flush(i + 1)
	}
}

// settled reports whether the name of a call is known.
func (s *Stream) settled(c *call) bool {
	name := s.name(c)
	return name != "" && (len(s.Tools) == 0 || s.Tools[name] && c.arguments.Len() > 0)
}

// name returns the name of a call: its pieces put together, or the last of them, whichever is declared.
func (s *Stream) name(c *call) string {
	joined := strings.Join(c.names, "")
	if len(c.names) < 2 || s.Tools[joined] {
		return joined
	}
	for _, name := range slices.Backward(c.names) {
		if s.Tools[name] {
			return name
		}
	}
	if last := c.names[len(c.names)-1]; strings.HasPrefix(last, c.names[0]) {
		return last // each piece repeats it so far
	}
	return joined
}

// flush begins the first n calls, in order.
func (s *Stream) flush(n int) {
	for s.begun < n {
		s.send(s.begun)
		s.begun++
	}
}

// send streams the part of a call that was not streamed yet.
func (s *Stream) send(i int) {
	c := s.calls[i]
	d := chat.CallDelta{Index: i}
	if !c.held {
		d.Arguments = c.arguments.String()[c.streamed:]
		c.streamed = c.arguments.Len()
	}
	if i == s.begun {
		d.ID, d.Name = s.IDs.Next(c.call.ID), s.name(c)
	}
	if s.Stream != nil && (d.Arguments != "" || i == s.begun) {
		s.Stream(d)
	}
}

// whole returns the arguments: all pieces, or what was sent again.
func (s *Stream) whole(c *call) string {
	all, inner := c.arguments.String(), ""
	switch {
	case s.Quoted && !c.free && all != "" && all[0] == '"' && json.Unmarshal([]byte(all), &inner) == nil && Whole(inner):
		return inner
	case len(c.last) == len(all), c.free, Whole(all):
	case Whole(all[c.shape.start:]):
		if strings.TrimSpace(all[c.shape.start:]) == "{}" && Whole(all[:c.shape.start]) {
			return all[:c.shape.start] // an empty object replaces nothing
		}
		return all[c.shape.start:]
	case Whole(c.last):
		return c.last
	}
	return all
}

const space = " \t\r\n"

// shape follows the nesting of JSON piece by piece.
type shape struct {
	size, depth    int
	quoted, escape bool
	closed         bool // a whole value ends the text
	start          int  // of the last value at the outermost level
}

func (s *shape) read(text string) {
	for i := range len(text) {
		switch b := text[i]; {
		case s.escape:
			s.escape = false
		case s.quoted:
			s.escape, s.quoted = b == '\\', b != '"'
		case strings.IndexByte(space, b) >= 0:
		default:
			if s.depth == 0 && s.closed {
				s.start, s.closed = s.size+i, false
			}
			switch b {
			case '"':
				s.quoted = true
			case '{', '[':
				s.depth++
			case '}', ']':
				s.depth = max(0, s.depth-1)
				s.closed = s.depth == 0
			}
		}
	}
	s.size += len(text)
}

// Whole reports whether arguments are a complete JSON object.
func Whole(arguments string) bool {
	return strings.HasPrefix(strings.TrimLeft(arguments, space), "{") && json.Valid([]byte(arguments))
}
