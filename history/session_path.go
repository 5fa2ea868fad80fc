package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// node is an entry as a path in memory holds it.
type node struct {
	id         string
	at         storage.Position
	kind       entry.Kind
	compaction *entry.Compaction // nil for other entries
}

func newNode(e entry.Entry, at storage.Position) node {
	n := node{id: e.ID, at: at, kind: e.Kind()}
	if c, ok := e.Body.(entry.Compaction); ok {
		n.compaction = &c
	}
	return n
}

// path is the newest part of the path to an entry: from the cut of the newest compaction, or from the root. Positions
// increase along it. A path that others can see is not changed.
type path struct {
	nodes  []node
	before string // the id of the first entry's parent, "" if the first is the root
}

// whole reports whether the path reaches to the root.
func (p path) whole() bool { return p.before == "" }

// last returns the last node, and the zero value if there is none.
func (p path) last() node {
	if len(p.nodes) == 0 {
		return node{}
	}
	return p.nodes[len(p.nodes)-1]
}

// index returns the index of the node with an id, -1 if there is none.
func (p path) index(id string) int {
	for i := len(p.nodes) - 1; i >= 0; i-- {
		if p.nodes[i].id == id {
			return i
		}
	}
	return -1
}

// indexAt returns the index of the first node at a position or after it.
func (p path) indexAt(at storage.Position) int {
	i, _ := slices.BinarySearchFunc(p.nodes, at, func(n node, at storage.Position) int { return int(n.at - at) })
	return i
}

// to returns the path up to one of its nodes.
func (p path) to(i int) path {
	p.nodes = p.nodes[: i+1 : i+1]
	return p
}

// with returns the path with one more node.
func (p path) with(n node) path {
	p.nodes = append(p.nodes, n)
	return p
}

// compaction returns the index of the newest compaction, -1 if there is none.
func (p path) compaction() int {
	for i, n := range slices.Backward(p.nodes) {
		if n.compaction != nil {
			return i
		}
	}
	return -1
}

// boundary returns the position of the first entry that the newest compaction does not cover, the position after that
// compaction's entry, and the compaction. Without a compaction the positions are 0.
func (p path) boundary() (first, after storage.Position, c entry.Compaction) {
	i := p.compaction()
	if i < 0 {
		return 0, 0, entry.Compaction{}
	}
	c, after = *p.nodes[i].compaction, p.nodes[i].at+1
	return p.to(i).cut(c, after), after, c
}

// cut returns the position at which a compaction cuts the path, and all if it covers everything or its entry is not on
// the path.
func (p path) cut(c entry.Compaction, all storage.Position) storage.Position {
	i := p.index(c.Boundary())
	switch {
	case c.Boundary() == "" || i < 0:
		return all
	case c.FirstKept == "":
		return p.nodes[i].at + 1
	}
	return p.nodes[i].at
}

// base finds the first node that a path needs, walking back: the one at which the newest compaction cuts, or the
// compaction itself if it covers everything.
type base struct {
	id string           // of the entry at which the compaction cuts
	at storage.Position // of the compaction, 0 until it is found
}

// reached records the next node on the way back, and reports whether no more are needed.
func (b *base) reached(n node) bool {
	if b.at == 0 && n.compaction != nil {
		b.id, b.at = n.compaction.Boundary(), n.at
		return b.id == "" || b.id == n.id
	}
	return b.at != 0 && b.id == n.id
}

// trimmed returns the path from its base on.
func (p path) trimmed() path {
	var b base
	for i, n := range slices.Backward(p.nodes) {
		if b.reached(n) && i > 0 {
			p.before, p.nodes = p.nodes[i-1].id, slices.Clone(p.nodes[i:])
			break
		}
	}
	return p
}

// reader reads entries from a store, through a cache.
type reader struct {
	store  storage.Store
	cache  *Cache
	key    uint64
	staged map[storage.Position]entry.Entry // entries that are not in the store yet
}

// unsalvaged returns the underlying store, with the lines that cannot be read.
func unsalvaged(s storage.Store) storage.Store {
	if salvaged, ok := s.(*salvagedStore); ok {
		return salvaged.Store
	}
	return s
}

// unwrapped returns the caller's own store, with its abilities.
func unwrapped(s storage.Store) storage.Store {
	if g, ok := unsalvaged(s).(guardedStore); ok {
		return g.Store
	}
	return unsalvaged(s)
}

// transcript returns what a breadcrumb refers to.
func (r *reader) transcript() storage.Transcript {
	if t, ok := unwrapped(r.store).(storage.Transcriber); ok {
		return ability(r.store, t.Transcript)
	}
	return storage.Transcript{}
}

func (r *reader) cached(at storage.Position) (entry.Entry, bool) {
	if e, ok := r.staged[at]; ok {
		return e, true
	}
	return r.cache.get(cacheKey{r.key, at})
}

// keep adds an entry to the cache.
func (r *reader) keep(at storage.Position, e entry.Entry, size int) {
	r.cache.put(cacheKey{r.key, at}, e, size)
}

