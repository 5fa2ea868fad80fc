package history

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
)

// Unit is what a cut may stand before: what starts a turn, or a round. An entry that says nothing to the model is not one.
type Unit struct {
	// ID of its first entry.
	ID string
	// Last is the id of its last entry: of a round, the result that came last.
	Last string
	// Start reports whether it starts a turn, and is not a round.
	Start bool
	// Current reports whether it starts the current turn, which a view shows whatever is compacted.
	Current bool
	// Messages as they are shown within the limits.
	Messages []chat.Message
	// Data that the application keeps with the first of them ([Message]).
	Data json.RawMessage
	// Tokens that they take.
	Tokens int

	at, last Position // of its first and its last entry
	turn     int      // index of its turn
	start    int      // index of the unit that starts its turn, -1 if none does
	aborted  bool     // a call of it has no result
}

// Clipped returns the unit with contents and arguments of calls that take at most limit tokens together. They share them as the
// results of a round do: what is larger than its share is cut in its middle, of which head is the part that is taken from
// the start.
func (u Unit) Clipped(t chat.Tokenizer, limit int, head float64) Unit {
	var sizes []int
	for _, m := range u.Messages {
		sizes = append(sizes, partsUpTo(t, m.Content, limit))
		for _, c := range m.ToolCalls {
			sizes = append(sizes, sizeUpTo(t, c.Arguments, limit))
		}
	}
	shares := fairly(sizes, limit)
	next := func() (share int, larger bool) {
		share, larger = shares[0], sizes[0] > shares[0]
		shares, sizes = shares[1:], sizes[1:]
		return share, larger
	}
	u.Messages, u.Tokens = slices.Clone(u.Messages), 0
	for i, m := range u.Messages {
		if share, larger := next(); larger {
			m.Content = clipParts(t, m.Content, share, head)
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for k, c := range m.ToolCalls {
			if share, larger := next(); larger {
				m.ToolCalls[k].Arguments = clipArguments(t, c.Arguments, share, head)
			}
		}
		u.Messages[i] = m
		u.Tokens += t.CountMessage(m)
	}
	return u
}

// Units returns what the view shows word for word, in order: the first message of each turn and each round, as they are
// shown within the limits. If the window is not known (0), nothing is cut. Together they are all messages of the view
// after Compacted, each once. The messages are kept from one call to the next, and must not be changed.
func (v View) Units(limits Limits, s elements.Sizing) []Unit { return v.shown().units(limits, s) }

// unbounded is a window in which nothing is cut.
const unbounded = 1 << 40

// units returns what [View.Units] does.
func (sn *snapshot) units(limits Limits, s elements.Sizing) []Unit {
	if s.PromptBudget <= 0 {
		s.PromptBudget = unbounded
	}
	by, keep := finishing{limits, s.PromptBudget, s.Tokenizer}, counting.MayKeep(s.Tokenizer)
	turns := sn.shown()
	var list []Unit
	for i, t := range turns {
		start := -1
		messages, tokens := t.opening.measure(by, keep, func() []chat.Message {
			if m, ok := (Turn{Start: t.start}).MessageWithin(limits, s); ok {
				return []chat.Message{m}
			}
			return nil
		})
		if len(messages) > 0 {
			start = len(list)
			list = append(list, Unit{
				ID: t.start.ID, Last: t.start.ID, Start: true, Current: i == len(turns)-1,
				Messages: messages, Data: dataOf(t.start), Tokens: tokens, at: t.at, last: t.at, turn: i, start: start,
			})
		}
		for _, r := range t.rounds {
			messages, tokens := r.shown.measure(by, keep, func() []chat.Message { return r.Messages(limits, s) })
			if len(messages) == 0 {
				continue
			}
			u := Unit{
				ID: r.Assistant.ID, Last: r.Assistant.ID, Messages: messages, Data: dataOf(r.Assistant), Tokens: tokens,
				at: r.at, last: r.last, turn: i, start: start, aborted: len(r.Aborted()) > 0,
			}
			if n := len(r.Results); n > 0 {
				u.Last = r.Results[n-1].ID
			}
			list = append(list, u)
		}
	}
	return list
}

// dataOf returns what the application keeps with a message.
func dataOf(e Entry) json.RawMessage {
	m, _ := e.Body.(Message)
	return m.Data
}

// anywhere is behind the end of every store.
const anywhere Position = 1<<63 - 1

// head returns the units at the start of the path that have together at most so many messages, and no result after the unit that
// follows them, and the position after them. They are among the first 64 entries that are shown.
func (sn *snapshot) head(ctx context.Context, messages int, limits Limits, s elements.Sizing) (head []Unit, end Position, err error) {
	if messages <= 0 {
		return nil, 0, nil
	}
	c, err := sn.reader.carried(ctx, sn.path)
	if err != nil {
		return nil, 0, err
	}
	end = sn.path.last().at + 1
	nodes, entries, err := sn.reader.resolve(ctx, anywhere, slices.Concat(c.Head, c.Clearings))
	if err != nil {
		return nil, 0, err
	}
	start := &snapshot{turns: []*openTurn{{at: -1, opening: &memo{}}}, calls: map[string]callAt{}}
	start.add(nodes, entries)
	count, last := 0, Position(-1)
	units := start.units(limits, s)
	for i, u := range units {
		if messages -= len(u.Messages); messages < 0 {
			break
		}
		next := end
		if i+1 < len(units) {
			next = units[i+1].at
		}
		if last = max(last, u.last); last < next {
			count = i + 1
		}
	}
	if count == len(units) && len(c.Head) == mostHead && count > 0 && units[count-1].aborted { // its results may come behind
		count--
	}
	if count == 0 {
		return nil, 0, nil
	}
	last = 0
	for _, u := range units[:count] {
		last = max(last, u.last)
	}
	return units[:count], last + 1, nil
}
