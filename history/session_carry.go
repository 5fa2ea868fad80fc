package history

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// The limits of what a compaction carries forward.
const (
	mostHead      = 64 // also the limit for clearings
	mostSaid      = 1000
	mostCalls     = 1000
	mostPreambles = 16
)

// Carry returns what a compaction that covers the path to an entry, the leaf for "", would carry forward.
func (s *Session) Carry(ctx context.Context, id string) (entry.Carried, error) {
	r, p, err := s.pathTo(ctx, id)
	if err != nil {
		return entry.Carried{}, err
	}
	return r.carriedPast(ctx, p, anywhere)
}

// carriedPast returns what a compaction that is appended to a path and cuts at a position carries forward.
func (r *reader) carriedPast(ctx context.Context, p path, cut storage.Position) (entry.Carried, error) {
	c, err := r.carried(ctx, p)
	if err != nil {
		return entry.Carried{}, err
	}
	start, err := r.turnStart(ctx, p, cut)
	if c.Start = (entry.Ref{ID: start.id}); r.staged[start.at].ID == "" {
		c.Start.At = start.at
	}
	return c, err
}

// turnStart returns the node that starts the turn in which a path is cut, the zero value if the cut is between turns.
// The path is cut at the cut of its newest compaction or behind it.
func (r *reader) turnStart(ctx context.Context, p path, cut storage.Position) (node, error) {
	for _, n := range slices.Backward(p.nodes) {
		if n.at <= cut && n.kind.StartsTurn() {
			return n, nil
		}
	}
	if p.whole() {
		return node{}, nil
	}
	if i := p.compaction(); i >= 0 {
		start := p.nodes[i].compaction.Carried.Start
		if start.ID == "" {
			return node{}, nil
		}
		e, at, err := r.lookUp(ctx, p.nodes[0].at, start)
		if n := newNode(e, at); err == nil && n.kind.StartsTurn() {
			return n, nil
		} else if err != nil && !missing(err) {
			return node{}, err
		}
	}
	for s, err := range r.back(ctx, p.to(0), anywhere) { // the start is unreadable, or Carried is wrong
		if err != nil {
			return node{}, err
		}
		e, err := r.entry(ctx, s)
		if n := newNode(e, s.at); err != nil || n.kind.StartsTurn() {
			return n, err
		}
	}
	return node{}, nil
}

// carried returns what a compaction appended to a path carries forward, wherever it cuts.
func (r *reader) carried(ctx context.Context, p path) (entry.Carried, error) {
	var c carrier
	from := 0
	if i := p.compaction(); i >= 0 {
		c, from = carrierOf(p.nodes[i].compaction.Carried), i
		c.place(p)
	}
	nodes := p.nodes[from:]
	at := 0
	for e, err := range r.entries(ctx, nodes, true) {
		if err != nil {
			return entry.Carried{}, err
		}
		ref := entry.Ref{ID: e.ID, At: nodes[at].at}
		if _, staged := r.staged[ref.At]; staged {
			ref.At = 0
		}
		c.add(e, nodes[at].kind, ref)
		at++
	}
	var err error
	c.Lines, err = r.lines(ctx, p)
	return c.Carried, err
}

// carrier gathers what a compaction carries forward.
type carrier struct{ entry.Carried }

// carrierOf returns a carrier with a copy of what a compaction carries.
func carrierOf(c entry.Carried) carrier {
	c.Head, c.Clearings, c.Said = slices.Clone(c.Head), slices.Clone(c.Clearings), slices.Clone(c.Said)
	c.Calls = slices.Clone(c.Calls)
	c.Latest, c.Preambles = maps.Clone(c.Latest), maps.Clone(c.Preambles)
	return carrier{c}
}

// place fills in the positions of entries that had none because they were added together with the compaction.
func (c *carrier) place(p path) {
	at := func(r entry.Ref) entry.Ref {
		if i := p.index(r.ID); r.At == 0 && i >= 0 {
			r.At = p.nodes[i].at
		}
		return r
	}
	for _, list := range [][]entry.Ref{c.Head, c.Clearings, c.Said} {
		for i, r := range list {
			if r.At == 0 {
				list[i] = at(r)
			}
		}
	}
	for k, r := range c.Latest {
		c.Latest[k] = at(r)
	}
	for k, r := range c.Preambles {
		c.Preambles[k] = at(r)
	}
}

