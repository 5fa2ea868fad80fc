package history

import (
	"context"
	"maps"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/history/storage"
)

// snapshot holds what a model sees of the path to a leaf, and the elements that show it. It is immutable once returned:
// the snapshot of a longer path shares what did not change, so that a step of an agent costs only what it added.
type snapshot struct {
	build     int         // number of the snapshot; while it is made, only turns and rounds with this number may be changed
	reader    *log.Reader // nil in a view that was not made by a session
	path      log.Path
	boundary  storage.Position // position of the first entry that the newest compaction does not cover
	after     storage.Position // position after that compaction's entry, 0 without one
	compacted []chat.Message
	thinking  []chat.Thinking // the compaction's, until the first assistant message after it
	turns     []*openTurn     // the first holds what precedes any start of a turn
	pairing   chat.Pairing    // of the assistant's messages and the results; handed on to the next snapshot
	rounds    []callAt        // of each of these messages
	late      bool            // what was said last is the result of a call of an earlier turn, after an answer
}

// openTurn is a turn whose calls may still be answered.
type openTurn struct {
	build   int
	start   entry.Entry
	at      storage.Position // position of its start, -1 without one
	covered bool             // whether its start is covered by a compaction
	opening *memo
	rounds  []*openRound
}

// openRound is a round whose calls may still be answered.
type openRound struct {
	build int
	Round
	at       storage.Position    // position of the assistant's message
	last     storage.Position    // position of the last result, or at
	replaced map[string]replaced // entries, by id, that are shown with a text that is not their own
	head     float64             // the fraction of a result that is cut to most that stays at its start
	most     int                 // tokens that its results and arguments may take in all, 0 for no limit but those of [RoundLimits]
	shown    memo
}

// callAt is a round.
type callAt struct{ turn, round int }

// handles returns the handles of the view's session.
func (sn *snapshot) handles() handles {
	if sn.reader == nil {
		return handles{}
	}
	return handles{sn.reader.Reading}
}

// views holds the most recent snapshot of a session's leaf. The zero value holds none.
type views struct {
	making log.Lock // held while a snapshot is made, so that it is made once
	last   *snapshot
	builds int
}

// snapshotTo returns what a model sees of the path to an entry, the leaf for "".
func (s *Session) snapshotTo(ctx context.Context, id string) (*snapshot, error) {
	r, p, err := s.log.At(ctx, id)
	v := &s.views
	if err == nil {
		err = v.making.Take(ctx)
	}
	if err != nil {
		return nil, err
	}
	defer v.making.Release()
	last := v.last
	if last != nil && last.reader.Key != r.Key { // something was erased since
		last = nil
	}
	if last != nil && last.path.Last() == p.Last() && len(p.Nodes) > 0 {
		return last, nil
	}
	var next *snapshot
	leaf := p.Last().ID == s.log.Leaf() // and not an earlier entry, and nothing was appended since
	if leaf {
		v.builds++
		next, err = grow(ctx, last, r, p, v.builds)
	}
	if next == nil && err == nil {
		first, after, c := p.Boundary()
		next, err = snapshotFrom(ctx, r, p, first, after, c)
	}
	if err != nil {
		return nil, err
	}
	if leaf {
		next.build, v.last = v.builds, next
	}
	return next, nil
}

// snapshotFrom makes a snapshot of a path from the boundary of a compaction on, where after is the position after the
// compaction's entry.
func snapshotFrom(ctx context.Context, r *log.Reader, p log.Path, boundary, after storage.Position, c entry.Compaction) (*snapshot, error) {
	start, err := r.TurnStart(ctx, p, boundary)
	if err != nil {
		return nil, err
	}
	nodes := p.Nodes[p.IndexAt(boundary):]
	if start.ID != "" && start.At < boundary {
		nodes = append([]log.Node{start}, nodes...)
	}
	sn := &snapshot{
		reader: r, path: p, boundary: boundary, after: after, compacted: c.Messages, thinking: c.Thinking,
		turns: []*openTurn{{at: -1, opening: &memo{}}},
	}
	return sn, sn.read(ctx, nodes)
}

// grow returns the snapshot of a path that continues the path of another snapshot, nil if it does not or was compacted
// since.
func grow(ctx context.Context, sn *snapshot, r *log.Reader, p log.Path, build int) (*snapshot, error) {
	if sn == nil || len(sn.path.Nodes) == 0 {
		return nil, nil
	}
	i := p.IndexAt(sn.path.Last().At)
	if i == len(p.Nodes) || p.Nodes[i] != sn.path.Last() {
		return nil, nil
	}
	if slices.ContainsFunc(p.Nodes[i+1:], func(n log.Node) bool { return n.Kind == kind.Compaction }) {
		return nil, nil
	}
	next := *sn
	next.build, next.reader, next.path, next.turns = build, r, p, slices.Clone(sn.turns)
	return &next, next.read(ctx, p.Nodes[i+1:])
}

// read reads and adds the entries of those of nodes that change what is shown.
func (sn *snapshot) read(ctx context.Context, nodes []log.Node) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n log.Node) bool { return !n.Kind.Shown() && n.Kind != kind.Clearing })
	entries, err := sn.reader.List(ctx, nodes)
	if err == nil {
		sn.add(nodes, entries)
	}
	return err
}

