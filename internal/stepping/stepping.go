// Package stepping goes through a recorded session as if it were happening: what was said is appended to a session bit by
// bit, and at each request that the recorded model answered the caller sees the session as it stood.
package stepping

import (
	"context"
	"fmt"
	"iter"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
)

// Step is a request to the recorded model. The session holds all that was said before it and nothing after.
type Step struct {
	// Number of the request, from 1.
	Number int
	// Line of the recording at which the answer stands.
	Line int
	// Answer that the recorded model gave. It is appended when the caller goes on.
	Answer chat.Message
}

// Options say what is appended besides what was said.
type Options struct {
	// Compactions appends those of the recording, so that the session is shown as the recorded model was shown it.
	Compactions bool
	// TurnOver is called once the agent has answered and calls no more tools, before anybody else speaks. Its error is
	// given as it is.
	TurnOver func() error
}

// Steps appends a recording to an empty session and gives each request on the way. When it ends by itself, the whole
// conversation is in the session. An error is the last that is given: it names the line of what the session does not take, or
// is the context's cause.
func Steps(ctx context.Context, r *importer.Recording, s *history.Session, o Options) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		number := 0
		answers := answering()
		path := r.Path(r.Leaf)
		for i, rec := range path {
			if ctx.Err() != nil {
				yield(Step{}, context.Cause(ctx))
				return
			}
			if answers(rec) {
				number++
				if !yield(Step{Number: number, Line: rec.Line, Answer: rec.Message()}, nil) {
					return
				}
			}
			body, ok := o.body(path[:i], rec)
			if !ok {
				continue
			}
			if _, err := s.Add(history.Entry{ID: rec.ID, Time: rec.Time, Body: body}); err != nil {
				yield(Step{}, fmt.Errorf("line %d: %w", rec.Line, err))
				return
			}
			if o.TurnOver != nil && endsTurn(path[i:]) {
				if err := o.TurnOver(); err != nil {
					yield(Step{}, err)
					return
				}
			}
		}
	}
}

// endsTurn tells whether the first of what was recorded is an answer after which the agent is done.
func endsTurn(records []importer.Record) bool {
	m, shown := records[0].Shown()
	if !shown || m.Role != chat.RoleAssistant || len(m.ToolCalls) > 0 {
		return false
	}
	for _, rec := range records[1:] {
		if m, shown := rec.Shown(); shown {
			return m.Role == chat.RoleUser
		}
	}
	return true
}

// Requests is how many steps a recording has.
func Requests(r *importer.Recording) (n int) {
	answers := answering()
	for _, rec := range r.Path(r.Leaf) {
		if answers(rec) {
			n++
		}
	}
	return n
}

// answering tells of each record on a path whether it answers a request: somebody has spoken since the model did. A
// message that was cut off and tried again answers none of its own.
func answering() func(importer.Record) bool {
	asked := false
	return func(rec importer.Record) bool {
		m, shown := rec.Shown()
		if !shown {
			return false
		}
		answers := asked && m.Role == chat.RoleAssistant
		asked = m.Role != chat.RoleAssistant
		return answers
	}
}

// body is what is appended of a record, which follows others.
func (o Options) body(before []importer.Record, rec importer.Record) (history.Body, bool) {
	switch b := rec.Body.(type) {
	case history.Todos:
		return b, true
	case history.Compaction:
		b.FirstKept = cutPlace(before, b.FirstKept)
		return b, o.Compactions
	}
	_, shown := rec.Shown()
	return rec.Body, shown
}

// cutPlace is the record at which a compaction may cut that keeps one first: what is not in the session does not count,
// and no tool result is parted from its call.
func cutPlace(before []importer.Record, id string) string {
	if id == "" {
		return ""
	}
	at := len(before) - 1
	for at > 0 && before[at].ID != id {
		at--
	}
	// The first that is shown from there on, and from it back to one that may come first.
	first := func(i int) bool { _, shown := before[i].Shown(); return shown }
	for at < len(before)-1 && !first(at) {
		at++
	}
	for at > 0 && (!first(at) || before[at].Message().Role == chat.RoleTool) {
		at--
	}
	return before[at].ID
}

// Prompt is what the agent of a replay is shown: a line of instructions and the session.
func Prompt(s *history.Session) elements.Node {
	return elements.Fragment{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Props: elements.Props{Priority: new(700), FlexGrow: 1}, Session: s},
		history.Request{Props: elements.Props{Priority: new(900), FlexGrow: 2}, Session: s},
		history.Rounds{Props: elements.Props{Priority: new(899), FlexGrow: 2}, Session: s},
	}
}
