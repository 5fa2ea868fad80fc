package draft

import (
	"slices"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// History says whether elements that show history are required.
type History uint8

// The modes of history: see HistoryMode in package render.
const (
	HistoryAsGiven History = iota
	HistoryRequired
	HistoryDroppable
	HistoryModes // number of modes
)

// Tree is a tree with its expandables.
type Tree struct {
	*tree.Tree
	Expandables []Expandable // in the order in which their layout ended
}

// Expandable is a node that may grow.
type Expandable struct {
	ID   tree.ID // tree.None once another expandable grew in its place
	Node *Node   // as it was laid out
}

// Build returns the tree of a draft. Calls for one draft must not run concurrently.
func Build(root *Node, history History) *Tree {
	b := newBuilder(history)
	b.tree.Nodes = make([]tree.Node, 0, b.size(root))
	b.add(root, tree.None, 0, surroundings{})
	b.requireCalled()
	whole := &Tree{Tree: b.tree}
	if len(b.ids) > 0 {
		b.listLimits(root)
		whole.Expandables = b.expandables(root, nil)
	}
	b.tree.Globals = root.Globals(nil, nil)
	return whole
}

// Globals appends the global metadata of a node in the order of layout. grown maps an expandable to the node that it
// grew to.
func (n *Node) Globals(to elements.Metadata, grown map[*Node]*Node) elements.Metadata {
	if other := grown[n]; other != nil {
		n = other
	}
	to = append(to, n.RareOrZero().Globals...)
	for c := range n.layoutOrder {
		to = c.Globals(to, grown)
	}
	return to
}

// size returns the number of nodes in n, itself included, finished messages counted as one.
func (b *builder) size(n *Node) int {
	size := 1
	for i := range n.Children {
		size += b.size(&n.Children[i])
	}
	return size
}

// builder writes the tree of a draft.
type builder struct {
	tree    *tree.Tree
	history History
	names   map[string]uint32
	ids     map[*Node]tree.ID // of nodes with a limit, and of expandables
	counts  []atomic.Int32    // unused ones, for texts to come
}

// surroundings says what is around a node: a message, a required or a legacy element, history whose Required is
// ignored.
type surroundings struct {
	message, required, legacy bool
	ignored                   bool
}

func newBuilder(history History) *builder {
	t := &tree.Tree{Extras: make([]tree.Extra, 1), Names: []string{""}, Groups: make([]*elements.Group, 1)}
	return &builder{tree: t, history: history, names: map[string]uint32{"": 0}, ids: map[*Node]tree.ID{}}
}

// listLimits lists limits level by level: first those of all siblings in document order, then those in them, in the
// order of layout.
func (b *builder) listLimits(n *Node) {
	for i := range n.Children {
		if c := &n.Children[i]; c.RareOrZero().Limit > 0 {
			if id, there := b.ids[c]; there {
				b.tree.Limits = append(b.tree.Limits, id)
			}
		}
	}
	for c := range n.layoutOrder {
		b.listLimits(c)
	}
}

// expandables appends the expandables in a node, itself included.
func (b *builder) expandables(n *Node, to []Expandable) []Expandable {
	for c := range n.layoutOrder {
		to = b.expandables(c, to)
	}
	if id, there := b.ids[n]; there && n.RareOrZero().Expandable != nil {
		to = append(to, Expandable{id, n})
	}
	return to
}

// add writes a node, the nth of its name among its siblings, and its descendants.
func (b *builder) add(d *Node, parent tree.ID, nth int32, in surroundings) tree.ID {
	t := b.tree
	id := tree.ID(len(t.Nodes))
	n := tree.Node{Text: d.Text, Parent: parent, End: id + 1, Nth: nth, Name: b.name(d.Name), Flags: d.Flags &^ tree.Required, Kind: d.Kind}
	required := d.Is(tree.Required)
	if d.History && b.history != HistoryAsGiven {
		required = required || b.history == HistoryRequired
		in.ignored = b.history == HistoryDroppable && d.ranksMessages()
	}
	if required && !in.ignored {
		n.Flags |= tree.Required
		in.required, t.Required = true, true
	}
	if n.Kind == tree.Message {
		n.Flags &^= tree.Chunk | tree.Legacy | tree.PassesPriority
	}
	switch {
	case n.Is(tree.HasPriority):
		n.Priority = d.Priority
	case n.Is(tree.PassesPriority):
		n.Priority = 0
	default:
		n.Priority = tree.Unset
	}
	t.NestedMessages = t.NestedMessages || n.Kind == tree.Message && in.message
	t.Breakpoints = t.Breakpoints || n.Kind == tree.Breakpoint
	if n.Kind == tree.Tool {
		t.Tools = append(t.Tools, id)
	}
	t.OuterChunks = t.OuterChunks || n.Is(tree.Chunk) && (in.legacy || !in.message)
	n.Extra, n.Group = b.addExtra(d, id), b.addGroup(d.Group)
	if n.Kind == tree.Text {
		n.Count = b.countOf(d)
		if n.Is(tree.Cut) && tree.Blank(n.Text) {
			t.Shareless = append(t.Shareless, id)
		}
	}
	if d.Finished != nil && in.required {
		n.Kind, n.Extra = tree.Finished, b.append(tree.Extra{Block: d.Finished})
		t.Breakpoints = t.Breakpoints || d.Finished.Tree.Breakpoints
	}
	t.Nodes = append(t.Nodes, n)
	if n.Leaf() {
		return id
	}
	in.message, in.legacy = in.message || n.Kind == tree.Message, in.legacy || n.Is(tree.Legacy)
	b.addChildren(d, id, in)
	b.finish(id)
	return id
}

// addChildren writes the descendants of a node.
func (b *builder) addChildren(d *Node, id tree.ID, in surroundings) {
	if d.Finished != nil {
		b.adopt(d.Finished.Tree, id)
		return
	}
	nths := numbers(d.Children)
	if d.IfEmpty {
		taken := d.Taken()
		b.add(taken, id, nths[taken.index], in)
		return
	}
	for i := range d.Children {
		b.add(&d.Children[i], id, nths[i], in)
	}
}

// finish sets the fields of a node that depend on its descendants.
func (b *builder) finish(id tree.ID) {
	t := b.tree
	n := &t.Nodes[id]
	n.End = tree.ID(len(t.Nodes))
	if n.Kind == tree.Container && n.End == id+2 && t.Nodes[id+1].Kind == tree.Text {
		n.Flags |= tree.OneText
		n.Text = t.Nodes[id+1].Text
	}
	for c := id + 1; c < n.End; c = t.Nodes[c].End {
		child := &t.Nodes[c]
		if !child.Is(tree.OnlyLines) && !(child.Kind == tree.Text && (child.Is(tree.StartsLine) || child.Text == "\n")) {
			return
		}
	}
	n.Flags |= tree.OnlyLines
}

// adopt writes finished messages that are not required, node by node.
func (b *builder) adopt(from *tree.Tree, parent tree.ID) {
	t := b.tree
	shift := tree.ID(len(t.Nodes)) - 1
	for _, n := range from.Nodes[1:] {
		if n.Parent += shift; n.Parent == shift {
			n.Parent = parent
		}
		n.End += shift
		n.Name = b.name(from.Names[n.Name])
		if n.Extra != 0 {
			n.Extra = b.append(from.Extras[n.Extra])
		}
		if n.Group != 0 {
			n.Group = b.appendGroup(from.Groups[n.Group])
		}
		t.Nodes = append(t.Nodes, n)
	}
	t.Grouped += from.Grouped
	t.Breakpoints = t.Breakpoints || from.Breakpoints
	t.OuterChunks = t.OuterChunks || from.OuterChunks
	t.References = append(t.References, from.References...)
	t.Required = t.Required || from.Required
	t.HasTags = t.HasTags || from.HasTags
}

// name returns the index of a name.
func (b *builder) name(name string) uint32 {
	if name == "" {
		return 0
	}
	number, known := b.names[name]
	if !known {
		number = uint32(len(b.tree.Names))
		b.names[name], b.tree.Names = number, append(b.tree.Names, name)
	}
	return number
}

// addExtra writes the extra of a node, and returns its index.
func (b *builder) addExtra(d *Node, id tree.ID) int32 {
	if d.Rare == nil {
		return 0
	}
	t, rare := b.tree, d.Rare
	for _, c := range rare.Calls {
		if c.KeepWith != nil {
			t.Grouped++
		}
	}
	if rare.Limit > 0 || rare.Expandable != nil {
		b.ids[d] = id
	}
	t.HasLocals = t.HasLocals || rare.Locals != nil
	t.HasTags = t.HasTags || rare.Tag != nil
	t.References = append(t.References, rare.References...)
	return b.append(tree.Extra{
		Part: rare.Part, Tool: rare.Tool, Tokens: rare.Tokens, Trim: rare.Trim, Limit: rare.Limit, Tag: rare.Tag,
		Frame: rare.Frame, Calls: rare.Calls, Locals: rare.Locals, References: rare.References,
	})
}

// append appends an extra, and returns its index.
func (b *builder) append(e tree.Extra) int32 {
	b.tree.Extras = append(b.tree.Extras, e)
	return int32(len(b.tree.Extras) - 1)
}

// addGroup writes the group of a KeepWith, and returns its index; 0 for none.
func (b *builder) addGroup(g *elements.Group) int32 {
	if g == nil {
		return 0
	}
	b.tree.Grouped++
	return b.appendGroup(g)
}

func (b *builder) appendGroup(g *elements.Group) int32 {
	b.tree.Groups = append(b.tree.Groups, g)
	return int32(len(b.tree.Groups) - 1)
}

// countOf returns the counter of a text, which all trees of a draft share.
func (b *builder) countOf(d *Node) *atomic.Int32 {
	if d.count == nil {
		if len(b.counts) == 0 {
			b.counts = make([]atomic.Int32, min(1024, max(16, len(b.tree.Nodes))))
		}
		d.count, b.counts = &b.counts[0], b.counts[1:]
		d.count.Store(d.tokens)
	}
	return d.count
}

// ranksMessages reports whether a message in n, or an element between n and a message, has a priority.
func (n *Node) ranksMessages() bool {
	return slices.ContainsFunc(n.Children, func(c Node) bool {
		if c.Name == "" && c.Leaf() { // the priority of a text is that of the element around it
			return false
		}
		return c.Is(tree.Offered) || c.Kind != tree.Message && c.ranksMessages()
	})
}

// ignores reports whether a node is in history whose Required is ignored.
func (h History) ignores(n *Node) bool {
	for up := n.Parent; up != nil && h == HistoryDroppable; up = up.Parent {
		if up.History {
			return up.ranksMessages()
		}
	}
	return false
}
