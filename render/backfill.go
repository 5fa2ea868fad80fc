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
	b := &filler{fitting: f, limit: limit, base: base, tokens: f.count.Count(tree.Root), balance: map[string]int{}, was: map[tree.Change]tree.Drop{}}
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
	base    tree.Step                 // the last step of the limits
	steps   [][]tree.Change           // the removals of each step after base, that of the chosen node first
	fewest  []int                     // by step, the fewest tokens of the nodes that were chosen before it
	tokens  int                       // of the prompt
	balance map[string]int            // by the id of a tool call: how often it is sent, less its results
	was     map[tree.Change]tree.Drop // of what was put back

	unpaired int // calls without a result, and results without a call
	misses   int // pieces that were counted and did not fit
}

// maxMisses is the number of pieces that are counted and do not fit, after which no other is tried: each costs two counts
// of its message.
const maxMisses = 100

// fewestOf returns the fewest tokens of a chosen node, as it was after a step.
func (f *filler) fewestOf(n tree.ID, at tree.Step) int {
	switch node := &f.state.Tree.Nodes[n]; {
	case f.count.Joins() && node.Kind != tree.Part:
		return max(0, f.count.LowerBound(n, at))
	case node.Leaf():
		return f.count.Piece(n)
	}
	return 0
}

// fill puts back what was removed in the steps from one up to another: all of it if that fits, else what fits of the later
// half and then of the other.
func (f *filler) fill(ctx context.Context, from, to int) {
	if from == to || f.tokens >= f.limit || f.misses == maxMisses || ctx.Err() != nil {
		return
	}
	mayFit := f.tokens+f.fewest[to]-f.fewest[from] <= f.limit
	if mayFit {
		var back []tree.Change
		for i := to; i > from; i-- {
			back = append(back, f.putBack(f.base+tree.Step(i))...)
		}
		if f.recount(back); f.tokens <= f.limit {
			return
		}
		f.remove(back)
		f.recount(back)
	}
	if to-from > 1 {
		middle := from + (to-from)/2
		f.fill(ctx, middle, to)
		f.fill(ctx, from, middle)
	} else if mayFit {
		f.misses++
	}
}

// recount counts the prompt after changes.
func (f *filler) recount(changes []tree.Change) {
	f.count.Restored(changes)
	f.tokens = f.count.Count(tree.Root)
}

// putBack puts back what was removed in a step, and returns it; nothing if it would be removed again, or leave a call
// without its result.
func (f *filler) putBack(step tree.Step) []tree.Change {
	changes, possible := f.plan(step)
	if !possible {
		return nil
	}
	messages, unpaired := f.messagesOf(changes), f.unpaired
	f.pair(messages, -1)
	for _, c := range changes {
		f.was[c] = f.state.PutBack(c)
	}
	f.pair(messages, 1)
	blank := slices.ContainsFunc(changes, func(c tree.Change) bool { return f.was[c].Cause == tree.ByEmptiness && f.state.Blank(c.Node) })
	if blank || f.unpaired > unpaired {
		f.remove(changes)
		return nil
	}
	return changes
}

// remove removes again what was put back.
func (f *filler) remove(back []tree.Change) {
	messages := f.messagesOf(back)
	f.pair(messages, -1)
	for _, c := range slices.Backward(back) {
		f.state.RemoveAgain(c, f.was[c])
	}
	f.pair(messages, 1)
}

// plan lists what must come back with the removals of a step. It reports false if something of it cannot, because it is
// in something that was removed for another reason than that it was empty.
func (f *filler) plan(step tree.Step) (changes []tree.Change, possible bool) {
	changes = slices.Clone(f.steps[step-f.base-1])
	planned := map[tree.Change]bool{}
	for _, c := range changes {
		planned[c] = true
	}
	add := func(c tree.Change) bool {
		drop := f.state.DropOf(c)
		if drop.Step == 0 || planned[c] {
			return true
		}
		planned[c] = true
		changes = append(changes, c)
		return drop.Step > f.base && drop.Cause != tree.ByPriority && drop.Cause != tree.ByChunk
	}
	for i := 0; i < len(changes); i++ {
		c := changes[i]
		up, group := c.Node, f.state.Tree.GroupOf(c.Node)
		if c.Call < 0 {
			up = f.state.Tree.Nodes[up].Parent
		} else {
			group = f.state.Tree.Extra(c.Node).Calls[c.Call].KeepWith
		}
		for ; up != tree.None; up = f.state.Tree.Nodes[up].Parent {
			if drop := f.state.Drop(up); !add(tree.Change{Node: up, Call: -1}) || drop.Step > 0 && drop.Step != step && drop.Cause != tree.ByEmptiness {
				return nil, false
			}
		}
		if group != nil && slices.ContainsFunc(f.order.Members(group), func(c tree.Change) bool { return !add(c) }) {
			return nil, false
		}
	}
	return changes, true
}

// messagesOf returns the messages around changes, or in them, each once.
func (f *filler) messagesOf(changes []tree.Change) (list []tree.ID) {
	for _, c := range changes {
		list = append(list, f.messagesIn(c.Node)...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// messagesIn returns the message around a node, or those in it.
func (f *filler) messagesIn(n tree.ID) (list []tree.ID) {
	t := f.state.Tree
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
func (f *filler) pair(messages []tree.ID, by int) {
	add := func(id string, by int) {
		before := f.balance[id]
		f.balance[id] += by
		f.unpaired += max(before+by, -before-by) - max(before, -before)
	}
	for _, n := range messages {
		if !f.state.Attached(n, tree.None) || f.state.Blank(n) {
			continue
		}
		extra := f.state.Tree.Extra(n)
		sent := []chat.Message(nil)
		if extra.Block != nil {
			sent = extra.Block.Messages
		} else {
			sent = []chat.Message{join.Frame(f.state.At(tree.Latest), n)}
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
