package history

import (
	"iter"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// unit is what a cut may lie before: a round, or an entry that starts a turn. What says nothing to the model is none.
type unit struct {
	at     int   // its entry's index on the path
	turn   int   // index of the entry that starts its turn; of the first unit where the path starts without one
	starts bool  // it starts the turn itself, and is no round
	round  Round // what it is else
	reach  int   // index of the last of its results, or its own
}

// messages of the unit, each result counted.
func (u unit) messages() int { return 1 + len(u.round.Results) }

// trimFrom is how many entries are read of a path before those are let go that a cut does not need.
const trimFrom = 256

// readPath reads a path. Of a long one it lets go what a compaction covers, but for the first messages and what starts the
// turn in which the compaction cut: memory holds what a view shows, twice over at most, and not the path. Head is the index
// after the first messages, -1 where nothing was let go.
func readPath(path iter.Seq2[Entry, error], first int) (entries []Entry, head int, err error) {
	head = -1
	most := trimFrom
	for e, err := range path {
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, e)
		if e.Type() != TypeCompaction || len(entries) < most {
			continue
		}
		if head < 0 {
			head = headEnd(unitsOf(entries, false), first, len(entries))
		}
		kept, _ := uncovered(entries)
		kept = min(kept, len(entries)-1) // the compaction itself says what is covered
		short := slices.Clone(entries[:head])
		for start := kept - 1; start >= head; start-- {
			if startsTurn(entries[start]) {
				short = append(short, entries[start])
				break
			}
		}
		entries = append(short, entries[max(head, kept):]...)
		most = max(trimFrom, 2*len(entries))
	}
	return entries, head, nil
}

// unitsOf lists the units of a path. The round of a call that may be running reaches to the end of the path, where that is
// asked for.
func unitsOf(path []Entry, running bool) []unit {
	var units []unit
	calls := map[string]int{} // the units that made them
	turn, newest := -1, -1
	for i, e := range path {
		switch {
		case startsTurn(e):
			turn = i
			if _, ok := (Turn{Start: e}).Message(); ok {
				units = append(units, unit{at: i, turn: i, starts: true, reach: i})
			}
		case e.Message().Role == chat.RoleAssistant:
			m := e.Message()
			if !answers(m) {
				continue
			}
			if turn < 0 {
				turn = i
			}
			newest = len(units)
			for _, c := range m.ToolCalls {
				calls[c.ID] = newest
			}
			units = append(units, unit{at: i, turn: turn, round: Round{Assistant: e}, reach: i})
		case e.Message().Role == chat.RoleTool:
			if k, ok := calls[e.Message().ToolCallID]; ok {
				u := &units[k]
				u.round.Results = append(u.round.Results, e)
				u.reach = i
			}
		}
	}
	if running && newest >= 0 && len(units[newest].round.Aborted()) > 0 {
		units[newest].reach = len(path)
	}
	return units
}

// startsTurn tells that a turn starts at the entry.
func startsTurn(e Entry) bool { return kindOf(e.Type(), e.Message().Role, hidden(e)).startsTurn() }

// unsaid tells that an entry is the session's own: no model sees it, and it stands for nothing that one saw.
func unsaid(e Entry) bool {
	k := kindOf(e.Type(), e.Message().Role, hidden(e))
	return !k.shown() && k != kindCompaction
}

// answers tells that an assistant's message is sent: that it says something, or calls a tool by its name.
func answers(m chat.Message) bool {
	for _, c := range m.ToolCalls {
		if c.ID != "" && c.Name != "" {
			return true
		}
	}
	return hasAnswer(sayable(m.Content))
}

// uncovered gives the index of the first entry that the latest compaction on a path does not cover, and of the one after
// the compaction's own entry. Without a compaction both are 0.
func uncovered(path []Entry) (first, after int) {
	for i := len(path) - 1; i >= 0; i-- {
		c, ok := path[i].Body.(Compaction)
		if !ok {
			continue
		}
		for k := range i {
			switch path[k].ID {
			case "":
			case c.FirstKept:
				return k, i + 1
			case c.LastCovered:
				if c.FirstKept == "" {
					return k + 1, i + 1
				}
			}
		}
		return i + 1, i + 1
	}
	return 0, 0
}

// headEnd is the index after the first units that have at most so many messages together, and no result after it.
func headEnd(units []unit, messages, end int) int {
	head, reach, n := 0, -1, 0
	for i, u := range units {
		if n += u.messages(); n > messages {
			break
		}
		next := end
		if i+1 < len(units) {
			next = units[i+1].at
		}
		if reach = max(reach, u.reach); reach < next {
			head = reach + 1
		}
	}
	return head
}

// size is what units take as they are shown.
type size struct{ tokens, messages int }

func (s size) plus(o size) size { return size{s.tokens + o.tokens, s.messages + o.messages} }

// measure counts units.
type measure struct {
	path   []Entry
	units  []unit
	limits Limits
	sizing sizing.Sizing

	turn     int // the turn's start that was counted last, + 1
	turnSize size
}

// between counts the units from one on to another.
func (m *measure) between(from, to int) size {
	var n size
	for _, u := range m.units[from:to] {
		if u.starts {
			n = n.plus(m.opening(u.at))
			continue
		}
		n.messages += u.messages()
		for _, message := range u.round.Messages(m.limits, m.sizing) {
			n.tokens += m.sizing.CountMessage(message)
		}
	}
	return n
}

// starter counts the first message of the turn that a cut at a unit splits, as a view shows it besides; nothing where the
// cut splits none.
func (m *measure) starter(i int) size {
	u := m.units[i]
	if u.turn == u.at || !startsTurn(m.path[u.turn]) {
		return size{}
	}
	if m.turn != u.turn+1 {
		m.turn, m.turnSize = u.turn+1, m.opening(u.turn)
	}
	return m.turnSize
}

// opening counts the first message of a turn.
func (m *measure) opening(i int) size {
	message, ok := Turn{Start: m.path[i]}.MessageWithin(m.limits, m.sizing)
	if !ok {
		return size{}
	}
	return size{tokens: m.sizing.CountMessage(message), messages: 1}
}
