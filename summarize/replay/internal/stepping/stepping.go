// Package stepping replays a recorded session: what was said is appended to a session step by step, and at each request
// that the recorded model answered the caller sees the session as it was.
package stepping

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
)

// Step is a request to the recorded model. The session holds everything said before it and nothing after.
type Step struct {
	// Number of the request, from 1.
	Number int
	// Line of the recording with the answer, and the ID of its record.
	Line int
	ID   string
	// Time of the answer, zero if it was not recorded.
	Time time.Time
	// Answer by the recorded model. It is appended when the caller continues.
	Answer chat.Message
	// Usage that was recorded for the request, zero if there was none.
	Usage chat.Usage
}

// Options say what Steps does besides appending messages.
type Options struct {
	// Compactions appends the compactions and clearings of the recording, so that the session shows what the recorded
	// model was shown. Off by default.
	Compactions bool
	// TurnOver is called once the agent has answered without calling tools, before anybody else speaks. Its error is
	// yielded as it is.
	TurnOver func() error
}

// Steps appends a recording to an empty session and yields each request on the way. At the end, the whole conversation
// is in the session. An error is the last value: it names the line that the session refused, or is the context's cause.
//
// Plans, their ends, reports and refusals are not appended: they concern the compactions of the recording, and a replay
// makes its own. Entries get new ids, because entries added by a replay might otherwise get ids of the recording.
func Steps(ctx context.Context, r *importer.Recording, s *history.Session, o Options) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		number := 0
		ids := map[string]string{} // ids of entries, by record
		answers := Answering()
		path := Path(r)
		for i, rec := range path {
			if ctx.Err() != nil {
				yield(Step{}, context.Cause(ctx))
				return
			}
			if answers(rec) {
				number++
				if !yield(Step{Number: number, Line: rec.Line, ID: rec.ID, Time: rec.Time, Answer: rec.Message(), Usage: rec.Usage}, nil) {
					return
				}
			}
			body, ok := o.body(path[:i], rec, ids)
			if !ok {
				continue
			}
			added, err := s.Add(context.WithoutCancel(ctx), entry.Entry{Time: rec.Time, Body: body}) // an answer is kept even if ctx has ended
			if err != nil {
				yield(Step{}, fmt.Errorf("line %d: %w", rec.Line, err))
				return
			}
			ids[rec.ID] = added[0].ID
			if o.TurnOver != nil && endsTurn(path[i:]) {
				if err := o.TurnOver(); err != nil {
					yield(Step{}, err)
					return
				}
			}
		}
	}
}

// Path returns the records of a recording's conversation. If the time of one is not known, it has that of the record
// before: how much time passed is not known, and none is assumed.
func Path(r *importer.Recording) []importer.Record {
	path, at := r.Path(r.Leaf), r.Header.Time
	for i := 0; i < len(path) && at.IsZero(); i++ {
		at = path[i].Time
	}
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	for i := range path {
		if path[i].Time.IsZero() {
			path[i].Time = at
		}
		at = path[i].Time
	}
	return path
}

// endsTurn reports whether the first record is an answer after which the agent is done.
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

// Requests returns the number of steps in a recording.
func Requests(r *importer.Recording) (n int) {
	answers := Answering()
	for _, rec := range r.Path(r.Leaf) {
		if answers(rec) {
			n++
		}
	}
	return n
}

// Answering returns a function that reports for each record on a path, in turn, whether it answers a request: somebody
// has spoken since the model did. A message that was cut off and retried does not count twice.
func Answering() func(importer.Record) bool {
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

// body returns the body of the entry to append for a record, and false if there is none. before holds the records
// before it, ids the ids of the appended entries by record.
func (o Options) body(before []importer.Record, rec importer.Record, ids map[string]string) (entry.Body, bool) {
	switch b := rec.Body.(type) {
	case entry.Todos:
		return b, true
	case entry.BranchSummary:
		b.From = ids[b.From]
		_, shown := rec.Shown()
		return b, shown
	case entry.Compaction:
		ok := true
		if b.FirstKept != "" {
			b.FirstKept = ids[cutPlace(before, b.FirstKept)]
			ok = b.FirstKept != ""
		}
		if b.LastCovered != "" {
			b.LastCovered = ids[lastAppended(before, b.LastCovered, ids)]
			ok = ok && b.LastCovered != ""
		}
		b.Plan = "" // the plan is not appended
		return b, ok && o.Compactions
	case entry.Clearing:
		b.Results, b.Arguments = renamed(b.Results, ids), renamed(b.Arguments, ids)
		return b, o.Compactions && len(b.Results)+len(b.Arguments) > 0
	}
	_, shown := rec.Shown()
	return rec.Body, shown
}

// renamed returns a clearing's list with the ids of the session, without entries that the session does not have.
func renamed(list []entry.Cleared, ids map[string]string) []entry.Cleared {
	var kept []entry.Cleared
	for _, c := range list {
		if id := ids[c.Entry]; id != "" {
			c.Entry = id
			kept = append(kept, c)
		}
	}
	return kept
}

// lastAppended returns a record, or the last one before it that is in the session.
func lastAppended(before []importer.Record, id string, ids map[string]string) string {
	if len(before) == 0 {
		return ""
	}
	at := place(before, id)
	for at > 0 && ids[before[at].ID] == "" {
		at--
	}
	return before[at].ID
}

// place returns the index of a record, 0 if it is not there.
func place(before []importer.Record, id string) int {
	return max(0, slices.IndexFunc(before, func(rec importer.Record) bool { return rec.ID == id }))
}

// cutPlace returns the cut point of a compaction whose first kept record is given: that record or the next one that is
// shown, or if that is a tool result, the message with its call.
func cutPlace(before []importer.Record, id string) string {
	if len(before) == 0 {
		return ""
	}
	at := place(before, id)
	shown := func(i int) bool { _, shown := before[i].Shown(); return shown }
	for at < len(before)-1 && !shown(at) {
		at++
	}
	for at > 0 && (!shown(at) || before[at].Message().Role == chat.RoleTool) {
		at--
	}
	return before[at].ID
}

// Instructions is the system prompt of the agent in a replay.
const Instructions = "You are a coding agent."

// Prompt returns the prompt of the agent in a replay: a line of instructions and the session.
func Prompt(s *history.Session) elements.Node {
	return elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(Instructions)}},
		history.All{Session: s},
	}
}