// bounded returns what a compaction carries, with its lists cut to their limits, which a compaction written by another
// program may exceed.
func bounded(c entry.Carried) entry.Carried {
	c.Head = c.Head[:min(len(c.Head), mostHead)]
	c.Clearings, c.Calls, c.Models = newest(c.Clearings, mostHead), newest(c.Calls, mostCalls), newest(c.Models, entry.MaxModels)
	if more := len(c.Said) - mostSaid; more > 0 {
		c.Said = slices.Delete(c.Said, 1, 1+more)
	}
	maps.DeleteFunc(c.Latest, func(t entry.Type, _ entry.Ref) bool { return !t.Known() })
	if more := len(c.Preambles) - mostPreambles; more > 0 {
		byAge := slices.SortedFunc(maps.Keys(c.Preambles), func(a, b string) int { return compareRefs(c.Preambles[a], c.Preambles[b]) })
		for _, digest := range byAge[:more] {
			delete(c.Preambles, digest)
		}
	}
	c.Lines = max(c.Lines, 0)
	return c
}

// compareRefs orders entries by position. Those without one are about to be added, and come last.
func compareRefs(a, b entry.Ref) int {
	return cmp.Or(cmp.Compare(uint64(a.At-1), uint64(b.At-1)), cmp.Compare(a.ID, b.ID))
}

// add records the next entry of the path.
func (c *carrier) add(e entry.Entry, k entry.Kind, ref entry.Ref) {
	if c.Latest == nil {
		c.Latest = map[entry.Type]entry.Ref{}
	}
	if c.Preambles == nil {
		c.Preambles = map[string]entry.Ref{}
	}
	if k.Is(e.Type()) {
		c.Latest[e.Type()] = ref
	}
	if k.Shown() && len(c.Head) < mostHead {
		c.Head = append(c.Head, ref)
	}
	learnt := entry.Memory{Models: c.Models}
	learnt.Add(e)
	c.Models = learnt.Models
	switch b := e.Body.(type) {
	case entry.Message:
		switch b.Role {
		case chat.RoleUser:
			if c.Said = append(c.Said, ref); len(c.Said) > mostSaid {
				c.Said = slices.Delete(c.Said, 1, 2)
				c.SaidLeft++
			}
		case chat.RoleAssistant:
			for _, call := range b.ToolCalls {
				c.Calls = append(c.Calls, call.ID)
			}
			c.Calls = newest(c.Calls, mostCalls)
		case chat.RoleTool:
			c.Calls = slices.DeleteFunc(c.Calls, func(id string) bool { return id == b.ToolCallID })
		}
	case entry.Clearing:
		names := func(o entry.Cleared) bool {
			return slices.ContainsFunc(c.Head, func(r entry.Ref) bool { return r.ID == o.Entry })
		}
		if slices.ContainsFunc(b.Results, names) || slices.ContainsFunc(b.Arguments, names) {
			c.Clearings = newest(append(c.Clearings, ref), mostHead)
		}
	case entry.Preamble:
		delete(c.Preambles, b.Digest)
		if len(c.Preambles) == mostPreambles { // the new one is kept, whatever the positions of the others
			delete(c.Preambles, slices.MinFunc(slices.Collect(maps.Keys(c.Preambles)), func(a, b string) int { return compareRefs(c.Preambles[a], c.Preambles[b]) }))
		}
		c.Preambles[b.Digest] = ref
	}
}

// newest returns at most n elements from the end of a list.
func newest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// Resolve returns the entries that are referred to, each once and in the order of the store. Missing ones are left out.
func (s *Session) Resolve(ctx context.Context, refs ...entry.Ref) ([]entry.Entry, error) {
	r, _, end, err := s.state()
	if err != nil {
		return nil, err
	}
	_, entries, err := r.resolve(ctx, end, refs)
	return entries, err
}