// add adds the entries of nodes. A start of a turn before the boundary is covered.
func (sn *snapshot) add(nodes []log.Node, entries []entry.Entry) {
	for i, e := range entries {
		m := e.Message()
		at := nodes[i].At
		switch k := nodes[i].Kind; {
		case k.StartsTurn():
			sn.late = false
			covered := at < sn.boundary
			sn.turns = append(sn.turns, &openTurn{build: sn.build, start: e, at: at, covered: covered, opening: &memo{}})
			if !covered { // not the turn that was cut
				sn.thinking = nil
			}
		case k == kind.Assistant:
			sn.late = false
			last := len(sn.turns) - 1
			turn := sn.turn(last)
			sn.pairing.Add(m)
			sn.rounds = append(sn.rounds, callAt{last, len(turn.rounds)})
			r := &openRound{build: sn.build, Round: Round{Assistant: e}, at: at, last: at}
			if len(sn.thinking) > 0 && sendable.Answers(m) {
				if !sendable.Thinks(m) {
					r.Thinking = sn.thinking
				}
				sn.thinking = nil
			}
			turn.rounds = append(turn.rounds, r)
		case k == kind.Tool:
			call, ok := sn.pairing.Add(m)
			if sn.rounds = append(sn.rounds, callAt{}); !ok && sn.after > 0 { // the compaction covers its call
				sn.late = false
				turn := sn.turn(len(sn.turns) - 1)
				turn.rounds = append(turn.rounds, &openRound{build: sn.build, Round: Round{Assistant: e}, at: at, last: at})
			} else if ok {
				asked := sn.rounds[call.Message]
				r := sn.round(asked)
				r.Results = append(r.Results, e)
				r.last = at
				sn.join(asked.turn)
				last := sn.turns[len(sn.turns)-1].rounds
				sn.late = len(last) > 0 && !last[len(last)-1].calls()
			}
		case k == kind.Clearing:
			if c, ok := e.Body.(entry.Clearing); ok {
				sn.clear(c)
			}
		}
	}
}

// join adds what the assistant said after the last calls of a turn to their round, if it is the current turn.
func (sn *snapshot) join(at int) {
	rounds := sn.turns[at].rounds
	n := untilCalls(rounds)
	if at != len(sn.turns)-1 || n == len(rounds) || rounds[n-1].isLost() {
		return
	}
	r := sn.round(callAt{at, n - 1})
	for _, said := range rounds[n:] {
		r.Between = append(r.Between, said.Assistant)
	}
	turn := sn.turn(at)
	turn.rounds = turn.rounds[:n]
}

// clear replaces what a clearing names by its texts. It ignores what is not shown.
func (sn *snapshot) clear(c entry.Clearing) {
	results, arguments := map[string]string{}, map[string][]entry.Cleared{} // by entry id
	for _, o := range c.Results {
		results[o.Entry] = o.Text
	}
	for _, o := range c.Arguments {
		arguments[o.Entry] = append(arguments[o.Entry], o)
	}
	for i, t := range sn.turns {
		for k, r := range t.rounds {
			for n, e := range r.Results {
				if text, named := results[e.ID]; named {
					sn.round(callAt{i, k}).clearResult(n, text, sn.handles(), c.Preview)
				}
			}
			for _, o := range arguments[r.Assistant.ID] {
				sn.round(callAt{i, k}).clearArguments(o, sn.handles())
			}
		}
	}
}

// clearResult replaces a result by a text.
func (r *openRound) clearResult(i int, text string, h handles, preview bool) {
	r.replace(r.Results[i], h, preview)
	m, _ := r.Results[i].Body.(entry.Message)
	m.Content = chat.Parts{chat.Text(text)}
	r.Results[i].Body = m
}

// replaced is an entry that is shown with a text that is not its own.
type replaced struct {
	handle  string
	preview bool
}

// replace records that an entry is shown with another text.
func (r *openRound) replace(e entry.Entry, h handles, preview bool) {
	next := map[string]replaced{}
	maps.Copy(next, r.replaced) // which other snapshots share
	next[e.ID] = replaced{h.ofShown(r, e), preview}
	r.replaced = next
}

// isCleared reports whether an entry of the round is shown with a text that is not its own.
func (r *openRound) isCleared(id string) bool {
	_, cleared := r.replaced[id]
	return cleared
}

// clearArguments replaces the arguments of a call by a text.
func (r *openRound) clearArguments(o entry.Cleared, h handles) {
	r.replace(r.Assistant, h, false)
	m, _ := r.Assistant.Body.(entry.Message)
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		if m.ToolCalls[i].ID == o.Call {
			m.ToolCalls[i].Arguments = o.Text
		}
	}
	r.Assistant.Body = m
}

// turn returns a turn that may be changed, copying it if necessary.
func (sn *snapshot) turn(at int) *openTurn {
	t := sn.turns[at]
	if t.build != sn.build {
		copied := *t
		t = &copied
		t.build, t.rounds = sn.build, slices.Clone(t.rounds)
		sn.turns[at] = t
	}
	return t
}

// round returns a round that may be changed, copying it if necessary.
func (sn *snapshot) round(at callAt) *openRound {
	turn := sn.turn(at.turn)
	r := turn.rounds[at.round]
	if r.build != sn.build {
		r = &openRound{build: sn.build, Round: r.Round, at: r.at, last: r.last, replaced: r.replaced, most: r.most, head: r.head}
		r.Results, r.Between = slices.Clone(r.Results), slices.Clone(r.Between)
		turn.rounds[at.round] = r
	}
	return r
}

// shown returns the turns that are shown. A turn without rounds is shown if it is the current one or was not covered.
func (sn *snapshot) shown() []*openTurn {
	turns := sn.turns
	for len(turns) > 0 { // only the first may be hidden
		t := turns[0]
		if current := len(turns) == 1; len(t.rounds) > 0 || t.start.ID != "" && (current || !t.covered) {
			break
		}
		turns = turns[1:]
	}
	return turns
}

// current returns the current turn, an empty one if none is shown.
func (sn *snapshot) current() *openTurn {
	if turns := sn.shown(); len(turns) > 0 {
		return turns[len(turns)-1]
	}
	return &openTurn{}
}
