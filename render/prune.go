package render

import (
	"context"
	"slices"
	"sort"

	"github.com/promptree-go/promptree/elements"
)

// pruner takes pieces out of a tree, one after the other.
type pruner struct {
	counter
	root        *node
	strict      bool                      // what must stay together does, which in prompt-tsx it does not always
	breakpoints bool                      // there are cache breakpoints in the tree
	chunks      bool                      // there is a chunk in a legacy element, or around messages
	allPieces   int                       // that there have been
	grouped     int                       // elements of groups there have been, and calls linked to one
	held        bool                      // something is required
	groups      []group                   // by number, the first is none; found when the first piece goes
	numbers     map[*elements.Group]int32 // of groups
	members     []member                  // of all groups, in the order in which they go; the first is none
	going       []int32                   // the groups that are being taken out
	along       []int32                   // the members that go with them
	chooser     *node                     // in which the last choice was made
	priorities  []int                     // to sort candidates by
	now         step
	went        []*node    // what was taken out, in order; what stands in it is not listed
	lostCalls   []lostCall // in order
	goals       []goal     // in order
	recording   bool
	taken       []taking // what was chosen, in order, while recording
}

// lostCall is a tool call that a message lost.
type lostCall struct {
	message *node
	call    int // its place among the message's calls
}

func (c lostCall) unlinked() *unlinked { return &c.message.unlinked[c.call] }

// goal tells for which limit pieces go from a step on.
type goal struct {
	from  step
	limit int // its place among the limits
}

// wholePrompt is the limit that is the budget.
const wholePrompt = -1

// goFor has pieces go for another limit from now on.
func (p *pruner) goFor(limit int) { p.goals = append(p.goals, goal{p.now + 1, limit}) }

// goneFor tells for which limit pieces went at a step.
func (p *pruner) goneFor(at step) (limit int) {
	after := sort.Search(len(p.goals), func(i int) bool { return p.goals[i].from > at })
	if after == 0 {
		return wholePrompt
	}
	return p.goals[after-1].limit
}

// taking is one choice.
type taking struct {
	node   *node
	reason cause
	tokens int // that its pieces counted by themselves
}

// prune takes pieces out of container, one at a time, until its exact count is at most limit. It tells where nothing
// more may go, or nil once the container fits. Given the tree that is left, what goes next is chosen thus:
//
//  1. From container down, the child with the lowest priority is chosen, and among its children again, until something
//     is found that goes as a whole: a piece of text, a part, a [elements.Chunk], or an element without children.
//  2. A priority that is not set is the highest. Text, line breaks and opaque values take that of the element they
//     stand in. An element that passes its priority on has 0 where its own is not set.
//  3. Among children of one priority the one goes whose own children hold the lowest: for a piece of text or a part
//     that is -1; for an element the lowest of its direct children's priorities, the highest where it has none. Among
//     equals there too, the earlier.
//  4. The children of an element with PassPriority compete in its place; a LegacyPrioritization with it has lost its own
//     rule. On messages and chunks it does nothing.
//  5. In a LegacyPrioritization the piece with the lowest priority goes, wherever it stands in it, the first among equals;
//     in a chunk with the whole chunk.
//  6. Where the choice is among messages, or directly in one, candidates before the last cache breakpoint among them
//     are passed over, and the breakpoint itself; an element holds a breakpoint where a message in it does. A chosen
//     candidate with nothing to give is an error, even where its siblings could give.
//  7. Required pieces are passed over, and so is what holds nothing else ([lock] says what is required).
//  8. An element in which only white space is left goes too, and the white space with it. So does a message, unless it
//     still calls tools.
//  9. With an element of a group ([elements.KeepWith]) in what went, or a call linked to one, all elements of the group go,
//     wherever they stand, and the tool calls linked to it; and what they leave empty, and the groups in that, in turn.
//  10. With a message in a chunk, taken out for a limit in there or with a group, the whole chunk goes.
//
// The rules but 7 are those of @vscode/prompt-tsx 0.4, with these exceptions where [Options.Lenient] is not set: there a Chunk
// with PassPriority has lost its own rule, a LegacyPrioritization takes a chunk apart, a call that goes leaves its group, and
// rule 10 is missing.
func (p *pruner) prune(ctx context.Context, container *node, limit int) (stuck *node) {
	p.ahead(ctx, container, limit)
	for ctx.Err() == nil && !p.gone(container) && p.over(container, limit) {
		if stuck := p.removeLowest(container); stuck != nil {
			return stuck
		}
	}
	return nil
}

