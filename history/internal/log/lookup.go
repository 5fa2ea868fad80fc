package log

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// placed is an entry and its position.
type placed struct {
	entry entry.Entry
	at    storage.Position
}

// Resolve returns the entries that refs refer to and that are before a position, in order, with their nodes.
func (r *Reader) Resolve(ctx context.Context, before storage.Position, refs []entry.Ref) ([]Node, []entry.Entry, error) {
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
	nodes, entries := make([]Node, len(list)), make([]entry.Entry, len(list))
	for i, p := range list {
		nodes[i], entries[i] = newNode(p.entry, p.at), p.entry
	}
	return nodes, entries, nil
}

// pick returns the entries, by id, that are at their hinted positions, before a given one, if the store is a
// [storage.Picker] and can read them in one call.
func (r *Reader) pick(ctx context.Context, before storage.Position, refs []entry.Ref) (map[string]placed, error) {
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
func (r *Reader) search(ctx context.Context, before storage.Position, ids map[string]bool, found map[string]placed) error {
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
		if err != nil && lost == nil && line.At > 0 { // a log with a damaged header is only read to salvage it
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

// lookUp returns the entry that is referred to, and its position, if it is before a position.
func (r *Reader) lookUp(ctx context.Context, before storage.Position, ref entry.Ref) (entry.Entry, storage.Position, error) {
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
func (r *Reader) hinted(ctx context.Context, before storage.Position, ref entry.Ref) (placed, bool, error) {
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
