package history

import (
	"slices"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
)

// snapshot is what a model sees of the path to a leaf, each turn with what was made of it to be shown. It does not change
// once it was given out: when the path has grown, what did not change is taken over into the next, so that a step of an
// agent costs what it added and not the conversation.
type snapshot struct {
	build     int   // number of the snapshot; what bears it may be changed while it is made
	tree      *tree // nil in a view that no session made
	leaf      int32
	boundary  int32 // place of the first entry that the latest compaction does not cover
	after     int32 // place after that compaction's own entry, 0 without one
	compacted []chat.Message
	thinking  []chat.Thinking   // of the compaction, until the first assistant message after it
	turns     []*openTurn       // the first is what comes before a turn's start
	calls     map[string]callAt // by id; taken along by the next snapshot
	bytes     int               // what the entries take in memory, about
}

// openTurn is a turn whose rounds may still be answered.
type openTurn struct {
	build   int
	start   Entry
	at      int32 // place of its start, -1 without one
	covered bool  // its start is
	opening *memo
	rounds  []*openRound
}

// openRound is a round that may still be answered.
type openRound struct {
	build int
	Round
	at      int32    // place of the assistant's message
	last    int32    // place of the last result, or at
	cleared []string // ids of the results that a clearing left out
	shown   memo
}

// callAt is the round in which a call was made.
type callAt struct{ turn, round int }

// views is the snapshot that was made last of a session's leaf.
type views struct {
	mu     sync.Mutex // held while a snapshot is made, so that it is made once
	last   *snapshot
	builds int
}

// snapshot returns what a model sees of the path to a place.
func (s *Session) snapshot(t *tree, at int32) (*snapshot, error) {
	if at < int32(len(t.nodes)-1) { // a look back
		return t.snapshotAt(at)
	}
	s.views.mu.Lock()
	defer s.views.mu.Unlock()
	last := s.views.last
	switch {
	case last == nil:
	case last.leaf == at:
		return last, nil
	case last.leaf > at: // more was appended since the tree was taken
		return t.snapshotAt(at)
	}
	s.views.builds++
	next, err := t.grow(last, at, s.views.builds)
	if next == nil && err == nil {
		next, err = t.snapshotAt(at)
	}
	if err != nil {
		return nil, err
	}
	if s.views.last = next; next.bytes > cacheSize {
		s.views.last = nil
	}
	next.build = s.views.builds
	return next, nil
}

// snapshotAt makes a snapshot of the path to a place.
func (t *tree) snapshotAt(at int32) (*snapshot, error) {
	boundary, after, c, err := t.boundary(at)
	if err != nil {
		return nil, err
	}
	return t.snapshotFrom(at, boundary, after, c)
}

// snapshotFrom makes a snapshot of the path to a leaf from the boundary of a compaction on. After is the place after the
// compaction's entry.
func (t *tree) snapshotFrom(leaf, boundary, after int32, c Compaction) (*snapshot, error) {
	// What is before the turn in which the boundary lies is covered.
	var places []int32
	for at := range t.up(leaf) {
		k := t.nodes[at].kind
		if at >= boundary && (k.shown() || k == kindClearing) || k.startsTurn() {
			places = append(places, at)
		}
		if at <= boundary && k.startsTurn() {
			break
		}
	}
	sn := &snapshot{
		tree: t, leaf: leaf, boundary: boundary, after: after, compacted: c.Messages, thinking: c.Thinking,
		turns: []*openTurn{{at: -1, opening: &memo{}}}, calls: map[string]callAt{},
	}
	return sn, sn.add(t, places)
}

// grow returns the snapshot of a path that goes on from that of another, nil where it does not or was compacted since.
func (t *tree) grow(sn *snapshot, leaf int32, build int) (*snapshot, error) {
	if sn == nil {
		return nil, nil
	}
	var places []int32
	at := leaf
	for ; at > sn.leaf; at = t.nodes[at].parent {
		k := t.nodes[at].kind
		if k == kindCompaction {
			return nil, nil
		}
		if k.shown() || k == kindClearing {
			places = append(places, at)
		}
	}
	if at != sn.leaf {
		return nil, nil
	}
	next := *sn
	next.build, next.tree, next.leaf, next.turns = build, t, leaf, slices.Clone(sn.turns)
	return &next, next.add(t, places)
}

// add takes in the entries at places, the newest first. What starts a turn before the boundary is covered.
func (sn *snapshot) add(t *tree, places []int32) error {
	slices.Reverse(places)
	entries, err := t.entries(places)
	if err != nil {
		return err
	}
	for i, e := range entries {
		m := e.Message()
		sn.bytes += sizeOf(e)
		place := places[i]
		switch k := t.nodes[place].kind; {
		case k.startsTurn():
			covered := place < sn.boundary
			sn.turns = append(sn.turns, &openTurn{build: sn.build, start: e, at: place, covered: covered, opening: &memo{}})
			if !covered { // another turn than the one that was cut
				sn.thinking = nil
			}
		case k == kindAssistant:
			at := len(sn.turns) - 1
			turn := sn.turn(at)
			for _, c := range m.ToolCalls {
				sn.calls[c.ID] = callAt{at, len(turn.rounds)}
			}
			r := &openRound{build: sn.build, Round: Round{Assistant: e}, at: place, last: place}
			if len(sn.thinking) > 0 && answers(m) {
				if !thinks(m) {
					r.Thinking = sn.thinking
				}
				sn.thinking = nil
			}
			turn.rounds = append(turn.rounds, r)
		case k == kindTool:
			if at, ok := sn.calls[m.ToolCallID]; ok {
				r := sn.round(at)
				r.Results = append(r.Results, e)
				r.last = place
			}
		case k == kindClearing:
			if c, ok := e.Body.(Clearing); ok {
				sn.clear(c)
			}
		}
	}
	return nil
}