// removeLowest takes one piece out, or tells in which node there was none to take.
func (p *pruner) removeLowest(n *node) (stuck *node) {
	for {
		var next *node
		p.chooser = n
		if n.is(isLegacy) {
			next = p.wholeOf(p.lowestPiece(n), n)
		} else {
			next = p.lowestChild(n)
		}
		switch {
		case next == nil:
			return n
		case next.leaf(), next.is(isOneText) && !next.held && !p.recording, next.left == 0:
			// An element of one text is empty without it, and goes with it. Backfill must know which of them was chosen.
			p.take(next, byPriority)
			return nil
		case next.is(isChunk):
			p.take(next, byChunk)
			return nil
		}
		n = next
	}
}

// take takes out what was chosen, as a step of its own.
func (p *pruner) take(n *node, why cause) {
	p.now++
	if p.recording {
		t := taking{node: n, reason: why}
		n.walk(latest, func(n *node) {
			if n.leaf() {
				t.tokens += p.ownTokens(n)
			}
		})
		p.taken = append(p.taken, t)
	}
	p.remove(n, why)
}

// rewind makes the tree what it was after a step.
func (p *pruner) rewind(at step) {
	from, fromCalls := len(p.went), len(p.lostCalls)
	for from > 0 && p.went[from-1].gone > at {
		from--
	}
	for fromCalls > 0 && p.lostCalls[fromCalls-1].unlinked().gone > at {
		fromCalls--
	}
	var around lineage
	for _, n := range p.went[from:] {
		if n.leaf() {
			around.add(n.parent)
		} else {
			around.add(n)
		}
	}
	for _, c := range p.lostCalls[fromCalls:] {
		around.add(c.message)
	}
	around.apart()
	for _, c := range p.lostCalls[fromCalls:] {
		*c.unlinked() = unlinked{}
	}
	for _, n := range p.went[from:] {
		n.gone, n.cause = 0, 0
		n.parent.regain(n)
		if n.kind == breakpoint {
			n.lend(1)
		}
	}
	around.settle()
	p.now, p.went, p.lostCalls = at, p.went[:from], p.lostCalls[:fromCalls]
}

// lineage is elements and what they stand in, each once, and before what stands in it.
type lineage []*node

func (l *lineage) add(n *node) {
	from := len(*l)
	for ; n != nil && !n.seen; n = n.parent {
		n.seen = true
		*l = append(*l, n)
	}
	slices.Reverse((*l)[from:])
}

// take gives them, and begins anew.
func (l *lineage) take() []*node {
	list := *l
	for _, n := range list {
		n.seen = false
	}
	*l = list[:0]
	return list
}

// apart takes off the breakpoints that they have by each other, before any of them changes.
func (l *lineage) apart() {
	for _, n := range *l {
		n.lend(-1)
	}
}

// settle works out what follows from which children of theirs are there, and begins anew.
func (l *lineage) settle() {
	for _, n := range slices.Backward(l.take()) {
		n.resettle()
		n.lend(1)
	}
}

// lend adds the breakpoints that n has to those of what it stands in, or takes them off.
func (n *node) lend(sign int32) {
	if n.parent != nil && n.gone == 0 {
		n.parent.addBreakpoints(sign * n.holdsBreakpoints(n.parent))
	}
}

