package log

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// Located is an entry with its position in the store.
type Located struct {
	entry.Entry
	At storage.Position
}

// Resolve returns the entries that refs refer to and that are before a position, in order, with their nodes.
func (r *Reader) Resolve(ctx context.Context, before storage.Position, refs []entry.Ref) ([]Node, []entry.Entry, error) {
	found, err := r.hinted(ctx, before, refs...)
	if err != nil {
		return nil, nil, err
	}
	elsewhere := map[string]bool{}
	for _, ref := range refs {
		if _, ok := found[ref.ID]; !ok && ref.ID != "" {
			elsewhere[ref.ID] = true
		}
	}
	if err := r.search(ctx, before, elsewhere, found); err != nil {
		return nil, nil, err
	}
	list := slices.SortedFunc(maps.Values(found), func(a, b Located) int { return cmp.Compare(a.At, b.At) })
	nodes, entries := make([]Node, len(list)), make([]entry.Entry, len(list))
	for i, e := range list {
		nodes[i], entries[i] = newNode(e.Entry, e.At), e.Entry
	}
	return nodes, entries, nil
}

// search looks for entries before a position in the whole store, in one pass. A line that cannot be read is an error if
// an entry is missing, because it may be that entry.
func (r *Reader) search(ctx context.Context, before storage.Position, ids map[string]bool, found map[string]Located) error {
	if len(ids) == 0 {
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
		found[line.ID] = Located{e, line.At}
		delete(ids, line.ID)
	}
	if len(ids) > 0 {
		return lost
	}
	return nil
}

// lookUp returns the entry that is referred to, and its position, if it is before a position.
func (r *Reader) lookUp(ctx context.Context, before storage.Position, ref entry.Ref) (entry.Entry, storage.Position, error) {
	if ref.ID == "" {
		return entry.Entry{}, 0, &storage.NoEntryError{ID: ref.ID}
	}
	if found, err := r.hinted(ctx, before, ref); err != nil || len(found) > 0 {
		return found[ref.ID].Entry, found[ref.ID].At, err
	}
	for line, err := range r.store.Back(ctx, before, ref.ID) {
		e, err := r.decode(ctx, line, err)
		return e, line.At, err
	}
	return entry.Entry{}, 0, &storage.NoEntryError{ID: ref.ID}
}

// hinted returns those of the entries that are referred to, by id, that are at their hinted places.
func (r *Reader) hinted(ctx context.Context, before storage.Position, refs ...entry.Ref) (map[string]Located, error) {
	found := map[string]Located{}
	ids := map[storage.Position]string{} // of those that must be read
	for _, ref := range refs {
		if _, known := found[ref.ID]; known || ref.ID == "" || ref.At <= 0 || ref.At >= before {
			continue
		}
		if e, ok := r.cached(ref.At); ok && e.ID == ref.ID {
			found[ref.ID] = Located{e, ref.At}
		} else {
			ids[ref.At] = ref.ID
		}
	}
	if len(ids) == 0 {
		return found, nil
	}
	for line, err := range r.pick(ctx, slices.Sorted(maps.Keys(ids))) {
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
		found[e.ID] = Located{e, line.At}
	}
	return found, nil
}

// pick returns the lines that start at positions, which are sorted: in one call if the store is a [storage.Picker].
func (r *Reader) pick(ctx context.Context, at []storage.Position) iter.Seq2[storage.Stored, error] {
	if g, ok := r.store.(guardedStore); ok {
		if picker, ok := g.Store.(storage.Picker); ok {
			return g.pick(ctx, picker, at)
		}
	}
	return func(yield func(storage.Stored, error) bool) {
		for _, at := range at {
			for line, err := range r.store.Read(ctx, at) {
				if err == nil && !yield(line, nil) {
					return
				}
				break
			}
		}
	}
}
