package log

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// Reader reads entries from a store, through a cache.
type Reader struct {
	Reading
	store  storage.Store
	cache  *Cache
	Key    uint64
	staged map[storage.Position]entry.Entry // entries that are not in the store yet
}

func (r *Reader) cached(at storage.Position) (entry.Entry, bool) {
	if e, ok := r.staged[at]; ok {
		return e, true
	}
	value, ok := r.cache.get(cacheKey{r.Key, at})
	if !ok {
		return entry.Entry{}, false
	}
	return value.(entry.Entry), true
}

// keep adds an entry to the cache, whose line has that many bytes.
func (r *Reader) keep(at storage.Position, e entry.Entry, line int) {
	const besides = 512 // memory of an entry besides its text
	r.cache.put(cacheKey{r.Key, at}, e, line+besides)
}

// decode returns the entry of a line, or the error with which the line was read.
func (r *Reader) decode(ctx context.Context, s storage.Stored, err error) (entry.Entry, error) {
	if err != nil && s.End == 0 {
		return entry.Entry{}, err
	}
	var e entry.Entry
	salvaged, ok := r.store.(*salvagedStore)
	if err == nil {
		e, err = entryIn(s, ok)
	}
	if err != nil {
		return entry.Entry{}, r.corrupt(ctx, s.At, err)
	}
	e.Parent = s.Parent
	if c, isCompaction := e.Body.(entry.Compaction); isCompaction {
		c.Retained = bounded(c.Retained)
		if ok {
			c = salvaged.cut(c)
		}
		e.Body = c
	}
	return e, nil
}

