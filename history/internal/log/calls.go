package log

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/internal/kind"
)

// calls holds the open calls of the newest part of a path, so that each result that is added is checked without reading
// what was read for the one before it.
type calls struct {
	pairing chat.Pairing
	from    int    // index of the first node of the part, 0 if nothing before it counts
	nodes   int    // number of the path's nodes up to the end of the part
	last    string // id of the last of these
}

// isOpen reports whether a path has a call with an id and no result for it. It reads what the path has in addition, and
// twice as much of what is before as long as the call is not found.
func (c *calls) isOpen(ctx context.Context, r *Reader, p Path, id string) (bool, error) {
	if c.last == "" || c.nodes > len(p.Nodes) || p.Nodes[c.nodes-1].ID != c.last { // another path
		*c = calls{from: len(p.Nodes), nodes: len(p.Nodes)}
	}
	for {
		if err := c.read(ctx, r, p); err != nil {
			*c = calls{}
			return false, err
		}
		if c.from == 0 || c.pairing.IsOpen(id) {
			return c.pairing.IsOpen(id), nil
		}
		const first = 16
		from := max(0, c.from-max(first, c.nodes-c.from))
		*c = calls{from: from, nodes: from}
	}
}

// read reads the rest of a path.
func (c *calls) read(ctx context.Context, r *Reader, p Path) error {
	var said []Node
	for _, n := range p.Nodes[c.nodes:] {
		switch {
		case n.compaction != nil: // it has the calls that are open
			open := chat.Message{Role: chat.RoleAssistant}
			for _, id := range n.compaction.Retained.Calls {
				open.ToolCalls = append(open.ToolCalls, chat.ToolCall{ID: id})
			}
			c.pairing, c.from, said = chat.Pairing{}, 0, nil
			c.pairing.Add(open)
		case n.Kind == kind.Assistant || n.Kind == kind.Tool:
			said = append(said, n)
		}
	}
	for e, err := range r.entries(ctx, said, true) {
		if err != nil {
			return err
		}
		c.pairing.Add(e.Message())
	}
	c.nodes, c.last = len(p.Nodes), p.Last().ID
	return nil
}