// clear puts the texts of a clearing in the place of what it names. What is not shown it passes over.
func (sn *snapshot) clear(c Clearing) {
	rounds := map[string]callAt{} // by the ids of their entries
	for _, list := range [][]Cleared{c.Results, c.Arguments} {
		for _, o := range list {
			rounds[o.Entry] = callAt{turn: -1}
		}
	}
	for i, t := range sn.turns {
		for k, r := range t.rounds {
			if _, named := rounds[r.Assistant.ID]; named {
				rounds[r.Assistant.ID] = callAt{i, k}
			}
			for _, e := range r.Results {
				if _, named := rounds[e.ID]; named {
					rounds[e.ID] = callAt{i, k}
				}
			}
		}
	}
	for _, o := range c.Results {
		if at := rounds[o.Entry]; at.turn >= 0 {
			sn.round(at).clearResult(o)
		}
	}
	for _, o := range c.Arguments {
		if at := rounds[o.Entry]; at.turn >= 0 {
			sn.round(at).clearArguments(o)
		}
	}
}

// clearResult puts a text in the place of a result.
func (r *openRound) clearResult(o Cleared) {
	for i, e := range r.Results {
		m, ok := e.Body.(Message)
		if !ok || e.ID != o.Entry {
			continue
		}
		m.Content = chat.Parts{chat.Text(o.Text)}
		r.Results[i].Body = m
		r.cleared = append(slices.Clip(r.cleared), e.ID)
	}
}

// clearArguments puts a text in the place of the arguments of a call.
func (r *openRound) clearArguments(o Cleared) {
	m, ok := r.Assistant.Body.(Message)
	if !ok || r.Assistant.ID != o.Entry {
		return
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		if m.ToolCalls[i].ID == o.Call {
			m.ToolCalls[i].Arguments = o.Text
		}
	}
	r.Assistant.Body = m
}

// turn returns a turn that may be changed.
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

// round returns a round that may be changed.
func (sn *snapshot) round(at callAt) *openRound {
	turn := sn.turn(at.turn)
	r := turn.rounds[at.round]
	if r.build != sn.build {
		r = &openRound{build: sn.build, Round: r.Round, at: r.at, last: r.last, cleared: r.cleared}
		r.Results = slices.Clone(r.Results)
		turn.rounds[at.round] = r
	}
	return r
}

// shown lists the turns that are shown: one without rounds is where it is the current turn, or was not covered.
func (sn *snapshot) shown() []*openTurn {
	turns := sn.turns
	for len(turns) > 0 { // only the first may be left out
		t := turns[0]
		if current := len(turns) == 1; len(t.rounds) > 0 || t.start.ID != "" && (current || !t.covered) {
			break
		}
		turns = turns[1:]
	}
	return turns
}

// view returns the snapshot in slices of the caller's own.
func (sn *snapshot) view() View {
	v := View{Compacted: sn.compacted, snapshot: sn}
	turns := sn.shown()
	rounds, results := 0, 0
	for _, t := range turns {
		rounds += len(t.rounds)
		for _, r := range t.rounds {
			results += len(r.Results)
		}
	}
	if len(turns) == 0 {
		return v
	}
	v.Turns = make([]Turn, len(turns))
	allRounds, allResults := make([]Round, 0, rounds), make([]Entry, 0, results)
	for i, t := range turns {
		from := len(allRounds)
		for _, r := range t.rounds {
			first := len(allResults)
			allResults = append(allResults, r.Results...)
			round := Round{Assistant: r.Assistant, Thinking: r.Thinking}
			if end := len(allResults); end > first {
				round.Results = allResults[first:end:end]
			}
			allRounds = append(allRounds, round)
		}
		v.Turns[i] = Turn{Start: t.start}
		if end := len(allRounds); end > from {
			v.Turns[i].Rounds = allRounds[from:end:end]
		}
	}
	return v
}

// sizeOf is about what an entry takes in memory.
func sizeOf(e Entry) int {
	const least = 1024 // the entry itself, and what is made of it to be shown
	n := least
	count := func(parts chat.Parts) {
		for _, p := range parts {
			switch p := p.(type) {
			case chat.Text:
				n += len(p)
			case chat.Image:
				n += len(p.URL)
			case chat.Document:
				n += len(p.Data)
			case chat.Thinking:
				n += len(p.Text) + len(p.Signature) + len(p.Encrypted)
			case chat.Opaque:
				n += len(p.Value)
			}
		}
	}
	switch b := e.Body.(type) {
	case Message:
		count(b.Content)
		for _, c := range b.ToolCalls {
			n += len(c.Arguments) + len(c.Signature)
		}
		n += len(b.Data)
	case CustomMessage:
		count(b.Content)
		n += len(b.Data)
	case Shell:
		n += len(b.Command) + len(b.Output) + len(b.Data)
	case BranchSummary:
		n += len(b.Text) + len(b.Data)
	case Clearing:
		for _, o := range append(slices.Clip(b.Results), b.Arguments...) {
			n += len(o.Entry) + len(o.Call) + len(o.Text)
		}
	}
	return n
}
