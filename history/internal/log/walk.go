package log

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// step is an entry on the way back to the root: a node of the path, or a line.
type step struct {
	id   string
	at   storage.Position
	node Node
	line storage.Stored
}

// back returns the nodes of a path from its end to the root, with their lines if those had to be read. All are before a
// position.
func (r *Reader) back(ctx context.Context, p Path, before storage.Position) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		for _, n := range slices.Backward(p.Nodes) {
			if !yield(step{id: n.ID, at: n.At, node: n}, nil) {
				return
			}
		}
		if p.whole() {
			return
		}
		if len(p.Nodes) > 0 {
			before = p.Nodes[0].At
		}
		child := len(p.Nodes) > 0 // there is a node whose parent comes next
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

// entry returns the entry of a step. It must be called before the next step is requested.
func (r *Reader) entry(ctx context.Context, s step) (entry.Entry, error) {
	if s.node.ID != "" {
		return r.load(ctx, s.node)
	}
	return r.decode(ctx, s.line, nil)
}

// since returns the nodes of a path after the step last, in order.
func (r *Reader) since(ctx context.Context, p Path, before storage.Position, last func(step) bool) ([]Node, error) {
	var nodes []Node
	for s, err := range r.back(ctx, p, before) {
		if err != nil {
			return nil, err
		}
		if last(s) {
			break
		}
		nodes = append(nodes, Node{ID: s.id, At: s.at})
	}
	slices.Reverse(nodes)
	return nodes, nil
}
