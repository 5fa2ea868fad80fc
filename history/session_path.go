package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// node is what is kept in memory of an entry.
type node struct {
	id         string
	at         Position
	kind       kind
	compaction *Compaction // of a compaction
}

func newNode(e Entry, at Position) node {
	n := node{id: e.ID, at: at, kind: kindOf(e)}
	if c, ok := e.Body.(Compaction); ok {
		n.compaction = &c
	}
	return n
}

// path is the newest part of the path to an entry: from the place at which the newest compaction cuts, or from the root. Positions
// grow along it. It does not change once others see it.
type path struct {
	nodes  []node
	before string // the id of the parent of the first, "" if that is the root
}

// whole reports whether the path reaches to the root.
func (p path) whole() bool { return p.before == "" }

// last returns the node that the path leads to, the zero value if there is none.
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
func (p path) indexAt(at Position) int {
	i, _ := slices.BinarySearchFunc(p.nodes, at, func(n node, at Position) int { return int(n.at - at) })
	return i
}

// to returns the path to one of its nodes.
func (p path) to(i int) path {
	p.nodes = p.nodes[: i+1 : i+1]
	return p
}

// with returns the path to an entry that follows.
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
// compaction's entry, and the compaction. Without one the positions are 0.
func (p path) boundary() (first, after Position, c Compaction) {
	i := p.compaction()
	if i < 0 {
		return 0, 0, Compaction{}
	}
	c, after = *p.nodes[i].compaction, p.nodes[i].at+1
	return p.to(i).cut(c, after), after, c
}

// cut returns the position at which a compaction cuts the path; all if it covers everything, or cuts at no entry of it.
func (p path) cut(c Compaction, all Position) Position {
	i := p.index(c.boundary())
	switch {
	case c.boundary() == "" || i < 0:
		return all
	case c.FirstKept == "":
		return p.nodes[i].at + 1
	}
	return p.nodes[i].at
}

// base finds the first node that a path must have, going back: that at which the newest compaction cuts, or the compaction if it
// covers everything.
type base struct {
	id string   // of the entry at which it cuts
	at Position // of the compaction, 0 before it is found
}

// reached takes in the next node, going back, and reports whether no more are needed.
func (b *base) reached(n node) bool {
	if b.at == 0 && n.compaction != nil {
		b.id, b.at = n.compaction.boundary(), n.at
		return b.id == "" || b.id == n.id
	}
	return b.at != 0 && b.id == n.id
}

// trimmed returns the path without what comes before its base.
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
	store  Store
	cache  *Cache
	key    uint64
	staged map[Position]Entry // what is not in the store yet
}

// unsalvaged returns the store with the lines that cannot be read.
func unsalvaged(s Store) Store {
	if salvaged, ok := s.(*salvagedStore); ok {
		return salvaged.Store
	}
	return s
}

// unwrapped returns the store that others have, with its abilities.
func unwrapped(s Store) Store {
	if g, ok := unsalvaged(s).(guardedStore); ok {
		return g.Store
	}
	return unsalvaged(s)
}

// transcript returns what a breadcrumb names.
func (r *reader) transcript() Transcript {
	if t, ok := unwrapped(r.store).(Transcriber); ok {
		return ability(r.store, t.Transcript)
	}
	return Transcript{}
}

func (r *reader) cached(at Position) (Entry, bool) {
	if e, ok := r.staged[at]; ok {
		return e, true
	}
	return r.cache.get(cacheKey{r.key, at})
}

// keep puts an entry into the cache.
func (r *reader) keep(at Position, e Entry, size int) { r.cache.put(cacheKey{r.key, at}, e, size) }

// decode returns the entry of a line that was read with an error, or with none.
func (r *reader) decode(ctx context.Context, s Stored, err error) (Entry, error) {
	if err != nil && s.End == 0 {
		return Entry{}, err
	}
	var e Entry
	if err == nil {
		e, err = decode(s.Data)
	}
	salvaged, ok := r.store.(*salvagedStore)
	if err == nil && (e.ID != s.ID || e.Type() != s.Kind || e.Parent != s.Parent && !ok) {
		err = fmt.Errorf("it is the %s %q after %q, and not the %s %q after %q", e.Type(), e.ID, e.Parent, s.Kind, s.ID, s.Parent)
	}
	if err != nil {
		return Entry{}, r.corrupt(ctx, s.At, err)
	}
	e.Parent = s.Parent
	if ok {
		if c, ok := e.Body.(Compaction); ok {
			e.Body = salvaged.cut(c)
		}
	}
	return e, nil
}

// corrupt is the error of the line at a position.
func (r *reader) corrupt(ctx context.Context, at Position, err error) error {
	if c, ok := errors.AsType[*CorruptError](err); ok {
		return c
	}
	c := &CorruptError{Err: err}
	if f, ok := unwrapped(r.store).(interface{ Path() string }); ok {
		c.Path = f.Path()
	}
	if counter, ok := unwrapped(r.store).(LineCounter); ok {
		count := func(from Position) (int, error) {
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
func (r *reader) load(ctx context.Context, n node) (Entry, error) {
	for e, err := range r.entries(ctx, []node{n}, true) {
		return e, err
	}
	return Entry{}, &NoEntryError{ID: n.id}
}

// between is how many lines are read over rather than reading anew.
const between = 8

// entries returns the entries of nodes, in order. Those that stand near one another in the store are read together. Keep puts
// what was read into the cache. An error is the last.
func (r *reader) entries(ctx context.Context, nodes []node, keep bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
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
					err = r.corrupt(ctx, s.At, fmt.Errorf("it is entry %q, and not %q", e.ID, nodes[0].id))
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
				yield(Entry{}, &NoEntryError{ID: nodes[0].id})
				return
			}
		}
	}
}

// list returns the entries of nodes.
func (r *reader) list(ctx context.Context, nodes []node) ([]Entry, error) {
	list := make([]Entry, 0, len(nodes))
	for e, err := range r.entries(ctx, nodes, true) {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// open returns the path to an entry that stands before a position, to the last for "", as far back as its base.
func (r *reader) open(ctx context.Context, before Position, id string) (path, error) {
	return r.extended(ctx, path{before: id}, before, base{})
}

// extended returns a path with what comes before it, back to its base. The nodes of the path, the newest first, were taken
// in already.
func (r *reader) extended(ctx context.Context, p path, before Position, b base) (path, error) {
	nodes := slices.Clone(p.nodes)
	slices.Reverse(nodes)
	p.nodes = nil
	read, reached := 0, false
	child := Position(-1) // whose parent is looked for
	if len(nodes) > 0 {
		child = nodes[len(nodes)-1].at
	}
	for s, err := range r.store.Back(ctx, before, p.before) {
		if gone, ok := errors.AsType[*NoEntryError](err); ok && child >= 0 {
			return path{}, r.corrupt(ctx, child, fmt.Errorf("what it follows does not stand before it: %w", gone))
		}
		e, err := r.decode(ctx, s, err)
		if err != nil {
			return path{}, err
		}
		if read += len(s.Data); read <= r.cache.most/4 { // the newest are wanted first
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