// decode returns the entry of a line, or the error with which the line was read.
func (r *reader) decode(ctx context.Context, s storage.Stored, err error) (entry.Entry, error) {
	if err != nil && s.End == 0 {
		return entry.Entry{}, err
	}
	var e entry.Entry
	if err == nil {
		e, err = entry.Decode(s.Data)
	}
	salvaged, ok := r.store.(*salvagedStore)
	if err == nil && (e.ID != s.ID || string(e.Type()) != s.Kind || e.Parent != s.Parent && !ok) {
		err = fmt.Errorf("the line holds the %s %q with parent %q, not the %s %q with parent %q", e.Type(), e.ID, e.Parent, s.Kind, s.ID, s.Parent)
	}
	if err != nil {
		return entry.Entry{}, r.corrupt(ctx, s.At, err)
	}
	e.Parent = s.Parent
	if c, isCompaction := e.Body.(entry.Compaction); isCompaction {
		c.Carried = bounded(c.Carried)
		if ok {
			c = salvaged.cut(c)
		}
		e.Body = c
	}
	return e, nil
}

// corrupt returns the error for the line at a position.
func (r *reader) corrupt(ctx context.Context, at storage.Position, err error) error {
	if c, ok := errors.AsType[*storage.CorruptError](err); ok {
		return c
	}
	c := &storage.CorruptError{Err: err}
	if f, ok := unwrapped(r.store).(interface{ Path() string }); ok {
		c.Path = f.Path()
	}
	if counter, ok := unwrapped(r.store).(storage.LineCounter); ok {
		count := func(from storage.Position) (int, error) {
			return do(ctx, r.store, "Count", func(ctx context.Context) (int, error) { return counter.Count(ctx, from) })
		}
		all, allErr := count(0)
		rest, restErr := count(at)
		if allErr == nil && restErr == nil {
			c.Line = all - rest + 1
		}
	}
	return c
}

// load returns the entry of a node.
func (r *reader) load(ctx context.Context, n node) (entry.Entry, error) {
	for e, err := range r.entries(ctx, []node{n}, true) {
		return e, err
	}
	return entry.Entry{}, &storage.NoEntryError{ID: n.id}
}

// between is the maximum number of lines between two entries that are read rather than skipped by a new Read.
const between = 8

// entries returns the entries of nodes, in order. Entries that are close to one another in the store are read together.
// If keep is set, what was read is added to the cache. An error is the last value.
func (r *reader) entries(ctx context.Context, nodes []node, keep bool) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		for len(nodes) > 0 {
			if e, ok := r.cached(nodes[0].at); ok {
				if !yield(e, nil) {
					return
				}
				nodes = nodes[1:]
				continue
			}
			passed, from := 0, len(nodes)
			for s, err := range r.store.Read(ctx, nodes[0].at) {
				if s.At != nodes[0].at && (err == nil || s.End != 0) {
					if passed++; passed > between || s.At > nodes[0].at {
						break
					}
					continue
				}
				e, err := r.decode(ctx, s, err)
				if err == nil && e.ID != nodes[0].id {
					err = r.corrupt(ctx, s.At, fmt.Errorf("the line holds entry %q, not %q", e.ID, nodes[0].id))
				}
				if err == nil && keep {
					r.keep(s.At, e, len(s.Data))
				}
				if !yield(e, err) || err != nil {
					return
				}
				nodes, passed = nodes[1:], 0
				if len(nodes) == 0 {
					return
				}
				if _, ok := r.cached(nodes[0].at); ok {
					break
				}
			}
			if len(nodes) == from {
				yield(entry.Entry{}, &storage.NoEntryError{ID: nodes[0].id})
				return
			}
		}
	}
}

// list returns the entries of nodes.
func (r *reader) list(ctx context.Context, nodes []node) ([]entry.Entry, error) {
	list := make([]entry.Entry, 0, len(nodes))
	for e, err := range r.entries(ctx, nodes, true) {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// open returns the path to an entry before a position, and to the last entry for "", as far back as its base.
func (r *reader) open(ctx context.Context, before storage.Position, id string) (path, error) {
	return r.extended(ctx, path{before: id}, before, base{})
}

// extended returns a path with the nodes before it, back to its base. b has recorded the path's own nodes already.
func (r *reader) extended(ctx context.Context, p path, before storage.Position, b base) (path, error) {
	nodes := slices.Clone(p.nodes)
	slices.Reverse(nodes)
	p.nodes = nil
	read, reached := 0, false
	child := storage.Position(-1) // the node whose parent comes next
	if len(nodes) > 0 {
		child = nodes[len(nodes)-1].at
	}
	for s, err := range r.store.Back(ctx, before, p.before) {
		if gone, ok := errors.AsType[*storage.NoEntryError](err); ok && child >= 0 {
			return path{}, r.corrupt(ctx, child, noParent(gone.ID))
		}
		e, err := r.decode(ctx, s, err)
		if err != nil {
			return path{}, err
		}
		if read += len(s.Data); read <= r.cache.most/4 { // the newest entries are used first
			r.keep(s.At, e, len(s.Data))
		}
		n := newNode(e, s.At)
		nodes = append(nodes, n)
		p.before, child = s.Parent, s.At
		if reached = b.reached(n); reached {
			break
		}
	}
	if _, salvaged := r.store.(*salvagedStore); !salvaged && !reached && b.id != "" {
		return path{}, r.corrupt(ctx, b.at, fmt.Errorf("it cuts at the entry %q, which is not on its path", b.id))
	}
	slices.Reverse(nodes)
	p.nodes = nodes
	return p, nil
}
