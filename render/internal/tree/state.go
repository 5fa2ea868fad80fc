package tree

import (
	"iter"
	"math"

	"github.com/promptree-go/promptree/elements"
)

// Step numbers the choices of a pruning, from 1. A node that went notes the step, so that the tree can be read as it was after any.
type Step int32

// Latest is the step at which the tree is as it is.
const Latest Step = math.MaxInt32

// Cause says why a node or a call went.
type Cause uint8

const (
	ByPriority Cause = iota + 1
	ByChunk
	ByGroup
	ByEmptiness
)

// Drop says when and why something went. The zero value is of something that is there.
type Drop struct {
	Step  Step
	Cause Cause
	// Restored reports that it went and was put back by backfill.
	Restored bool
}

// By reports whether it had gone by a step.
func (d Drop) By(at Step) bool { return d.Step != 0 && d.Step <= at }

// Change is something that went: a node with all that stands in it, or a call of a message.
type Change struct {
	Node ID
	Call int32 // index of the message's call, -1 for the node itself
}

// Listener is told of what changes while nodes go.
type Listener interface {
	// Going is called before a node goes.
	Going(n ID)
	// Gone is called after a node went.
	Gone(n ID)
	// Emptied is called for a node, still there, in which nothing but white space is left.
	Emptied(n ID)
	// CallGone is called after a message lost a call.
	CallGone(message ID, call int)
	// Back is called for a node that is there again, or a message that has a call again.
	Back(n ID)
}

// life is what changes of a node.
type life struct {
	next, previous, first, last ID // among siblings and children that are there
	left                        int32
	solid                       int32 // children that hold more than white space
	breakpoints                 int32 // of a message those in it, of an element messages with one
	calls                       int32 // of a message that are there
	drop                        Drop
}

// State is one pruning of a tree: what is left of it, and what went in which order.
type State struct {
	*Tree
	Now Step
	// Log lists what went, in order.
	Log []Change

	lives []life
	calls map[ID][]Drop // of messages that lost some
	hear  Listener
}

// NewState returns a tree of which nothing went. The listener may be nil.
func NewState(t *Tree, hear Listener) *State {
	s := &State{Tree: t, hear: hear, lives: make([]life, len(t.Nodes))}
	for i := range t.Nodes {
		s.lives[i] = life{next: None, previous: None, first: None, last: None}
	}
	for i := range t.Nodes {
		n, node := ID(i), &t.Nodes[i]
		if node.Kind == Message {
			s.lives[n].calls = int32(len(t.Extra(n).Calls))
		}
		if node.Kind == Finished {
			s.lives[n].breakpoints = t.Extra(n).Block.Breakpoints
		}
		if node.Parent == None {
			continue
		}
		p, l := &s.lives[node.Parent], &s.lives[n]
		if l.previous = p.last; p.last == None {
			p.first = n
		} else {
			s.lives[p.last].next = n
		}
		p.last = n
		p.left++
	}
	for n := ID(len(t.Nodes) - 1); n > Root; n-- {
		p := t.Nodes[n].Parent
		if !s.Blank(n) {
			s.lives[p].solid++
		}
		s.lives[p].breakpoints += s.breakpointsIn(n, p)
	}
	return s
}

// Listen sets who is told of changes; nil is nobody.
func (s *State) Listen(hear Listener) { s.hear = hear }

// First returns the first child that is there, None if there is none.
func (s *State) First(n ID) ID { return s.lives[n].first }

// Next returns the next sibling that is there, None if there is none.
func (s *State) Next(n ID) ID { return s.lives[n].next }

// Left returns the number of children that are there.
func (s *State) Left(n ID) int { return int(s.lives[n].left) }

// Drop returns when and why a node went by itself.
func (s *State) Drop(n ID) Drop { return s.lives[n].drop }

// There reports whether a node did not go by itself.
func (s *State) There(n ID) bool { return s.lives[n].drop.Step == 0 }

// Attached reports whether a node, and all that it stands in up to an ancestor, is there. The ancestor may be None.
func (s *State) Attached(n, ancestor ID) bool {
	for ; n != ancestor && n != None; n = s.Nodes[n].Parent {
		if !s.There(n) {
			return false
		}
	}
	return true
}

// Calls returns the number of calls of a message that are there.
func (s *State) Calls(n ID) int { return int(s.lives[n].calls) }

// Blank reports whether nothing but white space is left of a node.
func (s *State) Blank(n ID) bool {
	switch node := &s.Nodes[n]; node.Kind {
	case Text:
		return Blank(node.Text)
	case Part, Breakpoint:
		return false
	case Finished:
		return len(s.Extra(n).Block.Messages) == 0
	}
	return s.lives[n].solid == 0 && s.lives[n].calls == 0
}

