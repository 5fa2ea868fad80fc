package render

import (
	"context"
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// backfill puts back pieces that fit under limit, from the last one removed to the first, which is from the highest
// priority down. With a piece comes back what was removed along with it, the elements around it that were removed
// because they were empty, and the groups of these. It is put back if all of that can be, if the exact count fits, and
// if the number of tool calls without a result and of results without a call does not grow.
func (f *fitting) backfill(ctx context.Context, limit int) {
	chosen := f.recording.tokens
	f.recording = nil
	if len(chosen) == 0 {
		return
	}
	b := newFiller(f, limit, f.state.Now-tree.Step(len(chosen)))
	for i := len(chosen) - 1; i >= 0 && b.taken.low < limit && b.misses < maxMisses && ctx.Err() == nil; i-- {
		if b.taken.low+chosen[i] <= limit {
			b.try(b.base + tree.Step(i) + 1)
		}
	}
	for len(b.uncounted) > 0 && f.count.Count(tree.Root) > limit { // an estimate was too low
		b.remove(b.uncounted[len(b.uncounted)-1])
		b.uncounted = b.uncounted[:len(b.uncounted)-1]
	}
	f.state.ForgetRestored()
	f.count.Restored(nil)
}

// filler puts pieces back.
type filler struct {
	*fitting
	limit     int
	base      tree.Step       // the last step of the limits
	steps     [][]tree.Change // the removals of each step after base
	groups    map[*elements.Group][]tree.Change
	taken     tokenRange     // by the prompt
	uncounted [][]restored   // what was put back since the prompt was counted
	balance   map[string]int // by the id of a tool call: how often it is sent, less its results
	unpaired  int            // calls without a result, and results without a call
	misses    int            // pieces that were counted and did not fit
}

// restored is a removal that was undone.
type restored struct {
	tree.Change
	was tree.Drop
}

// tokenRange is an estimate. A prompt is counted only if its range does not say whether a piece fits, because a count is
// a pass over the tree.
type tokenRange struct{ low, high int }

func (r tokenRange) plus(s tokenRange) tokenRange {
	return tokenRange{r.low + s.low, min(unknown, r.high+s.high)}
}

// unknown is the upper end of a range that is not known.
const unknown = math.MaxInt32 / 2

// maxMisses is the number of pieces that are counted and do not fit, after which no other is tried: each costs two counts
// of its message.
const maxMisses = 100

func newFiller(f *fitting, limit int, base tree.Step) *filler {
	tokens := f.count.Count(tree.Root)
	b := &filler{fitting: f, limit: limit, base: base, taken: tokenRange{tokens, tokens}, balance: map[string]int{}}
	b.steps = make([][]tree.Change, f.state.Now-base)
	for i, c := range f.state.Log {
		if at := f.state.LogStep(i) - base; at > 0 {
			b.steps[at-1] = append(b.steps[at-1], c)
		}
	}
	b.pair(b.messagesIn(tree.Root), 1)
	return b
}

// try puts back what was removed in a step, if it fits.
func (b *filler) try(step tree.Step) {
	changes, possible := b.plan(step)
	if !possible {
		return
	}
	var messages []tree.ID
	for _, c := range changes {
		messages = append(messages, b.messagesIn(c.Node)...)
	}
	slices.Sort(messages)
	messages = slices.Compact(messages)

	unpaired, before, blank, was := b.unpaired, b.taken, false, make([]restored, len(changes))
	b.pair(messages, -1)
	for i, c := range changes {
		was[i] = restored{c, b.state.PutBack(c)}
	}
	for _, r := range was { // it would be removed again
		blank = blank || r.was.Cause == tree.ByEmptiness && b.state.Blank(r.Node)
	}
	b.count.Restored(changes)
	b.pair(messages, 1)
	b.taken = before.plus(b.tokensOf(was))
	switch {
	case blank || b.unpaired > unpaired || b.taken.low > b.limit:
	case b.taken.high <= b.limit:
		b.uncounted = append(b.uncounted, was)
		return
	default:
		if b.recount(); b.taken.high <= b.limit {
			return
		}
		b.misses++
	}
	b.pair(messages, -1)
	b.remove(was)
	b.pair(messages, 1)
	if b.taken = before; b.taken.low < b.taken.high {
		b.recount()
	}
}

// recount counts the prompt.
func (b *filler) recount() {
	tokens := b.count.Count(tree.Root)
	b.taken = tokenRange{tokens, tokens}
	if tokens <= b.limit {
		b.uncounted = nil
	}
}

// remove removes again what was put back.
func (b *filler) remove(back []restored) {
	changes := make([]tree.Change, 0, len(back))
	for _, r := range slices.Backward(back) {
		b.state.RemoveAgain(r.Change, r.was)
		changes = append(changes, r.Change)
	}
	b.count.Restored(changes)
}

// plan lists what must come back with the removals of a step. It reports false if something of it cannot, because it is
// in something that was removed for another reason than that it was empty.
func (b *filler) plan(step tree.Step) (changes []tree.Change, possible bool) {
	changes = slices.Clone(b.steps[step-b.base-1])
	planned := map[tree.Change]bool{}
	for _, c := range changes {
		planned[c] = true
	}
	add := func(c tree.Change, drop tree.Drop) bool {
		if drop.Step == 0 || planned[c] {
			return true
		}
		planned[c] = true
		changes = append(changes, c)
		return drop.Step > b.base && drop.Cause != tree.ByPriority && drop.Cause != tree.ByChunk
	}
	for i := 0; i < len(changes); i++ {
		c := changes[i]
		up := c.Node
		if c.Call < 0 {
			up = b.state.Tree.Nodes[up].Parent
		}
		for ; up != tree.None; up = b.state.Tree.Nodes[up].Parent {
			if drop := b.state.Drop(up); !add(tree.Change{Node: up, Call: -1}, drop) || drop.Step > 0 && drop.Step != step && drop.Cause != tree.ByEmptiness {
				return nil, false
			}
		}
		group := b.state.Tree.GroupOf(c.Node)
		if c.Call >= 0 {
			group = b.state.Tree.Extra(c.Node).Calls[c.Call].KeepWith
		}
		if group == nil {
			continue
		}
		for _, member := range b.members(group) {
			drop := b.state.Drop(member.Node)
			if member.Call >= 0 {
				drop = b.state.CallDrop(member.Node, int(member.Call))
			}
			if !add(member, drop) {
				return nil, false
			}
		}
	}
	return changes, true
}

// members returns the elements of a group, and the calls that are linked to it.
func (b *filler) members(g *elements.Group) []tree.Change {
	if b.groups == nil {
		b.groups = map[*elements.Group][]tree.Change{}
		for n := range tree.ID(len(b.state.Tree.Nodes)) {
			if g := b.state.Tree.GroupOf(n); g != nil {
				b.groups[g] = append(b.groups[g], tree.Change{Node: n, Call: -1})
			}
			for i, c := range b.state.Tree.Extra(n).Calls {
				if c.KeepWith != nil {
					b.groups[c.KeepWith] = append(b.groups[c.KeepWith], tree.Change{Node: n, Call: int32(i)})
				}
			}
		}
	}
	return b.groups[g]
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

// tokensOf estimates how many tokens the prompt takes for what was put back.
func (b *filler) tokensOf(back []restored) (all tokenRange) {
	counted := map[tree.ID]bool{}
	add := func(n tree.ID) {
		if !counted[n] {
			all, counted[n] = all.plus(b.own(n)), true
		}
	}
	for _, r := range back {
		switch {
		case r.Call >= 0 && !counted[r.Node]:
			all.high = unknown
		case r.Call >= 0: // with its message
		case r.was.Cause == tree.ByEmptiness:
			add(r.Node)
		default:
			b.state.At(tree.Latest).Walk(r.Node, add)
		}
	}
	if !b.count.Joins() {
		all.high = unknown
	}
	return all
}

// own estimates the tokens of a node without those in it. The upper end is what [chat.Tokenizer] promises.
func (b *filler) own(n tree.ID) tokenRange {
	low, tokens := 0, 0
	switch node, extra := &b.state.Tree.Nodes[n], b.state.Tree.Extra(n); {
	case node.Kind == tree.Message:
		tokens = b.layout.layouter.Tokenizer.CountMessage(join.Frame(b.state.At(tree.Latest), n))
		low = tokens - 1 // its first text has no line break before it
	case node.Kind == tree.Finished:
		return tokenRange{extra.Block.Tokens, extra.Block.Tokens}
	case node.Kind == tree.Text:
		low, tokens = b.count.Fewest(n), b.count.PieceWithBreak(n)
	case node.Leaf():
		return tokenRange{extra.Tokens, unknown}
	case extra.Tag != nil:
		low, tokens = extra.Tag.Tokens(), extra.Tag.InMessage()
	default:
		return tokenRange{}
	}
	return tokenRange{low, tokens + tokens/2 + 8}
}
