package log

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// isStored reports whether the entry of a node is still in the store. A writer removes a line that it could not write
// completely.
func (r *Reader) isStored(ctx context.Context, n Node) bool {
	for line, err := range r.store.Read(ctx, n.At) {
		return err == nil && (line.ID == n.ID || n.ID == "")
	}
	return n.ID == ""
}

// Refresh reads what others have appended to the store since. See history.Session.Refresh.
func (l *Log) Refresh(ctx context.Context) error {
	if err := l.begins(ctx); err != nil {
		return err
	}
	defer l.writing.Release()
	r, p, end, err := l.State()
	if err != nil || r.store == nil {
		return err
	}
	if l.ReadOnly() && !r.isStored(ctx, p.Last()) { // the writer removed it
		if end, err = r.store.End(ctx); err != nil {
			return err
		}
		return l.reload(ctx, r, end)
	}
	news, err := l.readOn(ctx, r, p, end)
	if err != nil {
		return err
	}
	if news.erased {
		return l.reload(ctx, r, news.end)
	}
	l.advance(news.path, end, news.end)
	return nil
}

// reload drops the cached entries of a session in which something was erased, and reads it again. The caller holds
// writing.
func (l *Log) reload(ctx context.Context, r *Reader, end storage.Position) error {
	r.cache.forget(r.Key)
	fresh := *r
	fresh.Key = sessions.Add(1) // concurrent readers may still store what they read under the old key
	p, err := fresh.open(ctx, end, "")
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.key, l.path, l.end = fresh.Key, p, end
	return nil
}

// advance moves the session to a path whose part after the position known is new.
func (l *Log) advance(p Path, known, end storage.Position) {
	if slices.ContainsFunc(p.Nodes[p.IndexAt(known):], func(n Node) bool { return n.compaction != nil }) {
		p = p.trimmed()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.path, l.end = p, end
}

// news describes what others have appended to a store.
type news struct {
	path   Path // to the last entry appended
	end    storage.Position
	said   bool // something was said, or the branch changed
	erased bool // something was erased
}

// readOn reads what was appended to the store after the position end, at which the path p led to the leaf.
func (l *Log) readOn(ctx context.Context, r *Reader, p Path, end storage.Position) (news, error) {
	n := news{path: p, end: end}
	if r.store == nil {
		return n, nil
	}
	if _, err := r.store.End(ctx); err != nil { // a reader of a file must look for its new end
		return news{}, err
	}
	for line, err := range r.store.Read(ctx, end) {
		e, err := r.decode(ctx, line, err)
		if err != nil {
			return news{}, err
		}
		r.keep(line.At, e, len(line.Data))
		next := newNode(e, line.At)
		n.said = n.said || next.Kind.Said() || e.Parent != n.path.Last().ID
		switch {
		case e.Parent == "":
			n.path = Path{}
		case e.Parent != n.path.Last().ID:
			if n.path, err = r.pathTo(ctx, n.path, line.At, e.Parent); err != nil {
				return news{}, err
			}
		}
		n.path, n.end = n.path.with(next), line.End
		n.erased = n.erased || next.Kind == entry.KindErasure
		if l.taken != nil {
			l.taken[e.ID] = true
		}
	}
	return n, nil
}
