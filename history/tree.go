package history

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// NoEntryError is the error of an id that no entry of a session has.
type NoEntryError struct{ ID string }

func (e *NoEntryError) Error() string { return fmt.Sprintf("history: there is no entry %q", e.ID) }

// tree is a session as it is at a moment, and what is about to be appended to it.
type tree struct {
	store Store
	path  string
	cache *cache
	nodes []node
	// What is not in the store yet, from the place len(nodes)-len(staged) on.
	staged []Entry
}

// tree returns the session as it is, and the place of an entry of it, that of the leaf for "".
func (s *Session) tree(id string) (*tree, int32, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, 0, ErrClosed
	}
	t := &tree{store: s.store, cache: &s.cache, nodes: s.nodes[:len(s.nodes):len(s.nodes)]}
	if f, ok := s.store.(interface{ Path() string }); ok {
		t.path = f.Path()
	}
	at := int32(len(t.nodes) - 1)
	if id != "" {
		var ok bool
		if at, ok = s.ids[id]; !ok {
			return nil, 0, &NoEntryError{ID: id}
		}
	}
	return t, at, nil
}

// up returns the places from one back to the root, the place itself included.
func (t *tree) up(at int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for ; at >= 0; at = t.nodes[at].parent {
			if !yield(at) {
				return
			}
		}
	}
}

// down lists the places from the root to one.
func (t *tree) down(at int32) []int32 {
	list := slices.Collect(t.up(at))
	slices.Reverse(list)
	return list
}

// load returns the entry at a place.
func (t *tree) load(at int32) (e Entry, err error) {
	t.each([]int32{at}, true, func(got Entry, gotErr error) bool {
		e, err = got, gotErr
		return true
	})
	return e, err
}

// each returns the entries at places. Those that follow one another in the store are read together, and kept where they
// are likely to be wanted again.
func (t *tree) each(places []int32, keep bool, yield func(Entry, error) bool) {
	stored := int32(len(t.nodes) - len(t.staged))
	for i := 0; i < len(places); {
		at := places[i]
		if at >= stored {
			if !yield(t.staged[at-stored], nil) {
				return
			}
			i++
			continue
		}
		if e, ok := t.cache.get(at); ok {
			if !yield(e, nil) {
				return
			}
			i++
			continue
		}
		end := i + 1
		for end < len(places) && places[end] < stored && t.nodes[places[end]].line == t.nodes[places[end-1]].line+1 && !t.cache.has(places[end]) {
			end++
		}
		from := int(t.nodes[at].line)
		for raw, err := range t.store.Lines(from, from+end-i) {
			at := places[i]
			var e Entry
			if _, long := errors.AsType[*LineTooLongError](err); err == nil || long {
				if err == nil {
					e, err = decode(raw)
				}
				if err != nil {
					err = &CorruptError{Path: t.path, Line: int(t.nodes[at].line) + 1, Err: err}
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if keep {
				t.cache.put(at, e, len(raw))
			}
			if !yield(e, nil) {
				return
			}
			i++
		}
	}
}

// entries lists those at places.
func (t *tree) entries(places []int32) ([]Entry, error) {
	list := make([]Entry, 0, len(places))
	var failed error
	t.each(places, true, func(e Entry, err error) bool {
		list, failed = append(list, e), err
		return true
	})
	return list, failed
}

// seq returns the entries at places that are known once it is asked for.
func (s *Session) seq(id string, places func(t *tree, at int32) ([]int32, error)) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		t, at, err := s.tree(id)
		var list []int32
		if err == nil {
			list, err = places(t, at)
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		t.each(list, false, yield)
	}
}

// Leaf is the id of the entry at which the session goes on: the one that was appended last. "" in an empty session.
func (s *Session) Leaf() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.nodes) == 0 {
		return ""
	}
	return s.nodes[len(s.nodes)-1].id
}

// Leaves lists the ids of the entries that none follows, in the order in which they were appended.
func (s *Session) Leaves() []string {
	t, _, err := s.tree("")
	if err != nil {
		return nil
	}
	inner := make([]bool, len(t.nodes))
	for _, n := range t.nodes {
		if n.parent >= 0 {
			inner[n.parent] = true
		}
	}
	var list []string
	for i, n := range t.nodes {
		if !inner[i] {
			list = append(list, n.id)
		}
	}
	return list
}