// remove takes n out, and with it what it leaves behind without reason to stay (rules 8 and 9).
func (p *pruner) remove(n *node, why cause) {
	parent := n.parent
	if parent == nil || n.gone != 0 {
		return
	}
	if p.grouped > 0 && p.groups == nil {
		p.findGroups()
	}
	chunk := p.chunkAround(n)
	lost := p.losing(n)
	n.gone, n.cause = p.now, why
	p.went = append(p.went, n)
	parent.lose(n)
	if parent.ranks != nil {
		parent.ranks.lose(parent, n)
	}
	parent.loseBreakpoints(n.holdsBreakpoints(parent))
	p.lost(n, lost)
	p.loseSolid(parent, n)
	p.removeGroups(n)
	if parent.empty() && !parent.held { // what is held keeps its white space
		p.remove(parent, byEmptiness)
	}
	if chunk != nil && !chunk.held {
		p.remove(chunk, byChunk)
	}
}

// gone reports whether a container went with the chunk that it stands in. In prompt-tsx pruning goes on in one that is gone.
func (p *pruner) gone(container *node) bool { return p.strict && p.chunks && !container.attached() }

// holdsMessage reports whether n is a message or one is left in it.
func (n *node) holdsMessage() bool {
	if n.kind == message || n.is(isBlock) {
		return true
	}
	for i := n.nextAt(0, latest); i < len(n.children); i = n.nextAt(i+1, latest) {
		if c := &n.children[i]; !c.leaf() && c.holdsMessage() {
			return true
		}
	}
	return false
}

// wholeOf returns the outermost chunk in a legacy element in which a piece of it stands, or the piece.
func (p *pruner) wholeOf(piece, legacy *node) *node {
	if p.strict && p.chunks && piece != nil {
		for up := piece.parent; up != legacy; up = up.parent {
			if up.is(isChunk) {
				piece = up
			}
		}
	}
	return piece
}

// chunkAround returns the outermost chunk around what is or holds messages, nil if there is none.
func (p *pruner) chunkAround(n *node) (chunk *node) {
	if !p.strict || !p.chunks || n.leaf() || !n.holdsMessage() {
		return nil
	}
	for up := n.parent; up != nil; up = up.parent {
		switch {
		case up.kind == message:
			return nil
		case up.is(isChunk):
			chunk = up
		}
	}
	return chunk
}

// loseBreakpoints takes note that so many that n counted are gone.
func (n *node) loseBreakpoints(gone int32) {
	if gone == 0 {
		return
	}
	before := int32(0)
	if n.parent != nil {
		before = n.holdsBreakpoints(n.parent)
	}
	n.breakpoints -= gone
	if n.parent != nil && n.gone == 0 {
		n.parent.loseBreakpoints(before - n.holdsBreakpoints(n.parent))
	}
}

// loseSolid takes note that there is nothing but white space in a child of n, if anything. Where n was not known to hold more
// because of this child, nothing follows.
func (p *pruner) loseSolid(n, child *node) {
	if n.solid != child.index+1 {
		return
	}
	if n.solid = n.solidBeside(int(child.index)); n.empty() {
		p.hollowed(n)
	}
}

// hollowed takes note that nothing but white space is left in n.
func (p *pruner) hollowed(n *node) {
	if n.gone != 0 {
		return
	}
	p.tagGoes(n)
	if n.parent != nil {
		p.loseSolid(n.parent, n)
	}
}

// group is its first and its last member, by their places.
type group struct {
	first, last int32
	going       bool // it is being taken out
}

// member is an element of a group, or a message that makes a call linked to it.
type member struct {
	node *node
	call int32 // its place among the message's calls, from 1; 0 for an element
	next int32 // the place of the next member of the group; 0 for none
}