// SolidWithout reports whether n holds more than white space without one of its children.
func (s *State) SolidWithout(n, child ID) bool {
	solid := s.lives[n].solid
	if !s.Blank(child) {
		solid--
	}
	return solid > 0 || s.lives[n].calls > 0
}

// HoldsBreakpoint reports whether a node is a breakpoint, a message with one directly in it, or holds such a message.
func (s *State) HoldsBreakpoint(n ID) bool {
	return s.Nodes[n].Kind == Breakpoint || s.lives[n].breakpoints > 0
}

// breakpointsIn returns by how many breakpoints a node adds to its parent's: a breakpoint counts in its message, and a message
// with one in what is around it, but not in another message.
func (s *State) breakpointsIn(n, parent ID) int32 {
	switch {
	case s.Nodes[n].Kind == Breakpoint:
		return 1
	case s.Nodes[parent].Kind == Message || s.lives[n].breakpoints == 0:
		return 0
	}
	return 1
}

func (s *State) addBreakpoints(n ID, more int32) {
	for more != 0 {
		p := s.Nodes[n].Parent
		if p == None || !s.There(n) {
			s.lives[n].breakpoints += more
			return
		}
		before := s.breakpointsIn(n, p)
		s.lives[n].breakpoints += more
		n, more = p, s.breakpointsIn(n, p)-before
	}
}

// TakeOut takes a node out, with all that stands in it.
func (s *State) TakeOut(n ID, why Cause) {
	if s.hear != nil {
		s.hear.Going(n)
	}
	p, l := s.Nodes[n].Parent, &s.lives[n]
	s.unlink(n)
	l.drop = Drop{Step: s.Now, Cause: why}
	s.Log = append(s.Log, Change{n, -1})
	s.addBreakpoints(p, -s.breakpointsIn(n, p))
	if s.hear != nil {
		s.hear.Gone(n)
	}
	if !s.Blank(n) {
		s.loseSolid(p)
	}
}

func (s *State) unlink(n ID) {
	l, p := &s.lives[n], &s.lives[s.Nodes[n].Parent]
	if l.previous == None {
		p.first = l.next
	} else {
		s.lives[l.previous].next = l.next
	}
	if l.next == None {
		p.last = l.previous
	} else {
		s.lives[l.next].previous = l.previous
	}
	p.left--
}

// relink undoes unlink, which was the last among these siblings: n still knows who stood beside it.
func (s *State) relink(n ID) {
	l, p := &s.lives[n], &s.lives[s.Nodes[n].Parent]
	if l.previous == None {
		p.first = n
	} else {
		s.lives[l.previous].next = n
	}
	if l.next == None {
		p.last = n
	} else {
		s.lives[l.next].previous = n
	}
	p.left++
}

// loseSolid records that a child of n holds nothing but white space, or is gone.
func (s *State) loseSolid(n ID) {
	s.lives[n].solid--
	s.emptied(n)
}

// emptied follows up if nothing but white space is left in n.
func (s *State) emptied(n ID) {
	if !s.Blank(n) || !s.There(n) {
		return
	}
	if s.hear != nil {
		s.hear.Emptied(n)
	}
	if p := s.Nodes[n].Parent; p != None {
		s.loseSolid(p)
	}
}

// gainSolid undoes loseSolid.
func (s *State) gainSolid(n ID) {
	blank := s.Blank(n)
	s.lives[n].solid++
	s.filled(n, blank)
}

// filled follows up if n held nothing but white space before.
func (s *State) filled(n ID, blank bool) {
	if p := s.Nodes[n].Parent; blank && s.There(n) && p != None {
		s.gainSolid(p)
	}
}

// TakeCall takes a call out of a message, unless it went before.
func (s *State) TakeCall(message ID, call int) (taken bool) {
	drops := s.calls[message]
	if drops == nil {
		if s.calls == nil {
			s.calls = map[ID][]Drop{}
		}
		drops = make([]Drop, len(s.Extra(message).Calls))
		s.calls[message] = drops
	}
	if drops[call].Step != 0 {
		return false
	}
	drops[call] = Drop{Step: s.Now, Cause: ByGroup}
	s.lives[message].calls--
	s.Log = append(s.Log, Change{message, int32(call)})
	if s.hear != nil {
		s.hear.CallGone(message, call)
	}
	return true
}

// CallsTaken follows up after calls of a message were taken.
func (s *State) CallsTaken(message ID) { s.emptied(message) }

