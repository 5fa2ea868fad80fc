package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// backfill puts back pieces that fit under limit, from the last one removed after a step to the first, which is from the
// highest priority down. With a piece comes back what was removed along with it, the elements around it that were removed
// because they were empty, and the groups of these. It is put back if all of that can be, if the exact count fits, and
// if the number of tool calls without a result and of results without a call does not grow.
func (f *fitting) backfill(ctx context.Context, base tree.Step, limit int) {
	b := &filler{fitting: f, limit: limit, base: base, tokens: f.count.Count(tree.Root), balance: map[string]int{}}
	b.steps, b.fewest = make([][]tree.Change, f.state.Now-base), make([]int, f.state.Now-base+1)
	for i, c := range f.state.Log {
		if at := f.state.LogStep(i) - base; at > 0 {
			b.steps[at-1] = append(b.steps[at-1], c)
		}
	}
	for i, changes := range b.steps {
		b.fewest[i+1] = b.fewest[i] + b.fewestOf(changes[0].Node, base+tree.Step(i))
	}
	b.pair(b.messagesIn(tree.Root), 1)
	b.fill(ctx, 0, len(b.steps))
	f.state.ForgetRestored()
	f.count.Restored(nil)
}

// filler puts pieces back.
type filler struct {
	*fitting
	limit   int
	base    tree.Step       // the last step of the limits
	steps   [][]tree.Change // the removals of each step after base, that of the chosen node first
	fewest  []int           // by step, the fewest tokens of the nodes that were chosen before it
	tokens  int             // of the prompt
	balance map[string]int  // by the id of a tool call: how often it is sent, less its results

	unpaired int // calls without a result, and results without a call
	misses   int // pieces that were counted and did not fit
}

// restored is a removal that was undone.
type restored struct {
	tree.Change
	was tree.Drop
}

// maxMisses is the number of pieces that are counted and do not fit, after which no other is tried: each costs two counts
// of its message.
const maxMisses = 100

// fewestOf returns the fewest tokens of a chosen node, as it was after a step.
func (b *filler) fewestOf(n tree.ID, at tree.Step) int {
	switch node := &b.state.Tree.Nodes[n]; {
	case b.count.Joins() && node.Kind != tree.Part:
		return max(0, b.count.LowerBound(n, at))
	case node.Leaf():
		return b.count.Piece(n)
	}
	return 0
}

// fill puts back what was removed in the steps from one up to another: all of it if that fits, else what fits of the later
// half and then of the other.
func (b *filler) fill(ctx context.Context, from, to int) {
	if from == to || b.tokens >= b.limit || b.misses == maxMisses || ctx.Err() != nil {
		return
	}
	mayFit := b.tokens+b.fewest[to]-b.fewest[from] <= b.limit
	if mayFit {
		var back []restored
		for i := to; i > from; i-- {
			back = append(back, b.putBack(b.base+tree.Step(i))...)
		}
		if b.recount(back); b.tokens <= b.limit {
			return
		}
		b.remove(back)
		b.recount(back)
	}
	if to-from > 1 {
		middle := from + (to-from)/2
		b.fill(ctx, middle, to)
		b.fill(ctx, from, middle)
	} else if mayFit {
		b.misses++
	}
}

// recount counts the prompt after changes.
func (b *filler) recount(changed []restored) {
	changes := make([]tree.Change, len(changed))
	for i, r := range changed {
		changes[i] = r.Change
	}
	b.count.Restored(changes)
	b.tokens = b.count.Count(tree.Root)
}

