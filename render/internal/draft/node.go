// Package draft holds a prompt as layout writes it, element by element, and makes the tree of it that is pruned.
package draft

import (
	"math"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/metadata"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Node is an element, a text or another part of a message. It is of one of the kinds of the tree, but never tree.Finished:
// whether finished messages are one node of the tree depends on what is required.
type Node struct {
	Parent   *Node  // nil for the root
	Name     string // of the element, as paths have it; "" for a text or part that is not an element itself
	Text     string // of a text
	Children []Node
	Priority int             // if the flag tree.Given is set
	Group    *elements.Group // of a KeepWith
	Finished *tree.Block     // of an element that is finished messages, which has no children
	Rare     *Rare           // nil if the node has nothing of it
	Kind     tree.Kind
	Flags    tree.Flags    // but for those that Build sets: Required is as the element has it
	IfEmpty  bool          // the node has two children, of which the first is left out unless the second is blank
	History  bool          // the element shows history
	tokens   int32         // of a text by itself, plus one; 0 before anybody asked
	index    int32         // its place among the children of its parent
	count    *atomic.Int32 // of a text, once a tree was built
}

// Rare holds what few nodes have.
type Rare struct {
	// Of a tree that is to be transferred.
	Element elements.Node
	Props   elements.Props

	// Order holds the children that are elements in the order in which they were laid out, if it is not that of the children.
	Order []int32

	Part   chat.Part
	Tool   *chat.Tool
	Tokens int // of Part, or what Tool adds to a list of others

	Trim  *tree.Trim
	Limit int // of a TokenLimit, else 0
	Tag   *tree.Tag

	Expandable *elements.Expandable
	Place      any // where it stands, for the layout that renders it again
	Used       int // tokens that the expandable took when it was first rendered

	Frame chat.Message // of a message, without content and calls
	Calls []elements.ToolCall

	Globals, Locals elements.Metadata
	References      []elements.Reference
}

// Refer records references.
func (r *Rare) Refer(references ...elements.Reference) {
	r.References = append(r.References, references...)
}

// none is what a node has of which nothing was set. It is never written to.
var zeroRare Rare

// More returns what few nodes have, to be read.
func (n *Node) RareOrZero() *Rare {
	if n.Rare == nil {
		return &zeroRare
	}
	return n.Rare
}

// Set returns what few nodes have, to be written to.
func (n *Node) EnsureRare() *Rare {
	if n.Rare == nil {
		n.Rare = &Rare{}
	}
	return n.Rare
}

// Is reports whether a node has one of the flags.
func (n *Node) Is(f tree.Flags) bool { return n.Flags&f != 0 }

// Leaf reports whether a node can hold no others.
func (n *Node) Leaf() bool { return n.Kind > tree.Message }

// SetFlag sets a flag if a condition holds.
func (n *Node) SetFlag(f tree.Flags, holds bool) {
	if holds {
		n.Flags |= f
	}
}

// SetPriority sets the priority if it is not nil. The highest is [tree.Unset].
func (n *Node) SetPriority(priority *int) {
	if priority != nil {
		n.Priority = min(*priority, tree.Unset)
		n.Flags |= tree.HasPriority
		n.SetFlag(tree.Offered, n.Priority < tree.Unset)
	}
}

// InheritPriority takes the priority of another node.
func (n *Node) InheritPriority(from *Node) {
	n.Priority = from.Priority
	n.Flags |= from.Flags & (tree.HasPriority | tree.Offered)
}

// Given returns the priority, nil if there is none.
func (n *Node) Given() *int {
	if !n.Is(tree.HasPriority) {
		return nil
	}
	return new(n.Priority)
}

// SetTokens records what a text counts by itself, unless that is too much to be recorded.
func (n *Node) SetTokens(tokens int) {
	if tokens < math.MaxInt32 {
		n.tokens = int32(tokens + 1)
	}
}

// Add adds a child. If there is no room for it, it moves those that are there.
func (n *Node) Add(child Node) *Node {
	child.Parent, child.index = n, int32(len(n.Children))
	n.Children = append(n.Children, child)
	return &n.Children[len(n.Children)-1]
}

// Adopt makes nodes the children of a node that has none.
func (n *Node) Adopt(children []Node) {
	n.Children = children
	for i := range children {
		children[i].Parent, children[i].index = n, int32(i)
	}
}

// Note records a metadata value. One that is local to the root is global.
func (n *Node) Note(entry metadata.Entry) {
	rare := n.EnsureRare()
	if entry.Local && n.Parent != nil {
		rare.Locals = append(rare.Locals, entry)
	} else {
		rare.Globals = append(rare.Globals, entry)
	}
}

// Blank reports whether there is nothing but white space in a node.
func (n *Node) Blank() bool {
	switch n.Kind {
	case tree.Text:
		return tree.Blank(n.Text)
	case tree.Part, tree.Breakpoint, tree.Tool:
		return false
	}
	if len(n.RareOrZero().Calls) > 0 || n.Finished != nil && len(n.Finished.Messages) > 0 {
		return false
	}
	for i := range n.Children {
		if !n.Children[i].Blank() {
			return false
		}
	}
	return true
}

// Taken returns the side of a node with IfEmpty that is taken: the second child, unless that is blank.
func (n *Node) Taken() *Node {
	if n.Children[1].Blank() {
		return &n.Children[0]
	}
	return &n.Children[1]
}

// OutsideMessage returns the first text or part in a node that stands outside a message, nil if there is none.
func (n *Node) OutsideMessage() *Node {
	switch {
	case n.Kind == tree.Message || n.Kind == tree.Tool || n.Finished != nil:
		return nil
	case n.Leaf():
		return n
	case n.IfEmpty:
		return n.Taken().OutsideMessage()
	}
	for i := range n.Children {
		if wrong := n.Children[i].OutsideMessage(); wrong != nil {
			return wrong
		}
	}
	return nil
}

// layoutOrder yields the children that are elements in the order in which they were laid out.
func (n *Node) layoutOrder(yield func(*Node) bool) {
	if order := n.RareOrZero().Order; order != nil {
		for _, i := range order {
			if !yield(&n.Children[i]) {
				return
			}
		}
		return
	}
	for i := range n.Children {
		if c := &n.Children[i]; c.Name != "" && !yield(c) {
			return
		}
	}
}

// Index returns the place of a node among the children of its parent.
func (n *Node) Index() int32 { return n.index }

// Like returns an empty node in the place of another, with its name, and required and offered as that is.
func (n *Node) Like() *Node {
	return &Node{Parent: n.Parent, Name: n.Name, index: n.index, Flags: n.Flags & (tree.Required | tree.Offered)}
}
