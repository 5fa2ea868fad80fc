package log

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/storage"
)

// At returns the path to an entry, the leaf for "", and a reader of its entries.
func (l *Log) At(ctx context.Context, id string) (*Reader, Path, error) {
	r, p, end, err := l.State()
	if err != nil || id == "" {
		return r, p, err
	}
	p, err = r.pathTo(ctx, p, end, id)
	return r, p, err
}

// way is a path to an entry of which perhaps only the id is known.
type way struct {
	reader *Reader
	path   Path
	end    storage.Position // before which the entry is
	common step             // the last step on the path to another entry too, the zero value if there is none
}

// wayTo returns the way to an entry, the leaf for "".
func (l *Log) wayTo(id string) (way, error) {
	r, p, end, err := l.State()
	if i := p.Index(id); i >= 0 {
		p = p.to(i)
	} else if id != "" {
		p = Path{before: id}
	}
	return way{reader: r, path: p, end: end}, err
}

// Leaf returns the id of the entry that the next one follows. See history.Session.Leaf.
func (l *Log) Leaf() string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.path.Last().ID
}

// Entries returns all entries in the order in which they were appended, as far as the session knows them, read one
// after the other from the store. See history.Session.Entries.
func (l *Log) Entries(ctx context.Context) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		r, _, end, err := l.State()
		if err != nil {
			yield(entry.Entry{}, err)
			return
		}
		for line, err := range r.store.Read(ctx, 0) {
			whole := err == nil || line.End != 0
			if whole && line.At == 0 { // the header
				continue
			}
			if whole && line.At >= end {
				return
			}
			e, err := r.decode(ctx, line, err)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Entry returns the entry with an id, the leaf for "". See history.Session.Entry.
func (l *Log) Entry(ctx context.Context, id string) (entry.Entry, error) {
	r, p, end, err := l.State()
	if err != nil {
		return entry.Entry{}, err
	}
	if i := p.Index(cmp.Or(id, p.Last().ID)); i >= 0 {
		return r.load(ctx, p.Nodes[i])
	}
	e, _, err := r.lookUp(ctx, end, entry.Ref{ID: id})
	return e, err
}

// Lines returns the number of lines in the store, the header included; 0 if the store does not count them. See
// history.Session.Lines.
func (l *Log) Lines(ctx context.Context) (int, error) {
	r, p, _, err := l.State()
	if err != nil {
		return 0, err
	}
	return r.lines(ctx, p)
}

// PathTo returns the entries from the root to an entry, the leaf for "", read one after the other from the store. See
// history.Session.PathTo.
func (l *Log) PathTo(ctx context.Context, id string) iter.Seq2[entry.Entry, error] {
	return l.entries(ctx, func() (way, error) { return l.wayTo(id) })
}

// entries returns the entries on a way after the common step, which is determined when the iteration starts.
func (l *Log) entries(ctx context.Context, find func() (way, error)) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		w, err := find()
		var list []Node
		if err == nil {
			list, err = w.reader.since(ctx, w.path, w.end, w.common.id)
		}
		if err != nil {
			yield(entry.Entry{}, err)
			return
		}
		for e, err := range w.reader.entries(ctx, list, false) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// BackLocated returns the entries from an entry, the leaf for "", back to the root, with their positions. See
// history.Session.BackLocated.
func (l *Log) BackLocated(ctx context.Context, id string) iter.Seq2[Located, error] {
	return func(yield func(Located, error) bool) {
		w, err := l.wayTo(id)
		if err != nil {
			yield(Located{}, err)
			return
		}
		for step, err := range w.reader.back(ctx, w.path, w.end) {
			var e entry.Entry
			if err == nil {
				e, err = w.reader.entry(ctx, step)
			}
			if !yield(Located{e, step.at}, err) || err != nil {
				return
			}
		}
	}
}

// Kept returns what the cache holds that was made of the session's entries, nil if there is nothing, and a function that
// puts something else there. See history.Session.Kept.
func (l *Log) Kept() (made any, keep func(made any, bytes int)) {
	l.mu.RLock()
	r := l.reader()
	l.mu.RUnlock()
	key := cacheKey{r.Key, ofSession}
	made, _ = r.cache.get(key)
	return made, func(made any, bytes int) { r.cache.put(key, made, bytes) }
}

// Latest returns the newest entry of a type on the path to the leaf, and false if there is none. See
// history.Session.Latest.
func (l *Log) Latest(ctx context.Context, of entry.Type) (entry.Entry, bool, error) {
	r, p, end, err := l.State()
	if err != nil {
		return entry.Entry{}, false, err
	}
	for s, err := range r.back(ctx, p, end) {
		if err != nil {
			return entry.Entry{}, false, err
		}
		if n := s.node; n.ID != "" && n.compaction == nil && !n.Kind.Is(of) {
			continue
		}
		e, err := r.entry(ctx, s)
		if err != nil || e.Type() == of {
			return e, err == nil, err
		}
		if e.Type() != entry.TypeCompaction {
			continue
		}
		ref, ok := e.Compaction().Retained.Latest[of]
		if !ok {
			break
		}
		e, _, err = r.lookUp(ctx, s.at, ref)
		if err != nil && !missing(err) || e.Type() == of {
			return e, err == nil, err
		} // else the entry is unreadable, or Retained is wrong
	}
	return entry.Entry{}, false, nil
}

// Customs returns the newest custom entry of each name that begins with a prefix. See history.Session.Customs.
func (l *Log) Customs(ctx context.Context, id, prefix string) ([]entry.Entry, error) {
	r, p, err := l.At(ctx, id)
	if err != nil {
		return nil, err
	}
	var list []entry.Entry // the newest first
	seen := map[string]bool{}
	wants := func(name string) bool { return strings.HasPrefix(name, prefix) && !seen[name] }
	add := func(e entry.Entry) {
		if b, ok := e.Body.(entry.Custom); ok && wants(b.Name) {
			if seen[b.Name] = true; len(b.Data) > 0 {
				list = append(list, e)
			}
		}
	}
	for _, n := range slices.Backward(p.Nodes) {
		if n.Kind == kind.Custom {
			e, err := r.load(ctx, n)
			if err != nil {
				return nil, err
			}
			add(e)
		}
		if n.compaction == nil {
			continue
		}
		for _, ref := range slices.Backward(n.compaction.Retained.Custom) {
			if !wants(ref.Name) {
				continue
			}
			e, _, err := r.lookUp(ctx, n.At, ref.Ref)
			if err != nil && !missing(err) { // else the entry was erased, or Retained is wrong
				return nil, err
			}
			add(e)
		}
		break
	}
	slices.Reverse(list)
	return list, nil
}

// Ancestor returns the last entry that the paths to two entries share, "" if they share none. See
// history.Session.Ancestor.
func (l *Log) Ancestor(ctx context.Context, a, b string) (string, error) {
	w, err := l.fork(ctx, a, b)
	return w.common.id, err
}

// fork returns the way to an entry, with what it has in common with that to another.
func (l *Log) fork(ctx context.Context, from, to string) (way, error) {
	w, err := l.wayTo(from)
	other, otherErr := l.wayTo(to)
	if err = cmp.Or(err, otherErr); err != nil {
		return way{}, err
	}
	nextA, stopA := iter.Pull2(w.reader.back(ctx, w.path, w.end))
	defer stopA()
	nextB, stopB := iter.Pull2(w.reader.back(ctx, other.path, w.end))
	defer stopB()
	a, errA, okA := nextA()
	b, errB, okB := nextB()
	for okA && okB {
		if err := errors.Join(errA, errB); err != nil {
			return way{}, err
		}
		switch {
		case a.at == b.at:
			w.common = a
			return w, nil
		case a.at > b.at:
			a, errA, okA = nextA()
		default:
			b, errB, okB = nextB()
		}
	}
	return w, errors.Join(errA, errB)
}

// Abandoned returns what is left behind when the session moves from one leaf to another. See history.Session.Abandoned.
func (l *Log) Abandoned(ctx context.Context, from, to string) iter.Seq2[entry.Entry, error] {
	return l.entries(ctx, func() (way, error) { return l.fork(ctx, from, to) })
}

// Retained returns what a compaction that covers the path to an entry, the leaf for "", would retain. See
// history.Session.Retained.
func (l *Log) Retained(ctx context.Context, id string) (entry.Retained, error) {
	r, p, err := l.At(ctx, id)
	if err != nil {
		return entry.Retained{}, err
	}
	return r.retainedAtCut(ctx, p, Anywhere)
}

// Resolve returns the entries that are referred to, each once and in the order of the store. See
// history.Session.Resolve.
func (l *Log) Resolve(ctx context.Context, refs ...entry.Ref) ([]entry.Entry, error) {
	r, _, end, err := l.State()
	if err != nil {
		return nil, err
	}
	_, entries, err := r.Resolve(ctx, end, refs)
	return entries, err
}
