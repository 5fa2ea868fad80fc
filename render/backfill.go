package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// backfill puts pieces back that fit into the room that is left under limit, from the last one taken to the first, which
// is from the highest priority down. Each try goes back to the tree as it was after the step base and takes everything
// else out again, so that what goes along with what is worked out anew; a try is kept where the piece is back, the exact
// count fits and no tool call or result has lost its other half.
func (f *fitting) backfill(ctx context.Context, base step, limit int) {
	var lost []bool // in the order of each
	lostCalls := map[*node][]unlinked{}
	f.each(func(n *node) {
		lost = append(lost, !n.attached())
		if n.unlinked != nil {
			lostCalls[n] = slices.Clone(n.unlinked)
		}
	})
	back := make([]bool, len(f.taken))
	left, halves, failed := f.count(f.root), unpaired(f.root.messages(latest)), false
	for i := len(f.taken) - 1; i >= 0; i-- {
		room := limit - left
		if room <= 0 || ctx.Err() != nil {
			break
		}
		if f.taken[i].tokens > room {
			continue
		}
		back[i] = true
		failed = true
		if f.without(base, back) && f.count(f.root) <= limit {
			if now := unpaired(f.root.messages(latest)); now <= halves {
				left, halves, failed = f.count(f.root), now, false
				continue
			}
		}
		back[i] = false
	}
	if failed {
		f.without(base, back)
	}
	i := 0
	f.each(func(n *node) {
		n.restored = lost[i] && n.attached()
		i++
	})
	for n, before := range lostCalls {
		for i := range before {
			n.unlinked[i].restored = before[i].gone != 0 && n.unlinked[i].gone == 0
		}
	}
}

// without takes out of the tree as it was after a step what was taken and is not back. It tells whether all that is back is
// there.
func (f *fitting) without(base step, back []bool) bool {
	f.rewind(base)
	for i, t := range f.taken {
		if back[i] || !t.node.attached() {
			continue
		}
		if !t.node.leaf() && !t.node.is(isChunk) && t.node.left > 0 {
			continue // it went because it was empty, and is not any more
		}
		f.now++
		f.remove(t.node, t.reason)
	}
	for i, t := range f.taken {
		if back[i] && !t.node.attached() {
			return false
		}
	}
	return true
}

// each visits every node that there was, gone or not.
func (f *fitting) each(visit func(*node)) {
	var walk func(n *node)
	walk = func(n *node) {
		visit(n)
		for i := range n.children {
			if c := &n.children[i]; c.gone != never {
				walk(c)
			}
		}
	}
	walk(f.root)
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
