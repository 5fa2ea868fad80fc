package history

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/worded"
)

// missing reports whether an error is a [*storage.NoEntryError].
func missing(err error) bool {
	_, ok := errors.AsType[*storage.NoEntryError](err)
	return ok
}

// noParent returns the error of a line whose parent is not before it.
func noParent(id string) error {
	return worded.Errorf(&storage.NoEntryError{ID: id}, "its parent %q is not before it", id)
}

// pathTo returns the path to an entry, the leaf for "", and a reader of its entries.
func (s *Session) pathTo(ctx context.Context, id string) (*reader, path, error) {
	r, p, end, err := s.state()
	if err != nil || id == "" {
		return r, p, err
	}
	p, err = r.pathTo(ctx, p, end, id)
	return r, p, err
}

// pathTo returns the path to an entry before a position, which may be on another path.
func (r *reader) pathTo(ctx context.Context, p path, before storage.Position, id string) (path, error) {
	i := p.index(id)
	if i < 0 {
		if r.store == nil {
			return path{}, &storage.NoEntryError{ID: id}
		}
		return r.open(ctx, before, id)
	}
	p = p.to(i)
	var b base
	for _, n := range slices.Backward(p.nodes) {
		if b.reached(n) {
			return p, nil
		}
	}
	if p.whole() {
		return p, nil
	}
	return r.extended(ctx, p, p.nodes[0].at, b) // the entry precedes a compaction
}

// wayTo returns a path to an entry of which perhaps only the id is known, a reader of its entries, and the position
// before which the entry is.
func (s *Session) wayTo(id string) (*reader, path, storage.Position, error) {
	r, p, end, err := s.state()
	if err != nil || id == "" {
		return r, p, end, err
	}
	if i := p.index(id); i >= 0 {
		return r, p.to(i), end, nil
	}
	if r.store == nil {
		return r, path{}, 0, &storage.NoEntryError{ID: id}
	}
	return r, path{before: id}, end, nil
}

// back returns the nodes of a path from its end to the root, with their lines if those had to be read. All are before a
// position.
func (r *reader) back(ctx context.Context, p path, before storage.Position) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		for _, n := range slices.Backward(p.nodes) {
			if !yield(step{id: n.id, at: n.at, node: n}, nil) {
				return
			}
		}
		if p.whole() {
			return
		}
		if len(p.nodes) > 0 {
			before = p.nodes[0].at
		}
		child := len(p.nodes) > 0 // there is a node whose parent comes next
		for s, err := range r.store.Back(ctx, before, p.before) {
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

// step is an entry on the way back to the root: a node of the path, or a line.
type step struct {
	id   string
	at   storage.Position
	node node
	line storage.Stored
}

// entry returns the entry of a step. It must be called before the next step is requested.
func (r *reader) entry(ctx context.Context, s step) (entry.Entry, error) {
	if s.node.id != "" {
		return r.load(ctx, s.node)
	}
	return r.decode(ctx, s.line, nil)
}

// Leaf returns the id of the entry that the next one follows: the entry that was appended last. It is "" in an empty
// session.
func (s *Session) Leaf() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.path.last().id
}

// Leaves returns the ids of the entries without a child, in the order in which they were appended. It reads the whole
// store.
func (s *Session) Leaves(ctx context.Context) ([]string, error) {
	var list []string
	inner := map[string]bool{}
	for e, err := range s.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		inner[e.Parent] = true
		list = append(list, e.ID)
	}
	return slices.DeleteFunc(list, func(id string) bool { return inner[id] }), nil
}

// Labels returns the latest label of each entry, by the ids of the entries. It reads the whole store.
func (s *Session) Labels(ctx context.Context) (map[string]string, error) {
	labels := map[string]string{}
	for e, err := range s.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		if b, ok := e.Body.(entry.Label); ok && b.Text != "" {
			labels[b.Target] = b.Text
		} else if ok {
			delete(labels, b.Target)
		}
	}
	return labels, nil
}

// PathTo returns the entries from the root to an entry, the leaf for "", read one after the other from the store. What
// they hold must not be changed. An error is the last value.
func (s *Session) PathTo(ctx context.Context, id string) iter.Seq2[entry.Entry, error] {
	return s.entries(ctx, func() (*reader, []node, error) {
		r, p, end, err := s.wayTo(id)
		if err != nil || p.whole() {
			return r, p.nodes, err
		}
		nodes, err := r.since(ctx, p, end, func(step) bool { return false })
		return r, nodes, err
	})
}

// since returns the nodes of a path after the step last, in order.
func (r *reader) since(ctx context.Context, p path, before storage.Position, last func(step) bool) ([]node, error) {
	var nodes []node
	for s, err := range r.back(ctx, p, before) {
		if err != nil {
			return nil, err
		}
		if last(s) {
			break
		}
		nodes = append(nodes, node{id: s.id, at: s.at})
	}
	slices.Reverse(nodes)
	return nodes, nil
}

