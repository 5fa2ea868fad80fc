package history

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/storage"
)

// Unit is the start of a turn, or a round. Cuts are made between units. An entry that says nothing to the model is not
// a unit.
type Unit struct {
	// ID of its first entry.
	ID string
	// Last is the id of its last entry; for a round, that of the result that came last.
	Last string
	// Start reports whether it is the start of a turn, and not a round.
	Start bool
	// Current reports whether it is the start of the current turn, which a view shows whatever is compacted.
	Current bool
	// Messages as shown within the limits.
	Messages []chat.Message
	// Data that the application stores with the first of them ([entry.Message]).
	Data json.RawMessage
	// Tokens of Messages.
	Tokens int

	at, last storage.Position // positions of its first and last entries
	turn     int              // index of its turn
	start    int              // index of the unit that starts its turn, -1 if none does
	aborted  bool             // a call of it has no result
	lost     bool             // it is the result of a call that is not shown
}

// Clipped returns the unit with contents and arguments of calls cut to limit tokens in all. They share the limit as the
// results of a round do: a text larger than its share is cut in its middle, and head is the fraction that is taken from
// the start.
func (u Unit) Clipped(t chat.Tokenizer, limit int, head float64) Unit {
	var sizes []int
	for _, m := range u.Messages {
		sizes = append(sizes, partsUpTo(t, m.Content, limit))
		for _, c := range m.ToolCalls {
			sizes = append(sizes, sizeUpTo(t, c.Arguments, limit))
		}
	}
	share := fairShare(sizes, limit)
	u.Messages, u.Tokens = slices.Clone(u.Messages), 0
	for i, m := range u.Messages {
		if partsUpTo(t, m.Content, share) > share {
			m.Content = clipParts(t, m.Content, share, head, mark, "")
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for k, c := range m.ToolCalls {
			if sizeUpTo(t, c.Arguments, share) > share {
				m.ToolCalls[k].Arguments = clipArguments(t, c.Arguments, share, head, mark)
			}
		}
		u.Messages[i] = m
		u.Tokens += t.CountMessage(m)
	}
	return u
}

// Units returns what the view shows word for word, in order: the first message of each turn and each round, as shown
// within the limits. If the prompt's budget is not known (0), nothing is cut. Together they hold all messages of the
// view after Compacted, each once. The messages are shared between calls and must not be changed.
func (v View) Units(limits RoundLimits, s elements.Sizing) []Unit { return v.shown().units(limits, s) }

// unbounded is a budget so large that nothing is cut.
const unbounded = 1 << 40

// units implements [View.Units].
func (sn *snapshot) units(limits RoundLimits, s elements.Sizing) []Unit {
	if s.PromptBudget <= 0 {
		s.PromptBudget = unbounded
	}
	by := limits.finishing(s)
	turns := sn.shown()
	var list []Unit
	for i, t := range turns {
		start := -1
		messages, tokens := t.opening.measure(by, func() []chat.Message { return sn.handles().start(t.start, by) })
		if len(messages) > 0 {
			start = len(list)
			list = append(list, Unit{
				ID: t.start.ID, Last: t.start.ID, Start: true, Current: i == len(turns)-1,
				Messages: messages, Data: dataOf(t.start), Tokens: tokens, at: t.at, last: t.at, turn: i, start: start,
			})
		}
		for _, r := range t.rounds {
			messages, tokens := r.shown.measure(by, func() []chat.Message {
				messages, _ := sn.handles().round(r, by)
				return messages
			})
			if len(messages) == 0 {
				continue
			}
			list = append(list, Unit{
				ID: r.Assistant.ID, Last: r.newest(), Messages: messages, Data: dataOf(r.Assistant), Tokens: tokens,
				at: r.at, last: r.last, turn: i, start: start, aborted: len(r.Aborted()) > 0, lost: r.isLost(),
			})
		}
	}
	return list
}

// dataOf returns the data that the application stores with a message.
func dataOf(e entry.Entry) json.RawMessage {
	m, _ := e.Body.(entry.Message)
	return m.Data
}

// head returns the units at the start of the path with at most that many messages in all, and the position after them.
// No result of theirs follows a later unit, and they are among the first 64 shown entries.
func (sn *snapshot) head(ctx context.Context, messages int, limits RoundLimits, s elements.Sizing) (head []Unit, end storage.Position, err error) {
	if messages <= 0 {
		return nil, 0, nil
	}
	c, err := sn.reader.Retained(ctx, sn.path)
	if err != nil {
		return nil, 0, err
	}
	nodes, entries, err := sn.reader.Resolve(ctx, log.Anywhere, slices.Concat(c.Head, c.Clearings))
	if err != nil {
		return nil, 0, err
	}
	start := &snapshot{turns: []*openTurn{{at: -1, opening: &memo{}}}}
	start.add(nodes, entries)
	last := storage.Position(-1)
	units := start.units(limits, s)
	for i, u := range units {
		next, more := sn.path.Last().At+1, u.aborted && len(c.Head) == log.MostHead // of its results may follow
		if i+1 < len(units) {
			next, more = units[i+1].at, false
		}
		if messages -= len(u.Messages); messages < 0 || more {
			break
		}
		if last = max(last, u.last); last < next {
			head, end = units[:i+1], last+1
		}
	}
	return head, end, nil
}

// UnitMessages returns the messages of units, in order.
func UnitMessages(list []Unit) []chat.Message {
	var messages []chat.Message
	for _, u := range list {
		messages = append(messages, u.Messages...)
	}
	return messages
}

// UnitData returns the application's data of [UnitMessages], nil if no message has any.
func UnitData(list []Unit) []json.RawMessage {
	if !slices.ContainsFunc(list, func(u Unit) bool { return u.Data != nil }) {
		return nil
	}
	var data []json.RawMessage
	for _, u := range list {
		of := make([]json.RawMessage, len(u.Messages))
		if len(of) > 0 {
			of[0] = u.Data
		}
		data = append(data, of...)
	}
	return data
}
