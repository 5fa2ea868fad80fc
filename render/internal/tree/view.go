package tree

import (
	"iter"

	"github.com/promptree-go/promptree/elements"
)

// View reads a tree as it was after a step.
type View struct {
	State *State
	at    Step
}

// Children returns the children that were present, in order.
func (v View) Children(n ID) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		nodes, drops := v.State.Tree.Nodes, v.State.drops
		for c := n + 1; c < nodes[n].End; c = nodes[c].End {
			if !drops[c].By(v.at) && !yield(c) {
				return
			}
		}
	}
}

// Walk calls f for a node and the descendants that were left, in document order.
func (v View) Walk(n ID, f func(ID)) {
	f(n)
	for c := range v.Children(n) {
		v.Walk(c, f)
	}
}

// Tools returns the tools in a node that were left, in order.
func (v View) Tools(in ID) (left []ID) {
	nodes, drops := v.State.Tree.Nodes, v.State.drops
	for _, n := range v.State.Tree.Tools {
		up := n
		for up > in && !drops[up].By(v.at) {
			up = nodes[up].Parent
		}
		if up == in {
			left = append(left, n)
		}
	}
	return left
}

// Calls returns the calls of a message that were left.
func (v View) Calls(n ID) []elements.ToolCall {
	calls, drops := v.State.Tree.Extra(n).Calls, v.State.calls[n]
	if drops == nil {
		return calls
	}
	var left []elements.ToolCall
	for i, c := range calls {
		if !drops[i].By(v.at) {
			left = append(left, c)
		}
	}
	return left
}

// Blank reports whether nothing but white space was left in a node.
func (v View) Blank(n ID) bool {
	if v.at == Latest || v.State.Tree.Nodes[n].Leaf() {
		return v.State.Blank(n)
	}
	for c := range v.Children(n) {
		if !v.Blank(c) {
			return false
		}
	}
	return len(v.Calls(n)) == 0
}

// Marks returns the marks of all elements, in the order of the document.
func (t *Tree) Marks() (list []any) {
	for i := range t.Details {
		if extra := t.Details[i].Extra; extra != 0 {
			list = append(list, t.Extras[extra].Marks...)
		}
	}
	return list
}