// PathTo returns the entries from the root to one, that to the leaf for "", one after the other from the store. What they
// hold must not be changed. An error is the last that is given.
func (s *Session) PathTo(id string) iter.Seq2[Entry, error] {
	return s.seq(id, func(t *tree, at int32) ([]int32, error) { return t.down(at), nil })
}

// Back returns the entries from one back to the root, from the leaf for "", the newest first. They are read from the store
// in small batches, so that breaking off early reads little. What they hold must not be changed. An error is the last that
// is returned.
func (s *Session) Back(id string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		t, at, err := s.tree(id)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		const least, most = 8, 256
		for size := least; at >= 0; size = min(2*size, most) {
			var places []int32
			for ; at >= 0 && len(places) < size; at = t.nodes[at].parent {
				places = append(places, at)
			}
			slices.Reverse(places)
			var batch []Entry
			for e, err := range t.read(places) {
				if err != nil {
					yield(Entry{}, err)
					return
				}
				batch = append(batch, e)
			}
			for _, e := range slices.Backward(batch) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// read returns the entries at places, which are not kept.
func (t *tree) read(places []int32) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) { t.each(places, false, yield) }
}

// Latest returns the newest entry of a type on the path to the leaf, and false where there is none: the model that
// answers, the plan of the moment. It does not find messages by their role, nor entries of types that this version does
// not know.
func (s *Session) Latest(of EntryType) (Entry, bool, error) {
	t, leaf, err := s.tree("")
	if err != nil {
		return Entry{}, false, err
	}
	for at := range t.up(leaf) {
		k := t.nodes[at].kind
		if k == kinds[of] && k != kindOther || of == TypeMessage && k >= kindUser && k <= kindTool {
			e, err := t.load(at)
			return e, err == nil, err
		}
	}
	return Entry{}, false, nil
}

// Ancestor returns the last entry that the paths to two entries share, "" where they share none. As everywhere, the entry ""
// is the leaf.
func (s *Session) Ancestor(a, b string) (string, error) {
	t, from, to, err := s.two(a, b)
	if err != nil {
		return "", err
	}
	if at := t.ancestor(from, to); at >= 0 {
		return t.nodes[at].id, nil
	}
	return "", nil
}

// Abandoned returns what is left behind when the session goes from one leaf to another: the entries after their common
// ancestor up to the old leaf, in the order of the path. Nothing is where the new leaf follows the old one.
func (s *Session) Abandoned(from, to string) iter.Seq2[Entry, error] {
	return s.seq(from, func(_ *tree, _ int32) ([]int32, error) {
		t, old, leaf, err := s.two(from, to)
		if err != nil {
			return nil, err
		}
		var list []int32
		common := t.ancestor(old, leaf)
		for at := range t.up(old) {
			if at == common {
				break
			}
			list = append(list, at)
		}
		slices.Reverse(list)
		return list, nil
	})
}

// two returns the places of two entries.
func (s *Session) two(a, b string) (t *tree, from, to int32, err error) {
	if _, from, err = s.tree(a); err == nil {
		t, to, err = s.tree(b)
	}
	return t, from, to, err
}

// ancestor is the last place that the paths to two share, -1 for none. A parent comes before its children.
func (t *tree) ancestor(a, b int32) int32 {
	for a != b {
		if a > b {
			a = t.nodes[a].parent
		} else {
			b = t.nodes[b].parent
		}
	}
	return a
}

// Branch goes on from an entry, on this branch or on another; from "" a new conversation begins. Nothing is lost: what is
// left is a branch of its own, and can be gone back to. What was compacted or noted after the entry is not on the new
// path, and so has no part in what is shown. That the leaf is another one is an entry itself ([Branch]), so a session
// that is opened again goes on there.
func (s *Session) Branch(id string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := s.add([]Entry{{Body: Branch{From: s.Leaf()}, Parent: id}}, id == "")
	return err
}

// cacheSize is how many bytes of lines the entries have that a session keeps in memory.
const cacheSize = 64 << 20

// cache holds entries that were read or appended last. It is emptied when it is full.
type cache struct {
	mu      sync.Mutex
	entries map[int32]Entry
	bytes   int
}

func (c *cache) get(at int32) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[at]
	return e, ok
}

func (c *cache) has(at int32) bool {
	_, ok := c.get(at)
	return ok
}

func (c *cache) put(at int32, e Entry, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const least = 512 // what an entry takes besides its text
	size += least
	if c.bytes += size; c.entries == nil || c.bytes > cacheSize {
		c.entries, c.bytes = map[int32]Entry{}, size
	}
	c.entries[at] = e
}