// corrupt returns the error for the line at a position.
func (r *Reader) corrupt(ctx context.Context, at storage.Position, err error) error {
	if c, ok := errors.AsType[*storage.CorruptError](err); ok {
		return c
	}
	c := &storage.CorruptError{Err: err}
	if c.Path = r.Path; c.Path != "" {
		c.Byte = int64(at)
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

// headerOf reads the header of a session.
func headerOf(ctx context.Context, r *Reader) (entry.Header, error) {
	for s, err := range r.store.Read(ctx, 0) {
		if err != nil && s.End == 0 {
			return entry.Header{}, err
		}
		if err == nil {
			var h entry.Header
			if err = h.UnmarshalJSON(s.Data); err == nil {
				return h, nil
			}
		}
		if salvaged, ok := r.store.(*salvagedStore); ok && len(salvaged.lines) > 0 {
			return entry.Header{ID: salvaged.lines[0].id}, nil
		}
		return entry.Header{}, r.corrupt(ctx, 0, err)
	}
	return entry.Header{}, r.corrupt(ctx, 0, errors.New("there is no header of a session"))
}

// load returns the entry of a node.
func (r *Reader) load(ctx context.Context, n Node) (entry.Entry, error) {
	for e, err := range r.entries(ctx, []Node{n}, true) {
		return e, err
	}
	return entry.Entry{}, &storage.NoEntryError{ID: n.ID}
}

// between is the maximum number of lines between two entries that are read rather than skipped by a new Read.
const between = 8

// entries returns the entries of nodes, in order. Entries that are close to one another in the store are read together.
// If keep is set, what was read is added to the cache. An error is the last value.
func (r *Reader) entries(ctx context.Context, nodes []Node, keep bool) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		for len(nodes) > 0 {
			if e, ok := r.cached(nodes[0].At); ok {
				if !yield(e, nil) {
					return
				}
				nodes = nodes[1:]
				continue
			}
			passed, from := 0, len(nodes)
			for s, err := range r.store.Read(ctx, nodes[0].At) {
				if s.At != nodes[0].At && (err == nil || s.End != 0) {
					if passed++; passed > between || s.At > nodes[0].At {
						break
					}
					continue
				}
				e, err := r.decode(ctx, s, err)
				if err == nil && e.ID != nodes[0].ID {
					err = r.corrupt(ctx, s.At, fmt.Errorf("the line holds entry %q, not %q", e.ID, nodes[0].ID))
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
				if _, ok := r.cached(nodes[0].At); ok {
					break
				}
			}
			if len(nodes) == from {
				yield(entry.Entry{}, &storage.NoEntryError{ID: nodes[0].ID})
				return
			}
		}
	}
}

// List returns the entries of nodes.
func (r *Reader) List(ctx context.Context, nodes []Node) ([]entry.Entry, error) {
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
func (r *Reader) open(ctx context.Context, before storage.Position, id string) (Path, error) {
	return r.toBase(ctx, Path{before: id}, r.backLines(ctx, before, id, false))
}

// toBase returns a path with the nodes before it, back to its base. Steps are those from its end back to the root.
func (r *Reader) toBase(ctx context.Context, p Path, steps iter.Seq2[step, error]) (Path, error) {
	var nodes []Node // the newest first
	var b base
	read, reached := 0, false
	var seen map[string]storage.Position // by id, once the ids do not fall from one entry to its parent
	for s, err := range steps {
		n := s.node
		if err != nil || n.ID == "" {
			e, err := r.decode(ctx, s.line, err)
			if err != nil {
				return Path{}, err
			}
			if read += len(s.line.Data); read <= r.cache.most/4 { // the newest entries are used first
				r.keep(s.at, e, len(s.line.Data))
			}
			n = newNode(e, s.at)
			n.long, p.before = n.Kind.Shown() && isLong(s.line.Data), s.line.Parent
		}
		if reached = b.reached(n); reached && s.node.ID != "" {
			return p, nil
		}
		if seen == nil && len(nodes) > 0 && n.ID >= nodes[len(nodes)-1].ID {
			seen = map[string]storage.Position{}
			for _, n := range nodes {
				seen[n.ID] = n.At
			}
		}
		if seen != nil {
			if later, again := seen[n.ID]; again {
				return Path{}, r.corrupt(ctx, later, secondEntry(n.ID))
			}
			seen[n.ID] = n.At
		}
		if nodes = append(nodes, n); reached {
			break
		}
	}
	if _, salvaged := r.store.(*salvagedStore); !salvaged && !reached && b.id != "" {
		return Path{}, r.corrupt(ctx, b.at, fmt.Errorf("it cuts at the entry %q, which is not on its path", b.id))
	}
	slices.Reverse(nodes)
	p.Nodes = nodes
	return p, nil
}

// checkLeaf returns an error if an earlier entry has the id of the last entry of a store, to which the path leads. It
// searches the store only if the line before does not show that the entry belongs where it is.
func (r *Reader) checkLeaf(ctx context.Context, p Path) error {
	leaf, parent := p.Last(), p.before
	if n := len(p.Nodes); n > 1 {
		parent = p.Nodes[n-2].ID
		if p.Nodes[n-2].At+1 == leaf.At {
			return nil
		}
	}
	if _, salvaged := r.store.(*salvagedStore); salvaged || leaf.ID == "" {
		return nil
	}
	for s, err := range r.store.Back(ctx, leaf.At, "") {
		if err != nil {
			return err
		}
		e, err := r.load(ctx, leaf)
		if b, ok := e.Body.(entry.Branch); err != nil || s.ID == parent || ok && s.ID == b.From {
			return err
		}
		break
	}
	for _, err := range r.store.Back(ctx, leaf.At, leaf.ID) {
		if missing(err) {
			return nil
		} else if err == nil {
			err = r.corrupt(ctx, leaf.At, secondEntry(leaf.ID))
		}
		return err
	}
	return nil
}

// pathTo returns the path to an entry before a position, which may be on another path.
func (r *Reader) pathTo(ctx context.Context, p Path, before storage.Position, id string) (Path, error) {
	if i := p.Index(id); i >= 0 { // it may precede a compaction
		return r.toBase(ctx, p.to(i), r.back(ctx, p.to(i), before))
	}
	return r.open(ctx, before, id)
}

// step is an entry on the way back to the root: a node of the path, or a line.
type step struct {
	id   string
	at   storage.Position
	node Node
	line storage.Stored
}

// back returns the nodes of a path from its end to the root, with their lines if those had to be read. All are before a
// position.
func (r *Reader) back(ctx context.Context, p Path, before storage.Position) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		for _, n := range slices.Backward(p.Nodes) {
			if !yield(step{id: n.ID, at: n.At, node: n}, nil) {
				return
			}
			before = n.At
		}
		if !p.whole() {
			r.backLines(ctx, before, p.before, len(p.Nodes) > 0)(yield)
		}
	}
}

// backLines returns the lines from an entry before a position back to the root. Child reports whether the position is that of
// a child of the entry.
func (r *Reader) backLines(ctx context.Context, before storage.Position, id string, child bool) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		for s, err := range r.store.Back(ctx, before, id) {
			if gone, ok := errors.AsType[*storage.NoEntryError](err); ok && child {
				err = r.corrupt(ctx, before, noParent(gone.ID))
			}
			if !yield(step{id: s.ID, at: s.At, line: s}, err) || err != nil {
				return
			}
			before, child = s.At, true
		}
	}
}

// entry returns the entry of a step. It must be called before the next step is requested.
func (r *Reader) entry(ctx context.Context, s step) (entry.Entry, error) {
	if s.node.ID != "" {
		return r.load(ctx, s.node)
	}
	if e, ok := r.cached(s.at); ok {
		return e, nil
	}
	return r.decode(ctx, s.line, nil)
}

// since returns the nodes of a path after an entry, in order; all of them if it is not on the path.
func (r *Reader) since(ctx context.Context, p Path, before storage.Position, id string) ([]Node, error) {
	var nodes []Node
	for s, err := range r.back(ctx, p, before) {
		if err != nil {
			return nil, err
		}
		if s.id == id {
			break
		}
		nodes = append(nodes, Node{ID: s.id, At: s.at})
	}
	slices.Reverse(nodes)
	return nodes, nil
}