// CallDrop returns when and why a call of a message went.
func (s *State) CallDrop(message ID, call int) Drop {
	if drops := s.calls[message]; drops != nil {
		return drops[call]
	}
	return Drop{}
}

// CallsAt returns the calls of a message that were there after a step.
func (s *State) CallsAt(n ID, at Step) []elements.ToolCall {
	calls, drops := s.Extra(n).Calls, s.calls[n]
	if drops == nil {
		return calls
	}
	var left []elements.ToolCall
	for i, c := range calls {
		if !drops[i].By(at) {
			left = append(left, c)
		}
	}
	return left
}

// Rewind makes the tree what it was after a step.
func (s *State) Rewind(to Step) {
	for len(s.Log) > 0 {
		c := s.Log[len(s.Log)-1]
		if s.drop(c).Step <= to {
			break
		}
		s.Log = s.Log[:len(s.Log)-1]
		s.putBack(c)
	}
	s.Now = to
}

func (s *State) drop(c Change) *Drop {
	if c.Call < 0 {
		return &s.lives[c.Node].drop
	}
	return &s.calls[c.Node][c.Call]
}

func (s *State) putBack(c Change) {
	if c.Call >= 0 {
		*s.drop(c) = Drop{}
		blank := s.Blank(c.Node)
		s.lives[c.Node].calls++
		s.filled(c.Node, blank)
	} else {
		p := s.Nodes[c.Node].Parent
		if !s.Blank(c.Node) {
			s.gainSolid(p)
		}
		s.relink(c.Node)
		s.lives[c.Node].drop = Drop{}
		s.addBreakpoints(p, s.breakpointsIn(c.Node, p))
	}
	if s.hear != nil {
		s.hear.Back(c.Node)
	}
}

// Restored marks a node, or a call of a message, that went and is there again.
func (s *State) Restored(c Change) { s.drop(c).Restored = s.drop(c).Step == 0 }

// Children returns the children that were there after a step, in order.
func (s *State) Children(n ID, at Step) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		for c := s.ChildAt(n, at); c != None; c = s.NextAt(c, at) {
			if !yield(c) {
				return
			}
		}
	}
}

// ChildAt returns the first child that was there after a step, None if there was none.
func (s *State) ChildAt(n ID, at Step) ID {
	if at == Latest {
		return s.lives[n].first
	}
	return s.from(n+1, n, at)
}

// NextAt returns the next sibling that was there after a step, None if there was none.
func (s *State) NextAt(n ID, at Step) ID {
	if at == Latest {
		return s.lives[n].next
	}
	return s.from(s.Nodes[n].End, s.Nodes[n].Parent, at)
}

// from returns the first child of a parent, from one on, that was there after a step.
func (s *State) from(n, parent ID, at Step) ID {
	for ; n < s.Nodes[parent].End; n = s.Nodes[n].End {
		if !s.lives[n].drop.By(at) {
			return n
		}
	}
	return None
}

// Walk calls f for a node and all that stood in it after a step, in document order.
func (s *State) Walk(n ID, at Step, f func(ID)) {
	f(n)
	for c := s.ChildAt(n, at); c != None; c = s.NextAt(c, at) {
		s.Walk(c, at, f)
	}
}

// BlankAt reports whether nothing but white space was left of a node after a step.
func (s *State) BlankAt(n ID, at Step) bool {
	if at == Latest || s.Nodes[n].Leaf() {
		return s.Blank(n)
	}
	if len(s.CallsAt(n, at)) > 0 {
		return false
	}
	for c := s.ChildAt(n, at); c != None; c = s.NextAt(c, at) {
		if !s.BlankAt(c, at) {
			return false
		}
	}
	return true
}

// LogStep returns the step of the i-th change of the log.
func (s *State) LogStep(i int) Step { return s.drop(s.Log[i]).Step }

// CountBreakpoints returns the number of breakpoints of a message, or of messages with one of what holds them.
func (s *State) CountBreakpoints(n ID) int32 { return s.lives[n].breakpoints }

// Replay takes out of a new state what went of another, in its steps. moved returns the node of this tree that one of the other is,
// None if it is not in this tree.
func (s *State) Replay(other *State, moved func(ID) ID) {
	for _, c := range other.Log {
		n := moved(c.Node)
		if n == None {
			continue
		}
		drop := *other.drop(c)
		s.Now = drop.Step
		if c.Call < 0 {
			s.TakeOut(n, drop.Cause)
		} else if s.TakeCall(n, int(c.Call)) {
			s.CallsTaken(n)
		}
	}
	s.Now = other.Now
}
