package render

import (
	"slices"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// builder writes what was laid out down as a tree to prune.
type builder struct {
	tree  *tree.Tree
	mode  HistoryMode
	names map[string]uint16
	own   [callers]uint16   // names of elements of ours, plus one; 0 before one is met
	ids   map[*node]tree.ID // of nodes with a limit, or that may grow
	slots []atomic.Int32    // for the counts of texts
}

// surroundings are what a node stands in.
type surroundings struct {
	message, required, legacy bool
	ignored                   bool // history whose Required is ignored
}

// built is the tree of what was laid out.
type built struct {
	*tree.Tree
	expandables []expandable // in the order in which their layout was done
}

// build returns the tree of what was laid out, with what is required in a mode. Only one call for a layout may run at a time.
func build(root *node, mode HistoryMode) *built {
	b := newBuilder(mode)
	b.tree.Nodes = make([]tree.Node, 0, root.size())
	b.add(root, tree.None, 0, surroundings{})
	whole := &built{Tree: b.tree}
	if len(b.ids) > 0 {
		b.limits(root)
		b.expandables(root, &whole.expandables)
	}
	root.globals(&b.tree.Globals, nil)
	return whole
}

// size returns the number of nodes in n, itself included, finished messages counted as one.
func (n *node) size() int {
	size := 1
	for i := range n.all() {
		if c := &n.children[i]; c.leaf() {
			size++
		} else {
			size += c.size()
		}
	}
	return size
}

func newBuilder(mode HistoryMode) *builder {
	return &builder{
		tree: &tree.Tree{Extras: make([]tree.Extra, 1), Names: []string{""}}, mode: mode,
		names: map[string]uint16{"": 0}, ids: map[*node]tree.ID{},
	}
}

// limits lists limits level by level: all siblings in document order, then what is in them, in the order of their layout.
func (b *builder) limits(n *node) {
	for i := range n.all() {
		if c := &n.children[i]; c.more().limit > 0 {
			if id, there := b.ids[c]; there {
				b.tree.Limits = append(b.tree.Limits, id)
			}
		}
	}
	n.laidOrder(func(c *node) bool {
		b.limits(c)
		return true
	})
}

// expandables lists them in the order in which their layout was done.
func (b *builder) expandables(n *node, to *[]expandable) {
	n.laidOrder(func(c *node) bool {
		b.expandables(c, to)
		return true
	})
	if id, there := b.ids[n]; there && n.more().expand != nil {
		*to = append(*to, expandable{id, n})
	}
}

// globals appends the global metadata in the order of the layout, of what grew what it grew to.
func (n *node) globals(to *elements.Metadata, grown map[*node]*node) {
	if other := grown[n]; other != nil {
		n = other
	}
	*to = append(*to, n.more().globals...)
	n.laidOrder(func(c *node) bool {
		c.globals(to, grown)
		return true
	})
}

// add writes a node and what is in it. It is the nth of its name among its siblings.
func (b *builder) add(d *node, parent tree.ID, nth int, in surroundings) tree.ID {
	t := b.tree
	id := tree.ID(len(t.Nodes))
	n := tree.Node{Text: d.text, Parent: parent, End: id + 1, Nth: int32(nth), Name: b.nameOf(d), Flags: tree.Flags(d.traits & inTree), Kind: d.kind}
	required := d.is(isRequired)
	if d.is(showsHistory) && b.mode != HistoryAsGiven {
		required = required || b.mode == HistoryRequired
		in.ignored = b.mode == HistoryDroppable && d.ranksMessages()
	}
	if required && !in.ignored {
		n.Flags |= tree.Required
		in.required, t.Required = true, true
	}
	if n.Kind == tree.Message {
		n.Flags &^= tree.Chunk | tree.Legacy | tree.PassesPriority
	}
	switch {
	case n.Is(tree.Given):
		n.Priority = d.priority
	case n.Is(tree.PassesPriority):
		n.Priority = 0
	default:
		n.Priority = tree.Unset
	}
	t.Nested = t.Nested || n.Kind == tree.Message && in.message
	t.Breakpoints = t.Breakpoints || n.Kind == tree.Breakpoint
	t.OuterChunks = t.OuterChunks || n.Is(tree.Chunk) && (in.legacy || !in.message)
	n.Extra, n.Group = b.extra(d, id), b.group(d)
	if n.Kind == tree.Text {
		n.Count = b.slot(d)
	}
	if n.Kind == tree.Container && d.kept() != nil && in.required {
		block := d.finished.block()
		n.Kind, n.Extra = tree.Finished, b.addExtra(tree.Extra{Block: block})
		t.Breakpoints = t.Breakpoints || block.Breakpoints > 0
	}
	t.Nodes = append(t.Nodes, n)
	if n.Leaf() {
		return id
	}
	in.message, in.legacy = in.message || n.Kind == tree.Message, in.legacy || n.Is(tree.Legacy)
	b.children(d, id, in)
	whole := &t.Nodes[id]
	whole.End = tree.ID(len(t.Nodes))
	if whole.Kind == tree.Container && whole.End == id+2 && t.Nodes[id+1].Kind == tree.Text && len(d.all()) == 1 {
		whole.Flags |= tree.OneText
		whole.Text = t.Nodes[id+1].Text
	}
	lines := true
	for c := id + 1; c < whole.End && lines; c = t.Nodes[c].End {
		child := &t.Nodes[c]
		lines = child.Is(tree.Lines) || child.Kind == tree.Text && (child.Is(tree.StartsLine) || child.Text == "\n")
	}
	if lines {
		whole.Flags |= tree.Lines
	}
	return id
}

// children writes what is in a node.
func (b *builder) children(d *node, id tree.ID, in surroundings) {
	if d.kept() != nil {
		b.adopt(d.finished, id)
		return
	}
	nths := numbers(d.all())
	children := d.all()
	if d.is(isIfEmpty) { // the alternative, and the children that it stands in for
		side := 1
		if children[side].blank() {
			side = 0
		}
		b.add(&children[side], id, nths[side], in)
		return
	}
	for i := range children {
		b.add(&children[i], id, nths[i], in)
	}
}

// adopt writes finished messages of which some may go.
func (b *builder) adopt(f *finished, parent tree.ID) {
	t, from := b.tree, f.tree
	shift := tree.ID(len(t.Nodes)) - 1
	names := make([]uint16, len(from.Names))
	for i, name := range from.Names {
		names[i] = b.name(name)
	}
	for i, n := range from.Nodes[1:] {
		old := tree.ID(i + 1)
		if n.Parent += shift; n.Parent == shift {
			n.Parent = parent
		}
		n.End += shift
		n.Name = names[n.Name]
		if n.Extra != 0 {
			extra := from.Extras[n.Extra]
			if f.strange && n.Kind == tree.Part {
				extra.Tokens = f.partTokens(from, old)
			}
			n.Extra = b.addExtra(extra)
		}
		if g := from.GroupOf(old); g != nil {
			n.Group = b.addGroup(g)
		}
		if f.strange && n.Kind == tree.Text {
			n.Count = b.fresh()
		}
		t.Nodes = append(t.Nodes, n)
	}
	t.Grouped += from.Grouped
	t.Breakpoints = t.Breakpoints || from.Breakpoints
	t.OuterChunks = t.OuterChunks || from.OuterChunks
	t.References = append(t.References, from.References...)
	t.Required = t.Required || from.Required
}

// nameOf returns the index of an element's name.
func (b *builder) nameOf(d *node) uint16 {
	if d.own == callers {
		return b.name(*d.name)
	}
	if b.own[d.own] == 0 {
		b.own[d.own] = b.name(builtinNames[d.own]) + 1
	}
	return b.own[d.own] - 1
}

func (b *builder) name(name string) uint16 {
	number, known := b.names[name]
	if !known {
		number = uint16(len(b.tree.Names))
		b.names[name], b.tree.Names = number, append(b.tree.Names, name)
	}
	return number
}

// extra writes what few nodes have, and returns its index.
func (b *builder) extra(d *node, id tree.ID) int32 {
	if d.inside == nil || d.rare == nil {
		return 0
	}
	t, more := b.tree, d.rare
	for _, c := range more.calls {
		if c.KeepWith != nil {
			t.Grouped++
		}
	}
	if more.limit > 0 || more.expand != nil {
		b.ids[d] = id
	}
	t.Noted = t.Noted || more.locals != nil
	t.References = append(t.References, more.references...)
	return b.addExtra(tree.Extra{
		Part: more.part, Tokens: more.tokens, Limit: more.limit, Tag: d.tag(),
		Frame: more.frame, Calls: more.calls, Locals: more.locals, References: more.references,
	})
}

// group writes the group of a KeepWith, and returns its index.
func (b *builder) group(d *node) int32 {
	g := d.linked()
	if g == nil {
		return 0
	}
	b.tree.Grouped++
	return b.addGroup(g)
}

func (b *builder) addGroup(g *elements.Group) int32 {
	if len(b.tree.Groups) == 0 {
		b.tree.Groups = append(b.tree.Groups, nil)
	}
	b.tree.Groups = append(b.tree.Groups, g)
	return int32(len(b.tree.Groups) - 1)
}

func (b *builder) addExtra(e tree.Extra) int32 {
	b.tree.Extras = append(b.tree.Extras, e)
	return int32(len(b.tree.Extras) - 1)
}

// slot returns the place of the count of a text.
func (b *builder) slot(d *node) *atomic.Int32 {
	if d.count == nil {
		d.count = b.fresh()
		if d.number != uncounted {
			d.count.Store(d.number + 1)
		}
	}
	return d.count
}

func (b *builder) fresh() *atomic.Int32 {
	if len(b.slots) == 0 {
		b.slots = make([]atomic.Int32, min(1024, max(16, len(b.tree.Nodes))))
	}
	slot := &b.slots[0]
	b.slots = b.slots[1:]
	return slot
}

// kept returns the finished messages that a node is, nil if it is something else.
func (n *node) kept() *finished {
	if n.inside == nil {
		return nil
	}
	return n.finished
}

// blank reports whether there is nothing but white space in a node.
func (n *node) blank() bool {
	switch n.kind {
	case text:
		return tree.Blank(n.text)
	case part, breakpoint:
		return false
	}
	if len(n.more().calls) > 0 || n.kept() != nil && len(n.finished.messages) > 0 {
		return false
	}
	return !slices.ContainsFunc(n.all(), func(c node) bool { return !c.blank() })
}
