package chat

import "github.com/promptree-go/promptree/internal/callid"

// Pairing says which result answers which call, a message at a time. The zero value is ready to use; [Pair] is for a
// whole list. Whatever pairs calls with results uses it: the log, its view, mirrors, importers, and the repair of each
// provider. It is not safe for concurrent use.
//
//	message                                          answers
//	a result with the id of a call                   the newest message before it that has a call with the id, whatever
//	                                                 stands between: other answers, users, results
//	several results with an id that several calls    the calls in their order
//	of one message have
//	another result with that id                      nothing; the first one counts
//	a result before its call                         nothing
//	a result without an id, or with one that no      the newest message that has an open call without an id: the first
//	open call has                                    such call of the tool that the result names, or else the first
//	a result if there is no such call                nothing
//	a call whose id a later message uses again       is closed, and stays without a result if it had none
//
// A call that [WithCallIDs] gave an id has that id and none: it is answered by either kind of result. Only assistant
// messages make calls.
//
// It takes time proportional to the number of calls and results, and memory for the calls that are open.
type Pairing struct {
	messages int
	open     map[string]namedCalls
	unnamed  []unnamedCalls // of each message that has any, the newest last
}

// Answered is a call that a result answers.
type Answered struct {
	// Message is the index of its message, and Call its index among the calls of the message.
	Message, Call int
	// ID of the call, which may differ from the one that the result has.
	ID string
}

// namedCalls are the open calls of a message that have one id: most often one.
type namedCalls struct {
	message, first int
	more           []int
}

// unnamedCalls are the calls of a message that have no id, or one that WithCallIDs made.
type unnamedCalls struct {
	message int
	calls   []unnamedCall
	byTool  map[string][]int // indexes in calls
	next    int              // all calls before it are answered
}

type unnamedCall struct {
	index    int // in the message
	id       string
	answered bool // if it has no id; another is answered once its id is not open
}

// Pair returns the call that each result of a list answers, by the index of the result.
func Pair(messages []Message) map[int]Answered {
	answered := map[int]Answered{}
	var p Pairing
	for i, m := range messages {
		if call, ok := p.Add(m); ok {
			answered[i] = call
		}
	}
	return answered
}

// Add adds the next message, and returns the call that it answers. Messages are counted from 0. It returns false for a
// message that answers no call.
func (p *Pairing) Add(m Message) (call Answered, ok bool) {
	switch m.Role {
	case RoleTool:
		if call, ok = p.named(m.ToolCallID); !ok {
			call, ok = p.other(m.Name)
		}
	case RoleAssistant:
		p.calls(m.ToolCalls)
	}
	p.messages++
	return call, ok
}

// IsOpen reports whether a call with an id is open.
func (p *Pairing) IsOpen(id string) bool {
	_, ok := p.open[id]
	return ok
}

// calls opens the calls of the next message.
func (p *Pairing) calls(calls []ToolCall) {
	if p.open == nil && len(calls) > 0 {
		p.open = make(map[string]namedCalls, len(calls))
	}
	var unnamed []unnamedCall
	for k, c := range calls {
		if c.ID == "" || callid.IsNew(c.ID) {
			unnamed = append(unnamed, unnamedCall{index: k, id: c.ID})
		}
		if c.ID == "" {
			continue
		}
		same, again := p.open[c.ID]
		if again && same.message == p.messages {
			same.more = append(same.more, k)
		} else {
			same = namedCalls{message: p.messages, first: k}
		}
		p.open[c.ID] = same
	}
	if unnamed == nil {
		return
	}
	p.newest()
	byTool := map[string][]int{}
	for n, c := range unnamed {
		tool := calls[c.index].Name
		byTool[tool] = append(byTool[tool], n)
	}
	p.unnamed = append(p.unnamed, unnamedCalls{message: p.messages, calls: unnamed, byTool: byTool})
}

// named closes the first open call with an id.
func (p *Pairing) named(id string) (Answered, bool) {
	same, ok := p.open[id]
	if !ok {
		return Answered{}, false
	}
	call := Answered{same.message, same.first, id}
	if len(same.more) == 0 {
		delete(p.open, id)
	} else {
		same.first, same.more = same.more[0], same.more[1:]
		p.open[id] = same
	}
	return call, true
}

// other closes a call without an id: of this tool, or else any.
func (p *Pairing) other(tool string) (Answered, bool) {
	of := p.newest()
	if of == nil {
		return Answered{}, false
	}
	at, list := of.next, of.byTool[tool]
	for len(list) > 0 && !p.isUnanswered(of, list[0]) {
		list = list[1:]
	}
	if of.byTool[tool] = list; len(list) > 0 {
		at = list[0]
	}
	c := &of.calls[at]
	if c.id != "" {
		return p.named(c.id)
	}
	c.answered = true
	return Answered{of.message, c.index, ""}, true
}

// newest returns the newest message with an open call without an id, nil if there is none, and forgets those after it.
func (p *Pairing) newest() *unnamedCalls {
	for n := len(p.unnamed); n > 0; n-- {
		of := &p.unnamed[n-1]
		for ; of.next < len(of.calls); of.next++ {
			if p.isUnanswered(of, of.next) {
				return of
			}
		}
		p.unnamed = p.unnamed[:n-1]
	}
	return nil
}

// isUnanswered reports whether a call of a message is open.
func (p *Pairing) isUnanswered(of *unnamedCalls, n int) bool {
	c := of.calls[n]
	if c.id == "" {
		return !c.answered
	}
	same, ok := p.open[c.id]
	return ok && same.message == of.message
}