// putBack puts back what was removed in a step, and returns it; nothing if it would be removed again, or leave a call
// without its result.
func (b *filler) putBack(step tree.Step) (back []restored) {
	changes, possible := b.plan(step)
	if !possible {
		return nil
	}
	messages, unpaired := b.messagesOf(changes), b.unpaired
	b.pair(messages, -1)
	for _, c := range changes {
		back = append(back, restored{c, b.state.PutBack(c)})
	}
	b.pair(messages, 1)
	blank := slices.ContainsFunc(back, func(r restored) bool { return r.was.Cause == tree.ByEmptiness && b.state.Blank(r.Node) })
	if blank || b.unpaired > unpaired {
		b.remove(back)
		return nil
	}
	return back
}

// remove removes again what was put back.
func (b *filler) remove(back []restored) {
	var changes []tree.Change
	for _, r := range back {
		changes = append(changes, r.Change)
	}
	messages := b.messagesOf(changes)
	b.pair(messages, -1)
	for _, r := range slices.Backward(back) {
		b.state.RemoveAgain(r.Change, r.was)
	}
	b.pair(messages, 1)
}

// plan lists what must come back with the removals of a step. It reports false if something of it cannot, because it is
// in something that was removed for another reason than that it was empty.
func (b *filler) plan(step tree.Step) (changes []tree.Change, possible bool) {
	changes = slices.Clone(b.steps[step-b.base-1])
	planned := map[tree.Change]bool{}
	for _, c := range changes {
		planned[c] = true
	}
	add := func(c tree.Change) bool {
		drop := b.state.DropOf(c)
		if drop.Step == 0 || planned[c] {
			return true
		}
		planned[c] = true
		changes = append(changes, c)
		return drop.Step > b.base && drop.Cause != tree.ByPriority && drop.Cause != tree.ByChunk
	}
	for i := 0; i < len(changes); i++ {
		c := changes[i]
		up, group := c.Node, b.state.Tree.GroupOf(c.Node)
		if c.Call < 0 {
			up = b.state.Tree.Nodes[up].Parent
		} else {
			group = b.state.Tree.Extra(c.Node).Calls[c.Call].KeepWith
		}
		for ; up != tree.None; up = b.state.Tree.Nodes[up].Parent {
			if drop := b.state.Drop(up); !add(tree.Change{Node: up, Call: -1}) || drop.Step > 0 && drop.Step != step && drop.Cause != tree.ByEmptiness {
				return nil, false
			}
		}
		if group != nil && slices.ContainsFunc(b.order.Members(group), func(c tree.Change) bool { return !add(c) }) {
			return nil, false
		}
	}
	return changes, true
}

// messagesOf returns the messages around changes, or in them, each once.
func (b *filler) messagesOf(changes []tree.Change) (list []tree.ID) {
	for _, c := range changes {
		list = append(list, b.messagesIn(c.Node)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// messagesIn returns the message around a node, or those in it.
func (b *filler) messagesIn(n tree.ID) (list []tree.ID) {
	t := b.state.Tree
	if m := t.MessageOf(n); m != tree.None {
		return []tree.ID{m}
	}
	for m := n; m < t.Nodes[n].End; m++ {
		if k := t.Nodes[m].Kind; k == tree.Message || k == tree.Finished {
			list = append(list, m)
		}
	}
	return list
}

// pair adds the calls and results of messages that are sent to the balance, or with -1 takes them out of it.
func (b *filler) pair(messages []tree.ID, by int) {
	add := func(id string, by int) {
		before := b.balance[id]
		b.balance[id] += by
		b.unpaired += max(before+by, -before-by) - max(before, -before)
	}
	for _, n := range messages {
		if !b.state.Attached(n, tree.None) || b.state.Blank(n) {
			continue
		}
		extra := b.state.Tree.Extra(n)
		sent := []chat.Message(nil)
		if extra.Block != nil {
			sent = extra.Block.Messages
		} else {
			sent = []chat.Message{join.Frame(b.state.At(tree.Latest), n)}
		}
		for _, m := range sent {
			for _, c := range m.ToolCalls {
				add(c.ID, by)
			}
			if m.Role == chat.RoleTool {
				add(m.ToolCallID, -by)
			}
		}
	}
}
