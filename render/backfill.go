package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// snapshot is a copy of a tree, and where each of its nodes has its copy.
type snapshot struct {
	root   *node
	copyOf map[*node]*node
}

func takeSnapshot(root *node) *snapshot {
	s := &snapshot{copyOf: map[*node]*node{}}
	s.root = s.copy(root, nil)
	return s
}

func (s *snapshot) copy(n, parent *node) *node {
	c := *n
	c.parent = parent
	s.copyOf[n] = &c
	c.all = make([]*node, len(n.all))
	for i, child := range n.all {
		c.all[i] = s.copy(child, &c)
	}
	c.children = make([]*node, len(n.children))
	for i, child := range n.children {
		c.children[i] = s.copyOf[child]
	}
	return &c
}

// backfill puts pieces back that fit into the room that is left under limit, from the last one taken to the first, which
// is from the highest priority down. Each try takes everything else out of a copy of the tree as it was before, so that
// what goes along with what is worked out anew; a try is kept where the piece is back, the exact count fits and no tool
// call or result has lost its other half.
func (f *fitting) backfill(ctx context.Context, pristine *snapshot, limit int) {
	taken := f.pruner.taken
	back := make([]bool, len(taken))
	halves := unpaired(f.root.messages())
	var filled *snapshot
	defer func() { markRestored(pristine, filled) }()
	for i, t := range slices.Backward(taken) {
		room := limit - f.count(f.root)
		if room <= 0 || ctx.Err() != nil {
			return
		}
		if t.tokens > room {
			continue
		}
		back[i] = true
		try, ok := f.without(pristine, taken, back)
		if ok && f.count(try.root) <= limit {
			if now := unpaired(try.root.messages()); now <= halves {
				f.root, filled, halves = try.root, try, now
				continue
			}
		}
		back[i] = false
	}
}

// without takes out of a copy of the tree what was taken and is not back. It tells whether all that is back is there.
func (f *fitting) without(pristine *snapshot, taken []taking, back []bool) (copied *snapshot, ok bool) {
	copied = takeSnapshot(pristine.root)
	in := func(n *node) *node { return copied.copyOf[pristine.copyOf[n]] }
	f.pruner.recording = false
	for i, t := range taken {
		n := in(t.node)
		if back[i] || !n.attached() {
			continue
		}
		if !n.leaf() && !n.chunk() && len(n.children) > 0 {
			continue // it went because it was empty, and is not any more
		}
		reason := ReasonPriority
		if !n.leaf() && n.chunk() {
			reason = ReasonChunk
		}
		f.pruner.remove(n, reason)
	}
	for i, t := range taken {
		if back[i] && !in(t.node).attached() {
			return nil, false
		}
	}
	return copied, true
}

// markRestored notes what was gone from the tree as it was pruned first and is there now.
func markRestored(pristine, filled *snapshot) {
	if filled == nil {
		return
	}
	for pruned, before := range pristine.copyOf {
		if now := filled.copyOf[before]; now.attached() && !pruned.attached() {
			now.restored = true
		}
	}
}

// unpaired counts tool calls without a result and results without a call.
func unpaired(messages []chat.Message) int {
	open := map[string]int{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			open[c.ID]++
		}
		if m.Role == chat.RoleTool {
			open[m.ToolCallID]--
		}
	}
	n := 0
	for _, balance := range open {
		n += max(balance, -balance)
	}
	return n
}
