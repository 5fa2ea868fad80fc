// Package draft is the stage of the render engine between layout and pruning: layout writes a [Node] for each element,
// and [Build] turns the nodes into the [tree.Tree] that is pruned.
//
// A draft does not depend on what is required of history, so one draft gives a tree for each [History]. The invariants:
//
//   - After layout only the counts of texts in a draft change. Trees that are built from one draft share them.
//   - Build writes the nodes in preorder, as [tree.Node] demands, and is the only place where trees are written.
//     [Replace] makes a new tree from an old one.
//   - A draft keeps both sides of an IfEmpty; the tree has only the side that is taken.
package draft

import (
	"math"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/metadata"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Node is an element, a text or another part of a message. Its kind is never tree.Finished: whether finished messages
// are one node of the tree is decided by Build, because it depends on what is required.
type Node struct {
	Parent   *Node  // nil for the root
	Name     string // of the element, as in paths; "" for a text or part that is not an element itself
	Text     string // of a text
	Children []Node
	Priority int             // if the flag tree.HasPriority is set
	Group    *elements.Group // of a KeepWith
	Finished *tree.Block     // of an element that is finished messages, which has no children
	Rare     *Rare           // nil if all its fields would be zero
	Kind     tree.Kind
	Flags    tree.Flags    // without those that Build sets; Required is that of the element
	IfEmpty  bool          // the node has two children; the first is left out unless the second is blank
	History  bool          // the element shows history
	tokens   int32         // of a text by itself, plus one; 0 until it is counted
	index    int32         // among the children of its parent
	count    *atomic.Int32 // of a text: its Count in the tree, once one was built
}

// Rare holds the fields that few nodes have.
type Rare struct {
	// Only in a tree that is to be transferred. Read holds a text or opaque value as it was read from transfer form.
	Element elements.Node
	Props   elements.Props
	Read    any

	// Order lists the children that are elements in the order of their layout, if that is not their order in the
	// document.
	Order []int32

	Part   chat.Part
	Tool   *chat.Tool
	Tokens int // of Part, or what Tool adds to a list of other tools

	Trim  tree.Trim
	Limit int // of a TokenLimit, else 0
	Tag   *tree.Tag

	Expandable elements.Node // an Expandable or a First
	Place      any           // its place in the layout, for rendering it again
	Used       int           // tokens that its first rendering took
	Largest    bool          // it is a First that shows its first version, so it need not grow

	Frame chat.Message // of a message, without content and calls
	Calls []elements.ToolCall

	Globals, Locals elements.Metadata
	References      []elements.Reference
}

// Refer records references.
func (r *Rare) Refer(references ...elements.Reference) {
	r.References = append(r.References, references...)
}

// zeroRare is the Rare of nodes without one. It is never written to.
var zeroRare Rare

// RareOrZero returns the rare fields of a node, for reading.
func (n *Node) RareOrZero() *Rare {
	if n.Rare == nil {
		return &zeroRare
	}
	return n.Rare
}

// EnsureRare returns the rare fields of a node, for writing.
func (n *Node) EnsureRare() *Rare {
	if n.Rare == nil {
		n.Rare = &Rare{}
	}
	return n.Rare
}

// Is reports whether a node has one of the flags.
func (n *Node) Is(f tree.Flags) bool { return n.Flags&f != 0 }

// Leaf reports whether nodes of this kind have no children.
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

// InheritPriority copies the priority of another node.
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

// SetTokens records the tokens of a text by itself, unless the number is too large.
func (n *Node) SetTokens(tokens int) {
	if tokens < math.MaxInt32 {
		n.tokens = int32(tokens + 1)
	}
}

// Add adds a child and returns it. If the capacity of Children is used up, the other children move.
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

// Note records a metadata value. A local value of the root is global.
func (n *Node) Note(entry metadata.Entry) {
	rare := n.EnsureRare()
	if entry.Local && n.Parent != nil {
		rare.Locals = append(rare.Locals, entry)
	} else {
		rare.Globals = append(rare.Globals, entry)
	}
}

// Blank reports whether a node holds nothing but white space.
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

// Taken returns the child of a node with IfEmpty that is used: the second, or the first if that is blank.
func (n *Node) Taken() *Node {
	if n.Children[1].Blank() {
		return &n.Children[0]
	}
	return &n.Children[1]
}

// OutsideMessage returns the first text or part in a node that is outside messages, nil if there is none.
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

// layoutOrder yields the children that are elements, in the order of their layout.
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

// Take takes the contents of another node.
func (n *Node) Take(from *Node) {
	n.Adopt(from.Children)
	if from.Rare != nil {
		rare := n.EnsureRare()
		rare.Order, rare.Globals, rare.Locals, rare.References = from.Rare.Order, from.Rare.Globals, from.Rare.Locals, from.Rare.References
	}
}

// Index returns the index of a node among the children of its parent.
func (n *Node) Index() int32 { return n.index }

// Like returns an empty node with the parent, the name, and the flags Required and Offered of another.
func (n *Node) Like() *Node {
	return &Node{Parent: n.Parent, Name: n.Name, index: n.index, Flags: n.Flags & (tree.Required | tree.Offered)}
}