// resolve returns the entries that refs refer to and that are before a position, in order, with their nodes.
func (r *reader) resolve(ctx context.Context, before storage.Position, refs []entry.Ref) ([]node, []entry.Entry, error) {
	found, err := r.pick(ctx, before, refs)
	if err != nil {
		return nil, nil, err
	}
	elsewhere := map[string]bool{}
	for _, ref := range refs {
		if _, ok := found[ref.ID]; ok {
			continue
		}
		p, ok, err := r.hinted(ctx, before, ref)
		switch {
		case err != nil:
			return nil, nil, err
		case ok:
			found[ref.ID] = p
		case ref.ID != "":
			elsewhere[ref.ID] = true
		}
	}
	if err := r.search(ctx, before, elsewhere, found); err != nil {
		return nil, nil, err
	}
	list := slices.SortedFunc(maps.Values(found), func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	nodes, entries := make([]node, len(list)), make([]entry.Entry, len(list))
	for i, p := range list {
		nodes[i], entries[i] = newNode(p.entry, p.at), p.entry
	}
	return nodes, entries, nil
}

// pick returns the entries, by id, that are at their hinted positions, before a given one, if the store is a [Picker]
// and can read them in one call.
func (r *reader) pick(ctx context.Context, before storage.Position, refs []entry.Ref) (map[string]placed, error) {
	found := map[string]placed{}
	g, ok := r.store.(guardedStore)
	if !ok {
		return found, nil
	}
	picker, ok := g.Store.(storage.Picker)
	if !ok {
		return found, nil
	}
	ids := map[storage.Position]string{}
	for _, ref := range refs {
		if _, ok := r.cached(ref.At); !ok && ref.ID != "" && ref.At > 0 && ref.At < before {
			ids[ref.At] = ref.ID
		}
	}
	if len(ids) == 0 {
		return found, nil
	}
	for line, err := range g.pick(ctx, picker, slices.Sorted(maps.Keys(ids))) {
		if err != nil && line.End == 0 {
			return nil, err
		}
		if err != nil || line.ID != ids[line.At] {
			continue
		}
		e, err := r.decode(ctx, line, nil)
		if err != nil {
			return nil, err
		}
		r.keep(line.At, e, len(line.Data))
		found[e.ID] = placed{e, line.At}
	}
	return found, nil
}

// search looks for entries before a position in the whole store, in one pass. A line that cannot be read is an error if
// an entry is missing, because it may be that entry.
func (r *reader) search(ctx context.Context, before storage.Position, ids map[string]bool, found map[string]placed) error {
	if len(ids) == 0 || r.store == nil {
		return nil
	}
	var lost error
	for line, err := range r.store.Read(ctx, 0) {
		if err != nil && line.End == 0 {
			return err
		}
		if line.At >= before || len(ids) == 0 {
			break
		}
		if err != nil && lost == nil {
			lost = r.corrupt(ctx, line.At, err)
		}
		if err != nil || line.At == 0 || !ids[line.ID] {
			continue
		}
		e, err := r.decode(ctx, line, nil)
		if err != nil {
			return err
		}
		found[line.ID] = placed{e, line.At}
		delete(ids, line.ID)
	}
	if len(ids) > 0 {
		return lost
	}
	return nil
}

// placed is an entry and its position.
type placed struct {
	entry entry.Entry
	at    storage.Position
}

// lookUp returns the entry that is referred to, and its position, if it is before a position.
func (r *reader) lookUp(ctx context.Context, before storage.Position, ref entry.Ref) (entry.Entry, storage.Position, error) {
	if ref.ID == "" || r.store == nil {
		return entry.Entry{}, 0, &storage.NoEntryError{ID: ref.ID}
	}
	if found, err := r.pick(ctx, before, []entry.Ref{ref}); err != nil || len(found) > 0 {
		return found[ref.ID].entry, found[ref.ID].at, err
	}
	if p, ok, err := r.hinted(ctx, before, ref); ok || err != nil {
		return p.entry, p.at, err
	}
	for line, err := range r.store.Back(ctx, before, ref.ID) {
		e, err := r.decode(ctx, line, err)
		return e, line.At, err
	}
	return entry.Entry{}, 0, &storage.NoEntryError{ID: ref.ID}
}

// hinted returns the entry that is referred to if it is about to be added or is at its hinted place.
func (r *reader) hinted(ctx context.Context, before storage.Position, ref entry.Ref) (placed, bool, error) {
	for at, e := range r.staged {
		if e.ID == ref.ID && ref.ID != "" {
			return placed{e, at}, true, nil
		}
	}
	if ref.ID == "" || ref.At <= 0 || ref.At >= before || r.store == nil {
		return placed{}, false, nil
	}
	if e, ok := r.cached(ref.At); ok && e.ID == ref.ID {
		return placed{e, ref.At}, true, nil
	}
	for line, err := range r.store.Read(ctx, ref.At) {
		if err != nil || line.ID != ref.ID {
			break
		}
		e, err := r.decode(ctx, line, nil)
		if err == nil {
			r.keep(line.At, e, len(line.Data))
		}
		return placed{e, line.At}, err == nil, err
	}
	return placed{}, false, nil
}
