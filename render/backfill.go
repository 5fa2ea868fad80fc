package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// record is what was chosen, in order, so that it can be put back.
type record struct{ taken []taking }

// taking is one choice.
type taking struct {
	node   tree.ID
	why    tree.Cause
	tokens int // that its pieces counted by themselves
}

// backfill puts pieces back that fit into the room that is left under limit, from the last one taken to the first, which
// is from the highest priority down. Each try goes back to the tree as it was before the piece went, and takes everything
// else out again that went then, so that what goes along with what is worked out anew; a try is kept if the piece is
// back, the exact count fits and no more tool calls than before are without a result, or results without a call.
func (f *fitting) backfill(ctx context.Context, limit int) {
	taken := f.record.taken
	f.record = nil
	if len(taken) == 0 {
		return
	}
	base := f.state.Now - tree.Step(len(taken))
	log := slices.Clone(f.state.Log)
	back := make([]bool, len(taken))
	pairless := func() int { return unpaired(join.Messages(f.state, tree.Latest)) }
	left, allowed, failed := f.count.Count(tree.Root), pairless(), -1
	for i, t := range slices.Backward(taken) {
		room := limit - left
		if room <= 0 || ctx.Err() != nil {
			break
		}
		if t.tokens > room {
			continue
		}
		back[i] = true
		failed = i
		if f.without(base, taken, i, back) && f.count.Count(tree.Root) <= limit {
			if now := pairless(); now <= allowed {
				left, allowed, failed = f.count.Count(tree.Root), now, -1
				continue
			}
		}
		back[i] = false
	}
	if failed >= 0 {
		f.without(base, taken, failed, back)
	}
	for _, c := range log {
		f.state.Restored(c)
	}
}

// without takes out of the tree what was taken and is not back, from one piece on; none is back of those before. It reports
// whether all that is back is there, and stops if that piece is not.
func (f *fitting) without(base tree.Step, taken []taking, from int, back []bool) bool {
	f.rewind(base + tree.Step(from))
	there := func(i int) bool { return f.state.Attached(taken[i].node, tree.None) }
	for i := from; i < len(taken); i++ {
		t := taken[i]
		if back[i] || !there(i) {
			continue
		}
		if n := &f.state.Tree.Nodes[t.node]; !n.Leaf() && !n.Is(tree.Chunk) && f.state.Left(t.node) > 0 {
			continue // it went because it was empty, and is not any more
		}
		f.order.Remove(t.node, t.why)
		if back[from] && !there(from) {
			return false
		}
	}
	for i := from; i < len(taken); i++ {
		if back[i] && !there(i) {
			return false
		}
	}
	return true
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
