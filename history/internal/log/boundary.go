package log

import (
	"context"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// CheckBoundary returns the index of the entry at which a compaction cuts a path, -1 if it covers everything. The error
// is a [*entry.BoundaryError] if it cannot cut there.
func (r *Reader) CheckBoundary(ctx context.Context, p Path, before storage.Position, c entry.Compaction) (int, error) {
	id := c.Boundary()
	if id == "" {
		return -1, nil
	}
	i, reason, err := r.locate(ctx, p, before, id)
	if err != nil {
		return 0, err
	}
	if covered, _, last := p.Boundary(); reason == "" && p.Nodes[i].At < covered && id != last.Boundary() {
		reason = entry.BoundaryCovered
	}
	if reason != "" {
		return 0, &entry.BoundaryError{ID: id, Reason: reason}
	}
	return i, nil
}

// locate returns the index of an entry on the part of a path that the newest compaction left, or the reason why it is
// not there.
func (r *Reader) locate(ctx context.Context, p Path, before storage.Position, id string) (int, entry.BoundaryReason, error) {
	if i := p.Index(id); i >= 0 {
		return i, "", nil
	}
	if r.store == nil {
		return 0, entry.BoundaryMissing, nil
	}
	at := storage.Position(-1)
	for s, err := range r.store.Back(ctx, before, id) {
		if missing(err) {
			return 0, entry.BoundaryMissing, nil
		} else if err != nil {
			return 0, "", err
		}
		at = s.At
		break
	}
	for s, err := range r.back(ctx, p, before) {
		switch {
		case err != nil:
			return 0, "", err
		case s.at == at:
			return 0, entry.BoundaryCovered, nil
		case s.at < at:
			return 0, entry.BoundaryLeft, nil
		}
	}
	return 0, entry.BoundaryLeft, nil
}
