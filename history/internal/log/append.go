package log

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/checksum"
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
	r, p, end, err := l.begins(ctx)
	if err != nil {
		return err
	}
	defer l.writing.Release()
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
	l.calls = nil
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
		n.erased = n.erased || next.Kind == kind.Erasure
		if l.taken != nil {
			l.taken[e.ID] = true
		}
	}
	return n, nil
}

// Add adds entries of any kind, all or none, and returns them as added. See history.Session.Add.
func (l *Log) Add(ctx context.Context, entries ...entry.Entry) ([]entry.Entry, error) {
	entries, err := l.redacted(ctx, entries)
	if err != nil {
		return nil, err
	}
	if _, _, _, err := l.begins(ctx); err != nil {
		return nil, err
	}
	defer l.writing.Release()
	return l.add(ctx, entries, false)
}

// redacted returns entries as they are written.
func (l *Log) redacted(ctx context.Context, entries []entry.Entry) ([]entry.Entry, error) {
	entries = slices.Clone(entries)
	for i := range entries {
		e, err := l.smaller(ctx, entries[i])
		if err == nil {
			e, err = e.Redact(ctx, l.options.Redact) // before anything is locked
		}
		if err != nil {
			return nil, InEntry(describe(entries, i), err)
		}
		entries[i] = e
	}
	return entries, nil
}

// smaller returns an entry with the pictures that the caller's function made smaller, each beside its original.
func (l *Log) smaller(ctx context.Context, e entry.Entry) (entry.Entry, error) {
	m, is := e.Body.(entry.Message)
	if !is || l.options.Shrink == nil {
		return e, nil
	}
	m.Content = slices.Clone(m.Content)
	for i, p := range m.Content {
		picture, is := p.(chat.Image)
		if !is || picture.Original != "" {
			continue
		}
		url, err := l.options.Shrink(ctx, picture)
		if err != nil {
			return e, err
		}
		if url != "" && len(url) < len(picture.URL) {
			picture.URL, picture.Original = url, picture.URL
			m.Content[i] = picture
		}
	}
	e.Body = m
	return e, nil
}

// AddBehind adds entries behind an entry. See history.Session.AddBehind.
func (l *Log) AddBehind(ctx context.Context, id string, entries ...entry.Entry) ([]entry.Entry, error) {
	entries, err := l.redacted(ctx, entries)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	r, p, _, err := l.begins(ctx)
	if err != nil {
		return nil, err
	}
	defer l.writing.Release()
	parent, again, err := r.saidSince(ctx, p, id)
	if err != nil {
		return nil, err
	}
	entries[0].Parent = parent
	added, err := l.add(ctx, append(entries, again...), false)
	if err != nil {
		return nil, err
	}
	return added[:len(entries)], nil
}

// saidSince returns what was added to a path behind an entry from the first on that was said, to be added again, and the
// parent of that; "" and nothing if nothing was said.
func (r *Reader) saidSince(ctx context.Context, p Path, id string) (parent string, again []entry.Entry, err error) {
	at := p.Index(id)
	if at < 0 {
		return "", nil, &storage.ConflictError{}
	}
	first := slices.IndexFunc(p.Nodes[at+1:], func(n Node) bool { return n.Kind.Said() })
	if first < 0 {
		return "", nil, nil
	}
	nodes := p.Nodes[at+1+first:]
	for _, n := range nodes {
		switch n.Kind {
		case kind.Plan, kind.Compaction, kind.Branch, kind.Erasure, kind.Assistant, kind.Tool:
			return "", nil, &storage.ConflictError{}
		}
	}
	if again, err = r.List(ctx, nodes); err != nil {
		return "", nil, err
	}
	again = slices.DeleteFunc(again, func(e entry.Entry) bool { return e.Type() == entry.TypeUsage }) // what was paid once
	for i := range again {
		again[i].Of, again[i].ID, again[i].Parent = cmp.Or(again[i].Of, again[i].ID), "", ""
	}
	return p.Nodes[at+first].ID, again, nil
}