// entries returns the entries of nodes, which are determined when the iteration starts.
func (s *Session) entries(ctx context.Context, nodes func() (*reader, []node, error)) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		r, list, err := nodes()
		if err != nil {
			yield(entry.Entry{}, err)
			return
		}
		for e, err := range r.entries(ctx, list, false) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Back returns the entries from an entry, the leaf for "", back to the root. They are read one after the other, so
// stopping early reads little. What they hold must not be changed. An error is the last value.
func (s *Session) Back(ctx context.Context, id string) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		r, p, end, err := s.wayTo(id)
		if err != nil {
			yield(entry.Entry{}, err)
			return
		}
		for step, err := range r.back(ctx, p, end) {
			var e entry.Entry
			if err == nil {
				e, err = r.entry(ctx, step)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Latest returns the newest entry of a type on the path to the leaf, and false if there is none: for instance the
// current model or the current list of things to do. It does not find messages by their role, nor entries of unknown
// types.
func (s *Session) Latest(ctx context.Context, of entry.Type) (entry.Entry, bool, error) {
	r, p, end, err := s.state()
	if err != nil {
		return entry.Entry{}, false, err
	}
	for _, n := range slices.Backward(p.nodes) {
		if n.kind.Is(of) {
			e, err := r.load(ctx, n)
			return e, err == nil, err
		}
		if n.compaction == nil {
			continue
		}
		ref, ok := n.compaction.Carried.Latest[of]
		if !ok {
			return entry.Entry{}, false, nil
		}
		e, _, err := r.lookUp(ctx, end, ref)
		if missing(err) || err == nil && e.Type() != of { // the entry is unreadable, or Carried is wrong
			return r.latest(ctx, n, of)
		}
		return e, err == nil, err
	}
	return entry.Entry{}, false, nil
}

// latest searches for the newest entry of a type on the path to a compaction.
func (r *reader) latest(ctx context.Context, n node, of entry.Type) (entry.Entry, bool, error) {
	c, err := r.load(ctx, n)
	if err != nil {
		return entry.Entry{}, false, err
	}
	for s, err := range r.back(ctx, path{before: c.Parent}, n.at) {
		if err != nil {
			return entry.Entry{}, false, err
		}
		if e, err := r.entry(ctx, s); err != nil || e.Type() == of {
			return e, err == nil, err
		}
	}
	return entry.Entry{}, false, nil
}

// Ancestor returns the last entry that the paths to two entries share, "" if they share none. For either, "" means the
// leaf.
func (s *Session) Ancestor(ctx context.Context, a, b string) (string, error) {
	f, err := s.fork(ctx, a, b)
	return f.common.id, err
}

// fork is the place at which two paths part.
type fork struct {
	reader *reader
	from   path // the path to the first entry
	end    storage.Position
	common step // the last step on both, the zero value if there is none
}

func (s *Session) fork(ctx context.Context, from, to string) (fork, error) {
	r, p, end, err := s.wayTo(from)
	if err != nil {
		return fork{}, err
	}
	_, q, _, err := s.wayTo(to)
	if err != nil {
		return fork{}, err
	}
	nextA, stopA := iter.Pull2(r.back(ctx, p, end))
	defer stopA()
	nextB, stopB := iter.Pull2(r.back(ctx, q, end))
	defer stopB()
	a, errA, okA := nextA()
	b, errB, okB := nextB()
	for okA && okB {
		if err := errors.Join(errA, errB); err != nil {
			return fork{}, err
		}
		switch {
		case a.at == b.at:
			return fork{r, p, end, a}, nil
		case a.at > b.at:
			a, errA, okA = nextA()
		default:
			b, errB, okB = nextB()
		}
	}
	return fork{reader: r, from: p, end: end}, errors.Join(errA, errB)
}

// Abandoned returns what is left behind when the session moves from one leaf to another: the entries after their common
// ancestor up to the old leaf, in order. It returns none if the new leaf follows the old one.
func (s *Session) Abandoned(ctx context.Context, from, to string) iter.Seq2[entry.Entry, error] {
	return s.entries(ctx, func() (*reader, []node, error) {
		f, err := s.fork(ctx, from, to)
		if err != nil {
			return nil, nil, err
		}
		nodes, err := f.reader.since(ctx, f.from, f.end, func(s step) bool { return s.id == f.common.id })
		return f.reader, nodes, err
	})
}

// Branch continues the session from an entry on this branch or another; from "" a new conversation starts. Nothing is
// lost: what is left becomes another branch, to which the session can return. What was compacted or noted after the
// entry is not on the new path, and so does not affect what is shown. The change of leaf is recorded by an
// [entry.Branch] entry, so a session that is opened again continues there. If somebody said something in the meantime
// the error is a [*storage.ConflictError].
func (s *Session) Branch(ctx context.Context, id string) error {
	if err := s.begins(ctx); err != nil {
		return err
	}
	defer s.writing.release()
	_, err := s.add(ctx, []entry.Entry{{Body: entry.Branch{From: s.Leaf()}, Parent: id}}, id == "")
	return err
}
