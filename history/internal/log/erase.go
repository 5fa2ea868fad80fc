package log

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// ErrNotErasable is returned for an erasure in a store that is not an [storage.Eraser].
var ErrNotErasable = errors.New("history: the session's store cannot erase")

// Erase erases the content of entries for good, and appends an [entry.Erasure], which it returns. See
// history.Session.Erase.
func (l *Log) Erase(ctx context.Context, ids ...string) (entry.Erasure, error) {
	if err := l.begins(ctx); err != nil {
		return entry.Erasure{}, err
	}
	defer l.writing.Release()
	r, _, end, err := l.State()
	if err != nil {
		return entry.Erasure{}, err
	}
	store, ok := unwrapped(r.store).(storage.Eraser)
	if !ok {
		return entry.Erasure{}, ErrNotErasable
	}
	if len(ids) == 0 {
		return entry.Erasure{}, nil
	}
	e := eraser{erasure: entry.Erasure{Entries: ids}, below: make([]map[string]bool, len(ids)), copies: entry.NewCopies()}
	first := end
	for i, id := range ids {
		found, at, err := r.lookUp(ctx, end, entry.Ref{ID: id})
		if err != nil {
			return entry.Erasure{}, err
		}
		first = min(first, at)
		e.below[i] = map[string]bool{id: true}
		e.copies.Add(found.Body)
	}
	for line, err := range r.store.Read(ctx, first) {
		found, err := r.decode(ctx, line, err)
		if err != nil {
			return entry.Erasure{}, err
		}
		if err := e.visit(line, found); err != nil {
			return entry.Erasure{}, err
		}
	}
	if err := l.removeTexts(ctx, r, e.changed); err != nil {
		return entry.Erasure{}, err
	}
	_, err = do(ctx, r.store, "Replace", func(ctx context.Context) (struct{}, error) { return struct{}{}, store.Replace(ctx, e.lines...) })
	if err != nil {
		return entry.Erasure{}, err
	}
	if err := l.reload(ctx, r, end); err != nil {
		return entry.Erasure{}, err
	}
	if err := l.writeTexts(ctx, r, e.changed, nil); err != nil {
		return entry.Erasure{}, err
	}
	_, err = l.add(ctx, []entry.Entry{{Body: e.erasure}}, false)
	return e.erasure, err
}

// Remove removes the session with everything in it from its store, and closes it. See history.Session.Remove.
func (l *Log) Remove(ctx context.Context) error {
	if err := l.begins(ctx); err != nil {
		return err
	}
	defer l.writing.Release()
	r, _, _, err := l.State()
	if err != nil {
		return err
	}
	store, ok := unwrapped(r.store).(storage.Eraser)
	if !ok {
		return ErrNotErasable
	}
	_, err = do(ctx, r.store, "Remove", func(ctx context.Context) (struct{}, error) { return struct{}{}, store.Remove(ctx) })
	if err != nil {
		return err
	}
	r.cache.forget(r.Key)
	l.mu.Lock()
	l.closed, l.path = true, Path{}
	l.mu.Unlock()
	l.claims.end()
	return nil
}

// eraser walks through the entries that follow erased ones.
type eraser struct {
	erasure entry.Erasure
	below   []map[string]bool // for each entry, the ids of its descendants and its own
	copies  *entry.Copies
	lines   []storage.Stored
	changed []entry.Entry // those of the lines
}

func (e *eraser) visit(line storage.Stored, found entry.Entry) error {
	after, covered := false, false
	for i, id := range e.erasure.Entries {
		below := e.below[i]
		if below[found.Parent] {
			below[found.ID] = true
		}
		if !below[found.ID] {
			b, ok := found.Body.(entry.BranchSummary)
			after = after || ok && below[b.From]
			covered = covered || ok && below[b.From]
			continue
		}
		after = after || found.ID != id
		switch b := found.Body.(type) {
		case entry.Compaction: // it covers what is erased, unless it keeps that
			cut := b.Boundary()
			covered = covered || found.ID != id && (cut == "" || below[cut] && (cut != id || b.FirstKept == ""))
		case entry.BranchSummary:
			covered = covered || found.ID != id && below[b.From] && !below[found.Parent]
		}
	}
	was := found.Body
	if c, ok := was.(entry.Compaction); ok && c.Checkpoints != "" {
		defer func() {
			e := &e.erasure
			listed := slices.Contains(slices.Concat(e.Entries, e.Copies, e.Summaries), found.ID)
			if listed && !slices.Contains(e.Folders, c.Checkpoints) {
				e.Folders = append(e.Folders, c.Checkpoints)
			}
		}()
	}
	switch {
	case slices.Contains(e.erasure.Entries, found.ID):
		found.Body = entry.Erased(was)
	case after:
		if covered {
			e.erasure.Summaries = append(e.erasure.Summaries, found.ID)
		}
		changed := false
		if found.Body, changed = e.copies.Without(was); !changed {
			return nil
		}
		e.erasure.Copies = append(e.erasure.Copies, found.ID)
	default:
		return nil
	}
	data, err := found.Encode()
	if err == nil && len(data) > len(line.Data) { // the old line was written in a shorter form
		err = fmt.Errorf("history: entry %q cannot be erased: the line that replaces it would be longer", found.ID)
	}
	if err != nil {
		return err
	}
	line.Data = data
	e.lines, e.changed = append(e.lines, line), append(e.changed, found)
	return nil
}
