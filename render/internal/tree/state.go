package tree

import "math"

// Step numbers the choices of a pruning, from 1. A node that went has the step at which it did, so that the tree can be read as
// it was after any.
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

// nodeState holds what changes of a node.
type nodeState struct {
	drop     Drop
	left     int32 // children that are there
	nonBlank int32 // of these, those that hold more than white space, and calls; of a piece itself 1 or 0
}

// State is one pruning of a tree: what is left of it, and what went in which order.
type State struct {
	Tree *Tree
	Now  Step
	// Log lists what went, in order.
	Log []Change

	nodes []nodeState
	calls map[ID][]Drop // of messages of which some went

	trimmed map[ID]*Trimmed
}

// NewState returns the state of a tree of which nothing went.
func NewState(t *Tree) *State {
	s := &State{Tree: t, nodes: make([]nodeState, len(t.Nodes))}
	for n := ID(len(t.Nodes) - 1); n >= Root; n-- {
		s.nodes[n].nonBlank += t.nonBlank(n)
		if p := t.Nodes[n].Parent; p != None {
			s.nodes[p].left++
			if !s.Blank(n) {
				s.nodes[p].nonBlank++
			}
		}
	}
	return s
}

// At returns the tree as it was after a step.
func (s *State) At(at Step) View { return View{State: s, at: at} }

// Left returns the number of children that are there.
func (s *State) Left(n ID) int { return int(s.nodes[n].left) }

// Drop returns when and why a node went by itself.
func (s *State) Drop(n ID) Drop { return s.nodes[n].drop }

// CallDrop returns when and why a call of a message went.
func (s *State) CallDrop(message ID, call int) Drop {
	if drops := s.calls[message]; drops != nil {
		return drops[call]
	}
	return Drop{}
}

// There reports whether a node did not go by itself.
func (s *State) There(n ID) bool { return s.nodes[n].drop.Step == 0 }

// Attached reports whether a node, and all that it stands in up to an ancestor, is there. The ancestor may be None.
func (s *State) Attached(n, ancestor ID) bool {
	for ; n != ancestor && n != None; n = s.Tree.Nodes[n].Parent {
		if !s.There(n) {
			return false
		}
	}
	return true
}

// Blank reports whether nothing but white space is left of a node.
func (s *State) Blank(n ID) bool { return s.nodes[n].nonBlank == 0 }

// TakeOut takes a node out, with all that stands in it.
func (s *State) TakeOut(n ID, why Cause) {
	s.nodes[n].drop = Drop{Step: s.Now, Cause: why}
	s.Log = append(s.Log, Change{n, -1})
	s.attach(n, -1)
}

// TakeCall takes a call out of a message, unless it went before.
func (s *State) TakeCall(message ID, call int) (taken bool) {
	drops := s.calls[message]
	if drops == nil {
		if s.calls == nil {
			s.calls = map[ID][]Drop{}
		}
		drops = make([]Drop, len(s.Tree.Extra(message).Calls))
		s.calls[message] = drops
	}
	if drops[call].Step != 0 {
		return false
	}
	drops[call] = Drop{Step: s.Now, Cause: ByGroup}
	s.Log = append(s.Log, Change{message, int32(call)})
	s.addNonBlank(message, -1)
	return true
}

// attach records that n, a child of its parent, went (-1) or is there again (1).
func (s *State) attach(n ID, by int32) {
	p := s.Tree.Nodes[n].Parent
	s.nodes[p].left += by
	if !s.Blank(n) {
		s.addNonBlank(p, by)
	}
}

// addNonBlank adds to the number of children and calls that hold more than white space, of n and of what it makes blank or not.
func (s *State) addNonBlank(n ID, by int32) {
	for n != None {
		before := s.Blank(n)
		s.nodes[n].nonBlank += by
		if s.Blank(n) == before || !s.There(n) {
			return
		}
		n = s.Tree.Nodes[n].Parent
	}
}

// Rewind makes the tree what it was after a step. It returns what is there again, valid until something goes.
func (s *State) Rewind(to Step) []Change {
	from := len(s.Log)
	for from > 0 && s.LogStep(from-1) > to {
		from--
		c := s.Log[from]
		*s.drop(c) = Drop{}
		if c.Call < 0 {
			s.attach(c.Node, 1)
		} else {
			s.addNonBlank(c.Node, 1)
		}
	}
	back := s.Log[from:]
	s.Log, s.Now = s.Log[:from], to
	return back
}

// LogStep returns the step of the i-th change of the log.
func (s *State) LogStep(i int) Step { return s.drop(s.Log[i]).Step }

func (s *State) drop(c Change) *Drop {
	if c.Call < 0 {
		return &s.nodes[c.Node].drop
	}
	return &s.calls[c.Node][c.Call]
}

// Restored marks a node, or a call of a message, that went and is there again.
func (s *State) Restored(c Change) { s.drop(c).Restored = s.drop(c).Step == 0 }

// Replay takes out of a new state what went of another, in its steps. moved returns the node of this tree that one of the other is,
// None if it is not in this tree.
func (s *State) Replay(other *State, moved func(ID) ID) {
	for _, c := range other.Log {
		n := moved(c.Node)
		if n == None {
			continue
		}
		drop := other.drop(c)
		s.Now = drop.Step
		if c.Call < 0 {
			s.TakeOut(n, drop.Cause)
		} else {
			s.TakeCall(n, int(c.Call))
		}
	}
	for n, t := range other.trimmed {
		if n = moved(n); n != None {
			s.Trim(n, t.Index)
		}
	}
	s.Now = other.Now
}
