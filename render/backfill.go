package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// backfill puts pieces back that fit into the room that is left under limit, from the last one taken to the first, which
// is from the highest priority down. Each try goes back to the tree as it was before the piece went, and takes everything
// else out again that went then, so that what goes along with what is worked out anew; a try is kept where the piece is
// back, the exact count fits and no tool call or result has lost its other half. What was taken before, from the step base
// on, is as it was.
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
	left, halves, failed := f.count(f.root), unpaired(f.root.messages(latest)), -1
	for i := len(f.taken) - 1; i >= 0; i-- {
		room := limit - left
		if room <= 0 || ctx.Err() != nil {
			break
		}
		if f.taken[i].tokens > room {
			continue
		}
		back[i] = true
		failed = i
		if f.without(base, i, back) && f.count(f.root) <= limit {
			if now := unpaired(f.root.messages(latest)); now <= halves {
				left, halves, failed = f.count(f.root), now, -1
				continue
			}
		}
		back[i] = false
	}
	if failed >= 0 {
		f.without(base, failed, back)
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

// without takes out of the tree what was taken and is not back, from one piece on; none is back of those before. It tells
// whether all that is back is there, and stops where that piece is not.
func (f *fitting) without(base step, from int, back []bool) bool {
	f.rewind(base + step(from))
	first := f.taken[from].node
	for i := from; i < len(f.taken); i++ {
		t := f.taken[i]
		if back[i] || !t.node.attached() {
			continue
		}
		if !t.node.leaf() && !t.node.is(isChunk) && t.node.left > 0 {
			continue // it went because it was empty, and is not any more
		}
		f.now++
		f.remove(t.node, t.reason)
		if back[from] && !first.attached() {
			return false
		}
	}
	for i := from; i < len(f.taken); i++ {
		if back[i] && !f.taken[i].node.attached() {
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