// Branch continues the session from an entry on this branch or another; from "" a new conversation starts. See
// history.Session.Branch.
func (l *Log) Branch(ctx context.Context, id string) error {
	if _, _, _, err := l.begins(ctx); err != nil {
		return err
	}
	defer l.writing.Release()
	_, err := l.add(ctx, []entry.Entry{{Body: entry.Branch{From: l.Leaf()}, Parent: id}}, id == "")
	return err
}

// Has reports whether an entry has an id. See history.Session.Has.
func (l *Log) Has(ctx context.Context, id string) (bool, error) {
	r, _, _, err := l.begins(ctx)
	if err != nil {
		return false, err
	}
	defer l.writing.Release()
	return l.has(ctx, r, id)
}

// add adds entries. If root is set, the first may be a root. The caller holds writing.
func (l *Log) add(ctx context.Context, entries []entry.Entry, root bool) ([]entry.Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r, p, end, err := l.State()
	if err == nil && end == 0 { // it is empty
		if err = l.begin(ctx, entry.Header{}); err == nil {
			r, p, end, err = l.State()
		}
	}
	if err != nil {
		return nil, err
	}
	var seen []string // for each entry, the id of the entry before it that the caller could know
	for {
		a := adding{branchEnd: branchEnd{r, p, end, cmp.Or(l.calls, &calls{})}, log: l, ids: map[string]bool{}, seen: seen}
		l.calls = nil // until the entries are in the store
		r.staged = map[storage.Position]entry.Entry{}
		added := slices.Clone(entries)
		lines := make([]storage.Line, len(entries))
		for i := range added {
			if lines[i], err = a.stage(ctx, &added[i], root && i == 0); err != nil {
				return nil, InEntry(describe(added, i), err)
			}
		}
		var ends []storage.Position
		if err = l.writeTexts(ctx, r, added, lines); err == nil {
			if ends, err = r.store.Append(ctx, end, lines...); err != nil {
				err = l.unwriteTexts(ctx, r, added, err)
			}
		}
		r.staged = nil
		if err == nil {
			l.take(a, added, lines, ends)
			return added, nil
		}
		seen = a.seen
		if _, conflict := errors.AsType[*storage.ConflictError](err); !conflict {
			return nil, err
		}
		news, readErr := l.readOn(ctx, r, p, end)
		if readErr != nil {
			return nil, errors.Join(err, readErr)
		}
		if news.end == end || news.said && a.says {
			return nil, err
		}
		if l.advance(news.path, end, news.end); news.erased {
			if err := l.reload(ctx, r, news.end); err != nil {
				return nil, err
			}
		}
		if r, p, end, err = l.State(); err != nil {
			return nil, err
		}
	}
}

// take records what was appended in the session.
func (l *Log) take(a adding, added []entry.Entry, lines []storage.Line, ends []storage.Position) {
	starts := slices.Concat([]storage.Position{a.end}, ends)
	for i := len(added) - 1; i >= 0; i-- {
		at := starts[i]
		if k := a.path.IndexAt(a.end + storage.Position(i)); k < len(a.path.Nodes) && a.path.Nodes[k].ID == added[i].ID {
			a.path.Nodes[k].At = at
		}
		a.r.keep(at, added[i], len(lines[i].Data))
		if l.taken != nil {
			l.taken[added[i].ID] = true
		}
	}
	l.calls = a.calls
	l.advance(a.path, a.end, ends[len(ends)-1])
}

// describe names an entry in an error.
func describe(entries []entry.Entry, i int) string {
	kind := string(cmp.Or(entries[i].Type(), "entry"))
	if len(entries) == 1 {
		return kind
	}
	return fmt.Sprintf("%s %d of %d", kind, i+1, len(entries))
}

// adding holds the state of entries being added to a session.
type adding struct {
	branchEnd
	log    *Log
	staged []Path          // to each staged entry
	ids    map[string]bool // of these
	says   bool            // an entry holds something said
	seen   []string        // see [Log.add]
}