// findGroups lists the members of all groups, gone or not. What goes in a group can take neighbours along, so the order in
// which its members go matters; it is prompt-tsx's, from the last to the first, what holds others before them.
func (p *pruner) findGroups() {
	const few = 4 // members in a group, as a guess
	p.numbers = make(map[*elements.Group]int32, p.grouped/few)
	p.groups = make([]group, 1, 1+p.grouped/few)
	p.members = make([]member, 1, 1+p.grouped)
	add := func(key *elements.Group, n *node, call int) (number int32) {
		number = p.numbers[key]
		if number == 0 {
			number = int32(len(p.groups))
			p.numbers[key] = number
			p.groups = append(p.groups, group{first: int32(len(p.members))})
		}
		g := &p.groups[number]
		if g.last != 0 {
			p.members[g.last].next = int32(len(p.members))
		}
		g.last = int32(len(p.members))
		p.members = append(p.members, member{node: n, call: int32(call)})
		return number
	}
	var walk func(n *node)
	walk = func(n *node) {
		if n.is(isGrouped) {
			n.number = add(n.with, n, 0)
		}
		if n.kind == message {
			for i, c := range n.more().calls {
				if c.KeepWith != nil {
					add(c.KeepWith, n, i+1)
				}
			}
		}
		if n.is(isOneText) {
			return
		}
		for i := len(n.children) - 1; i >= 0; i-- {
			if c := &n.children[i]; !c.leaf() && c.gone != never {
				walk(c)
			}
		}
	}
	walk(p.root)
}

// removeGroups takes out the groups of which an element stood in what went.
func (p *pruner) removeGroups(gone *node) {
	if p.grouped == 0 {
		return
	}
	from, first := len(p.going), len(p.along)
	p.collectGroups(gone)
	groups := p.going[from:]
	for _, g := range groups {
		for i := p.groups[g].first; i != 0; i = p.members[i].next {
			p.along = append(p.along, i)
		}
	}
	if len(groups) > 1 {
		slices.Sort(p.along[first:])
	}
	p.removeMembers(p.along[first:])
	for _, g := range groups {
		p.groups[g].going = false
	}
	p.going, p.along = p.going[:from], p.along[:first]
}

// collectGroups notes the groups of which an element stands in n, or to which a call in it is linked, and which are not being
// taken out yet.
func (p *pruner) collectGroups(n *node) {
	note := func(number int32) {
		if g := &p.groups[number]; number != 0 && !g.going {
			g.going = true
			p.going = append(p.going, number)
		}
	}
	if n.is(isGrouped) {
		note(n.number)
	}
	if p.strict && n.kind == message {
		for _, c := range n.callsAt(latest) {
			note(p.numbers[c.KeepWith])
		}
	}
	if n.is(isOneText) {
		return
	}
	for i := n.nextAt(0, latest); i < len(n.children); i = n.nextAt(i+1, latest) {
		if c := &n.children[i]; !c.leaf() {
			p.collectGroups(c)
		}
	}
}

// removeMembers takes out members of groups. The calls of one message stand together among them.
func (p *pruner) removeMembers(places []int32) {
	for len(places) > 0 {
		m, calls := p.members[places[0]], 0
		for calls < len(places) && p.members[places[calls]].node == m.node && p.members[places[calls]].call > 0 {
			calls++
		}
		switch {
		case !m.node.attached():
		case calls > 0:
			p.unlink(m.node, places[:calls])
		default:
			p.remove(m.node, byGroup)
		}
		places = places[max(1, calls):]
	}
}

// unlink takes tool calls out of a message.
func (p *pruner) unlink(n *node, members []int32) {
	calls, before := n.more().calls, n.calling
	if n.unlinked == nil {
		n.working().unlinked = make([]unlinked, len(calls))
	}
	for _, m := range members {
		c := lostCall{n, int(p.members[m].call) - 1}
		if c.unlinked().gone != 0 {
			continue
		}
		c.unlinked().drop = drop{p.now, byGroup}
		n.calling--
		p.lostCalls = append(p.lostCalls, c)
		p.unlinked(n, calls[c.call])
	}
	if n.calling < before && n.empty() {
		p.hollowed(n)
		if !n.held {
			p.remove(n, byEmptiness)
		}
	}
}
