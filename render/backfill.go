package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// recording lists the pieces that were chosen, in order, so that they can be put back.
type recording struct{ removals []removal }

// removal is one choice.
type removal struct {
	node   tree.ID
	why    tree.Cause
	tokens int // of its pieces by themselves
}

// backfill puts back pieces that fit under limit, from the last one removed to the first, which is from the highest
// priority down. For each try it rewinds to before the piece was removed, and removes the others again, because what is
// removed along with each of them may differ now. A try is kept if the piece is back, the exact count fits, and the
// number of tool calls without a result and of results without a call did not grow.
func (f *fitting) backfill(ctx context.Context, limit int) {
	removals := f.recording.removals
	f.recording = nil
	if len(removals) == 0 {
		return
	}
	base := f.state.Now - tree.Step(len(removals))
	log := slices.Clone(f.state.Log)
	back := make([]bool, len(removals))
	pairless := func() int { return unpaired(join.Messages(f.state, tree.Latest)) }
	left, allowed, failed := f.count.Count(tree.Root), pairless(), -1
	for i, t := range slices.Backward(removals) {
		room := limit - left
		if room <= 0 || ctx.Err() != nil {
			break
		}
		if t.tokens > room {
			continue
		}
		back[i] = true
		failed = i
		if f.without(base, removals, i, back) && f.count.Count(tree.Root) <= limit {
			if now := pairless(); now <= allowed {
				left, allowed, failed = f.count.Count(tree.Root), now, -1
				continue
			}
		}
		back[i] = false
	}
	if failed >= 0 {
		f.without(base, removals, failed, back)
	}
	for _, c := range log {
		f.state.Restored(c)
	}
}

// without rewinds to before the removal with index from, and repeats that removal and the later ones, except those of
// pieces that are back. No piece with an earlier removal is back. It reports whether everything that is back is in the
// tree, and stops as soon as piece from is not.
func (f *fitting) without(base tree.Step, removals []removal, from int, back []bool) bool {
	f.rewind(base + tree.Step(from))
	there := func(i int) bool { return f.state.Attached(removals[i].node, tree.None) }
	for i := from; i < len(removals); i++ {
		t := removals[i]
		if back[i] || !there(i) {
			continue
		}
		if n := &f.state.Tree.Nodes[t.node]; !n.Leaf() && !n.Is(tree.Chunk) && f.state.Left(t.node) > 0 {
			continue // it was removed because it was empty, and is not empty any more
		}
		f.order.Remove(t.node, t.why)
		if back[from] && !there(from) {
			return false
		}
	}
	for i := from; i < len(removals); i++ {
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
