package log

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// retainedAtCut returns what a compaction that is appended to a path and cuts at a position retains.
func (r *Reader) retainedAtCut(ctx context.Context, p Path, cut storage.Position) (entry.Retained, error) {
	c, err := r.Retained(ctx, p)
	if err != nil {
		return entry.Retained{}, err
	}
	start, err := r.TurnStart(ctx, p, cut)
	c.Start = r.ref(start)
	return c, err
}

// ref returns a reference to the entry of a node, without a position if it is not in the store yet.
func (r *Reader) ref(n Node) entry.Ref {
	if _, staged := r.staged[n.At]; staged {
		return entry.Ref{ID: n.ID}
	}
	return entry.Ref{ID: n.ID, At: n.At}
}

// TurnStart returns the node that starts the turn in which a path is cut, the zero value if the cut is between turns.
// The path is cut at the cut of its newest compaction or behind it.
func (r *Reader) TurnStart(ctx context.Context, p Path, cut storage.Position) (Node, error) {
	for _, n := range slices.Backward(p.Nodes) {
		if n.At <= cut && n.Kind.StartsTurn() {
			return n, nil
		}
	}
	if p.whole() {
		return Node{}, nil
	}
	if i := p.compaction(); i >= 0 {
		start := p.Nodes[i].compaction.Retained.Start
		if start.ID == "" {
			return Node{}, nil
		}
		e, at, err := r.lookUp(ctx, p.Nodes[0].At, start)
		if n := newNode(e, at); err == nil && n.Kind.StartsTurn() {
			return n, nil
		} else if err != nil && !missing(err) {
			return Node{}, err
		}
	}
	for s, err := range r.back(ctx, p.to(0), Anywhere) { // the start is unreadable, or Retained is wrong
		if err != nil {
			return Node{}, err
		}
		e, err := r.entry(ctx, s)
		if n := newNode(e, s.at); err != nil || n.Kind.StartsTurn() {
			return n, err
		}
	}
	return Node{}, nil
}

// Retained returns what a compaction appended to a path retains, wherever it cuts.
func (r *Reader) Retained(ctx context.Context, p Path) (entry.Retained, error) {
	c, nodes := collectorOf(entry.Retained{}, p), p.Nodes
	if i := p.compaction(); i >= 0 {
		c, nodes = collectorOf(nodes[i].compaction.Retained, p), nodes[i:]
	}
	list, err := r.List(ctx, nodes)
	if err != nil {
		return entry.Retained{}, err
	}
	for i, e := range list {
		c.add(e, nodes[i].Kind, r.ref(nodes[i]))
	}
	retained := bounded(c.Retained)
	retained.Lines, err = r.lines(ctx, p)
	return retained, err
}

// lines counts the lines of a store from the newest compaction on a path on, and adds the number before it, which the
// compaction holds.
func (r *Reader) lines(ctx context.Context, p Path) (int, error) {
	counter, ok := unwrapped(r.store).(storage.LineCounter)
	if !ok {
		return 0, nil
	}
	before, from := 0, storage.Position(0)
	for _, n := range slices.Backward(p.Nodes) {
		_, staged := r.staged[n.At]
		if c := n.compaction; c != nil && !staged && c.Retained.Lines > 0 {
			before, from = c.Retained.Lines, n.At
			break
		}
	}
	more, err := do(ctx, r.store, "Count", func(ctx context.Context) (int, error) { return counter.Count(ctx, from) })
	return before + more, err
}

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
		reason = BoundaryCovered
	}
	if reason != "" {
		return 0, &entry.BoundaryError{ID: id, Reason: reason}
	}
	return i, nil
}

// locate returns the index of an entry on the part of a path that the newest compaction left, or the reason why it is
// not there.
func (r *Reader) locate(ctx context.Context, p Path, before storage.Position, id string) (int, string, error) {
	if i := p.Index(id); i >= 0 {
		return i, "", nil
	}
	at := storage.Position(-1)
	for s, err := range r.store.Back(ctx, before, id) {
		if missing(err) {
			return 0, BoundaryMissing, nil
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
			return 0, BoundaryCovered, nil
		case s.at < at:
			return 0, BoundaryLeft, nil
		}
	}
	return 0, BoundaryLeft, nil
}
