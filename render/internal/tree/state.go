package tree

import (
	"math"
	"slices"
)

// Step numbers the choices of a pruning, from 1. Each removed node has the step of its removal, so that the tree can be
// read as it was after any step.
type Step int32

// Latest is the step that reads the current state.
const Latest Step = math.MaxInt32

// Cause says why a node or a call was removed.
type Cause uint8

const (
	ByPriority Cause = iota + 1
	ByChunk
	ByGroup
	ByEmptiness
	ByShare // layout cut it to nothing
)

// Drop says when and why a node or a call was removed. The zero value means that it is present.
type Drop struct {
	Step  Step
	Cause Cause
	// Restored reports that it was removed and put back by backfill.
	Restored bool
}

// By reports whether the removal had happened by a step.
func (d Drop) By(at Step) bool { return d.Step != 0 && d.Step <= at }

// Change is a removal: of a node with its descendants, or of a message's call.
type Change struct {
	Node ID
	Call int32 // index of the message's call, -1 for the node itself
}

// contents says what is left in a node that is not a text.
type contents struct {
	children int32 // that are present
	// nonBlank is the number of these children that hold more than white space, plus the calls that are left. For a
	// leaf it is 1, or 0 if the leaf is blank.
	nonBlank int32
}

// State is one pruning of a tree: what is left, and what was removed in which order.
type State struct {
	Tree *Tree
	Now  Step
	// Log lists the removals in order.
	Log []Change

	drops    []Drop        // by node
	contents []contents    // by the index of a node that is not a text
	calls    map[ID][]Drop // by message, if calls of it were removed

	trimmed map[ID]*Trimmed
}

// NewState returns the state of a tree from which nothing is removed.
func NewState(t *Tree) *State {
	s := &State{
		Tree: t, drops: make([]Drop, len(t.Nodes)), contents: make([]contents, t.Others),
		calls: map[ID][]Drop{}, trimmed: map[ID]*Trimmed{},
	}
	for n := ID(len(t.Nodes) - 1); n >= Root; n-- {
		if t.Nodes[n].Kind != Text {
			s.in(n).nonBlank += t.nonBlank(n)
		}
		if p := t.Nodes[n].Parent; p != None {
			in := s.in(p)
			in.children++
			if !s.Blank(n) {
				in.nonBlank++
			}
		}
	}
	return s
}

// in returns what is left in a node that is not a text.
func (s *State) in(n ID) *contents { return &s.contents[s.Tree.Nodes[n].Index] }

// At returns the tree as it was after a step.
func (s *State) At(at Step) View { return View{State: s, at: at} }

// Left returns the number of children that are present.
func (s *State) Left(n ID) int {
	if s.Tree.Nodes[n].Kind == Text {
		return 0
	}
	return int(s.in(n).children)
}

// Drop returns when and why a node itself was removed.
func (s *State) Drop(n ID) Drop { return s.drops[n] }

// DropOf returns when and why a node or a call was removed.
func (s *State) DropOf(c Change) Drop {
	if c.Call >= 0 && s.calls[c.Node] == nil { // no call of the message was removed
		return Drop{}
	}
	return *s.drop(c)
}

// Present reports whether a node was not removed itself. Its ancestors may have been.
func (s *State) Present(n ID) bool { return s.drops[n].Step == 0 }

// Attached reports whether a node and its ancestors below the given one are present. None is above the root.
func (s *State) Attached(n, ancestor ID) bool {
	for ; n != ancestor && n != None; n = s.Tree.Nodes[n].Parent {
		if !s.Present(n) {
			return false
		}
	}
	return true
}

// Blank reports whether nothing but white space is left of a node.
func (s *State) Blank(n ID) bool {
	if node := &s.Tree.Nodes[n]; node.Kind == Text {
		return node.Is(WhiteSpace)
	}
	return s.in(n).nonBlank == 0
}

// Remove removes a node with its descendants.
func (s *State) Remove(n ID, why Cause) {
	if s.Log == nil {
		s.Log = make([]Change, 0, len(s.drops))
	}
	s.drops[n] = Drop{Step: s.Now, Cause: why}
	s.Log = append(s.Log, Change{n, -1})
	s.attach(n, -1)
}

// RemoveCall removes a call from a message, and reports false if it was removed before.
func (s *State) RemoveCall(message ID, call int) (removed bool) {
	drops := s.calls[message]
	if drops == nil {
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

// attach records in the parent of n that n was removed (by is -1) or is present again (by is 1).
func (s *State) attach(n ID, by int32) {
	p := s.Tree.Nodes[n].Parent
	s.in(p).children += by
	if !s.Blank(n) {
		s.addNonBlank(p, by)
	}
}

// addNonBlank adds to the nonBlank of n, and of each ancestor whose child becomes blank, or not blank, by that.
func (s *State) addNonBlank(n ID, by int32) {
	for n != None {
		before := s.Blank(n)
		s.in(n).nonBlank += by
		if s.Blank(n) == before || !s.Present(n) {
			return
		}
		n = s.Tree.Nodes[n].Parent
	}
}

// Rewind undoes all removals after a step. It returns them; the slice is valid until the next removal.
func (s *State) Rewind(to Step) []Change {
	from := len(s.Log)
	for from > 0 && s.LogStep(from-1) > to {
		from--
		c := s.Log[from]
		*s.drop(c) = Drop{}
		s.returned(c, 1)
	}
	back := s.Log[from:]
	s.Log, s.Now = s.Log[:from], to
	return back
}

// LogStep returns the step of the i-th change of the log.
func (s *State) LogStep(i int) Step { return s.drop(s.Log[i]).Step }

func (s *State) drop(c Change) *Drop {
	if c.Call < 0 {
		return &s.drops[c.Node]
	}
	return &s.calls[c.Node][c.Call]
}

// PutBack undoes a removal, wherever it stands in the log, and returns what it was. Until it is removed again or the
// log forgets it, the log must not be read.
func (s *State) PutBack(c Change) (was Drop) {
	was = *s.drop(c)
	*s.drop(c) = Drop{Restored: true}
	s.returned(c, 1)
	return was
}

// RemoveAgain repeats a removal that was undone. Removals are repeated in the reverse order of their undoing.
func (s *State) RemoveAgain(c Change, was Drop) {
	*s.drop(c) = was
	s.returned(c, -1)
}

// ForgetRestored takes the removals that were undone out of the log.
func (s *State) ForgetRestored() {
	s.Log = slices.DeleteFunc(s.Log, func(c Change) bool { return s.drop(c).Step == 0 })
}

// returned records around a node or call that it is present again (by is 1), or was removed (by is -1).
func (s *State) returned(c Change, by int32) {
	if c.Call < 0 {
		s.attach(c.Node, by)
	} else {
		s.addNonBlank(c.Node, by)
	}
}

// Replay repeats the removals of another state in this new one, with the same steps. moved maps a node of the other
// tree to this one, or to None if it has no place here.
func (s *State) Replay(other *State, moved func(ID) ID) {
	for _, c := range other.Log {
		n := moved(c.Node)
		if n == None {
			continue
		}
		drop := other.drop(c)
		s.Now = drop.Step
		if c.Call < 0 {
			s.Remove(n, drop.Cause)
		} else {
			s.RemoveCall(n, int(c.Call))
		}
	}
	for n, t := range other.trimmed {
		if n = moved(n); n != None {
			s.Trim(n, t.Index)
		}
	}
	s.Now = other.Now
}