// stage completes an entry, checks it, and returns its line.
func (a *adding) stage(ctx context.Context, e *entry.Entry, root bool) (storage.Line, error) {
	if e.Body == nil {
		return storage.Line{}, errors.New("it has no body")
	}
	err := a.place(ctx, e, root)
	if err != nil {
		return storage.Line{}, err
	}
	if len(a.seen) == len(a.staged) {
		a.seen = append(a.seen, a.stored())
	}
	if e.ID == "" {
		if e.ID, err = a.newID(ctx); err != nil {
			return storage.Line{}, err
		}
	}
	if e.Time.IsZero() {
		if e.Time, err = a.log.Now(ctx); err != nil {
			return storage.Line{}, err
		}
	}
	e.Time = e.Time.UTC().Round(0)
	if e.Body, err = a.body(ctx, e); err != nil {
		return storage.Line{}, err
	}
	line, err := a.log.options.writable(e)
	if err != nil {
		return storage.Line{}, err
	}
	if m, ok := e.Body.(entry.Message); !ok || m.Data != nil || e.Redacted != nil || slices.ContainsFunc(m.Content, isOpaque) {
		if err = e.UnmarshalJSON(line); err != nil { // the entry as it will be read, which shares nothing with the caller's
			return storage.Line{}, err
		}
	}
	n := newNode(*e, a.end+storage.Position(len(a.staged)))
	a.r.staged[n.At] = *e
	a.says = a.says || n.Kind.Said()
	a.path = a.path.with(n)
	a.staged = append(a.staged, a.path)
	a.ids[n.ID] = true
	return storage.Line{ID: e.ID, Parent: e.Parent, Kind: string(e.Type()), Data: line}, nil
}

// body checks the body of an entry and completes it with what only the log knows.
func (a *adding) body(ctx context.Context, e *entry.Entry) (entry.Body, error) {
	before := a.seen[len(a.staged)] // the end of what the session had read
	switch b := e.Body.(type) {
	case entry.Usage:
		if b.Of == "" && before != e.Parent { // something was added in between
			b.Of = before
		}
		b.Sent.Time = b.Sent.Time.UTC()
		return b, nil
	case entry.Message:
		b.Content, b.ToolCalls = append(chat.Parts(nil), b.Content...), append([]chat.ToolCall(nil), b.ToolCalls...) // the caller may change its slices
		return b, a.checkMessage(ctx, b.Message)
	case entry.Compaction:
		if b.Boundary() == "" && before != a.stored() { // it covers only what the session had read
			b.LastCovered = before
		}
		err := a.checkCompaction(ctx, b)
		if err == nil {
			b.Retained, err = a.r.retainedAtCut(ctx, a.path, a.path.Cut(b, Anywhere))
		}
		if b.Retained.Lines > 0 {
			b.Retained.Lines += len(a.staged)
		}
		return b, err
	case entry.Pin:
		var err error
		b.Ref, err = a.checkPin(ctx, b.ID)
		return b, err
	case entry.Clearing:
		return b, a.checkClearing(ctx, b)
	case entry.CustomMessage:
		return b, checkText(chat.Message{Role: chat.RoleUser, Content: b.Content})
	case entry.Preamble:
		for i, m := range b.System {
			if err := checkText(m); err != nil {
				return b, fmt.Errorf("system message %d: %w", i+1, err)
			}
		}
	case entry.PlanEnd:
		if len(b.Finished) > 0 && a.erasedSince(b.Plan) {
			return b, &entry.BoundaryError{ID: b.Plan, Reason: BoundaryEnded}
		}
	case entry.Plan:
		b.Until = b.Until.UTC()
		if err := checkText(sendable.WithThinking(chat.Message{Role: chat.RoleAssistant}, b.Thinking)); err != nil {
			return b, fmt.Errorf("its thinking: %w", err)
		}
		return b, nil
	}
	return e.Body, nil
}

// stored returns the id of the entry before, "" if that is about to be added too.
func (a *adding) stored() string {
	if n := a.path.Last(); n.At < a.end {
		return n.ID
	}
	return ""
}

// isOpaque reports whether a part is opaque, so that its bytes belong to the caller, who may change them.
func isOpaque(p chat.Part) bool {
	_, ok := p.(chat.Opaque)
	return ok
}

// place moves to the entry's parent, and checks its id.
func (a *adding) place(ctx context.Context, e *entry.Entry, root bool) (err error) {
	if u, ok := e.Body.(entry.Unknown); ok {
		var line entry.Entry
		err := line.UnmarshalJSON(checksum.Add(slices.Clip(u.Line)))
		head, headErr := storage.ParseLine(u.Line)
		switch {
		case err != nil || headErr != nil:
			return fmt.Errorf("its line: %w", errors.Join(err, headErr))
		case head.ID != line.ID || head.Parent != line.Parent || head.Kind != string(line.Type()) || !utf8.ValidString(line.ID):
			return errors.New("its line has an id, parent or type twice, or not in UTF-8")
		case line.Type().Known() || line.Type() != u.Kind || bytes.IndexByte(u.Line, '\n') >= 0:
			return fmt.Errorf("its line is not one of an unknown %q", u.Kind)
		case e.ID != "" && e.ID != line.ID || e.Parent != "" && e.Parent != line.Parent:
			return errors.New("its line has another id or parent")
		}
		*e, root = line, line.Parent == ""
	}
	if e.ID != "" {
		if len(e.ID) > entry.MaxID || !utf8.ValidString(e.ID) {
			return fmt.Errorf("the id %.40q is longer than %d bytes or not valid UTF-8", e.ID, entry.MaxID)
		}
		if taken, err := a.isTaken(ctx, e.ID); err != nil {
			return err
		} else if taken {
			return fmt.Errorf("there is an entry %q already", e.ID)
		}
	}
	if root {
		a.path = Path{}
		return nil
	}
	if e.Parent = cmp.Or(e.Parent, a.path.Last().ID); e.Parent == a.path.Last().ID {
		return nil
	}
	for _, p := range a.staged {
		if p.Last().ID == e.Parent {
			a.path = p.to(len(p.Nodes) - 1)
			return nil
		}
	}
	a.path, err = a.r.pathTo(ctx, a.path, a.end, e.Parent)
	return err
}

// isTaken reports whether an entry has an id, including those about to be added.
func (a *adding) isTaken(ctx context.Context, id string) (bool, error) {
	if a.ids[id] {
		return true, nil
	}
	return a.log.has(ctx, a.r, id)
}

// has reports whether an entry has an id. The first call reads the ids of the whole store. The caller holds writing.
func (l *Log) has(ctx context.Context, r *Reader, id string) (bool, error) {
	if l.taken == nil {
		taken := map[string]bool{}
		for line, err := range unsalvaged(r.store).Read(ctx, 0) {
			if err != nil && line.End == 0 {
				return false, err
			}
			if line.At == 0 {
				continue
			}
			taken[line.ID] = true
			taken[line.Parent] = true                           // the parent's line may be unreadable
			if err != nil || checksum.Check(line.Data) != nil { // a damaged line, or two in one, may hold the id
				for text := range bytes.SplitSeq(line.Data, []byte{'"'}) {
					if len(text) <= entry.MaxID {
						taken[string(text)] = true
					}
				}
			}
		}
		l.taken = taken
	}
	return l.taken[id], nil
}

// newID returns an id that no entry has. Without Options.IDs it is random.
func (a *adding) newID(ctx context.Context) (string, error) {
	if a.log.options.IDs == nil {
		now, err := a.log.Now(ctx)
		return a.log.ids.next(now), err
	}
	for range 1 << 20 {
		id, err := a.log.options.IDs(ctx)
		if err != nil {
			return "", err
		}
		if id == "" || len(id) > entry.MaxID || !utf8.ValidString(id) {
			return "", fmt.Errorf("Options.IDs returned %.40q: an id has 1 to %d bytes of valid UTF-8", id, entry.MaxID)
		}
		taken, err := a.isTaken(ctx, id)
		if err != nil {
			return "", err
		}
		if !taken {
			return id, nil
		}
	}
	return "", errors.New("Options.IDs returned only ids that entries have already")
}

// generator makes ids of 20 characters that sort by the microsecond in which they were made, no two of one writer in the same. 45
// bits of each are random, so that two writers do not make the same id. It holds the last microsecond.
type generator struct{ last int64 }

// next returns a new id, greater than the last even if the clock was set back.
func (g *generator) next(now time.Time) string {
	g.last = max(now.UnixMicro(), g.last+1)
	const bits = 55 // of the time: 11 characters
	at := strconv.FormatInt(g.last&(1<<bits-1)|1<<bits, 32)[1:]
	return at + strings.ToLower(rand.Text()[:9])
}
