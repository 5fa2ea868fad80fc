package tree

import (
	"slices"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
)

// New returns an empty tree, to be written to. A parent is written before its children, and what is in a node directly
// after it. An element is closed once everything in it is written.
func New() *Tree {
	return &Tree{Extras: make([]Extra, 1), Groups: make([]*elements.Group, 1), Names: []string{""}}
}

// Grow makes room for a number of nodes and texts.
func (t *Tree) Grow(nodes, texts int) {
	t.Nodes, t.Details, t.Texts = grown(t.Nodes, nodes), grown(t.Details, nodes), grown(t.Texts, texts)
}

// grown returns a list with room for n more, and for twice as many if it must be copied.
func grown[T any](list []T, n int) []T {
	if cap(list)-len(list) >= n {
		return list
	}
	return slices.Grow(list, max(n, len(list), 8))
}

// Add writes a node, and returns its ID. Pointers to nodes and extras are valid until the next one is written.
func (t *Tree) Add(parent ID, n Node) ID {
	id := ID(len(t.Nodes))
	n.Parent, n.End = parent, id+1
	if !n.Is(HasPriority) {
		n.Priority = Unset
	}
	if len(t.Nodes) == cap(t.Nodes) {
		t.Grow(1, 0)
	}
	t.Nodes, t.Details = append(t.Nodes, n), append(t.Details, Details{})
	return id
}

// AddText writes a text.
func (t *Tree) AddText(parent ID, n Node, text string) ID {
	n.Kind, n.Index = Text, t.addText(text)
	return t.Add(parent, n)
}

// BecomeText makes an element without children a text.
func (t *Tree) BecomeText(n ID, text string) {
	t.Nodes[n].Kind, t.Nodes[n].Index = Text, t.addText(text)
}

func (t *Tree) addText(text string) (index int32) {
	if len(t.Texts) == cap(t.Texts) {
		t.Grow(0, 1)
	}
	t.Texts = append(t.Texts, CountedText{Text: text})
	return int32(len(t.Texts) - 1)
}

// SetFlag sets a flag if a condition holds.
func (n *Node) SetFlag(f Flags, holds bool) {
	if holds {
		n.Flags |= f
	}
}

// SetPriority sets the priority if it is not nil. The highest is [Unset].
func (n *Node) SetPriority(priority *int) {
	if priority != nil {
		n.Priority = min(*priority, Unset)
		n.Flags |= HasPriority
		n.SetFlag(Offered, n.Priority < Unset)
	}
}

// InheritPriority copies the priority of another node.
func (n *Node) InheritPriority(from *Node) {
	n.Priority = from.Priority
	n.Flags |= from.Flags & (HasPriority | Offered)
}

// SetName sets the name of an element.
func (t *Tree) SetName(n ID, name string) { t.Details[n].Name = t.NameIndex(name) }

// NameIndex returns the index of a name in Names.
func (t *Tree) NameIndex(name string) uint32 {
	if last := len(t.Names) - 1; t.Names[last] == name {
		return uint32(last)
	}
	if t.names == nil {
		t.names = map[string]uint32{}
		for i, known := range t.Names {
			t.names[known] = uint32(i)
		}
	}
	number, known := t.names[name]
	if !known {
		number = uint32(len(t.Names))
		t.names[name], t.Names = number, append(t.Names, name)
	}
	return number
}

// EnsureExtra returns the extra of a node, for writing.
func (t *Tree) EnsureExtra(n ID) *Extra {
	if t.Details[n].Extra == 0 {
		t.Details[n].Extra = int32(len(t.Extras))
		t.Extras = append(grown(t.Extras, 1), Extra{})
	}
	return &t.Extras[t.Details[n].Extra]
}

// SetGroup sets the group of a KeepWith.
func (t *Tree) SetGroup(n ID, g *elements.Group) {
	if g != nil {
		t.Details[n].Group = int32(len(t.Groups))
		t.Groups = append(t.Groups, g)
	}
}

// Refer records references in a node.
func (t *Tree) Refer(n ID, references ...elements.Reference) {
	if len(references) > 0 {
		extra := t.EnsureExtra(n)
		extra.References = append(extra.References, references...)
	}
}

// Close records that everything in an element is written.
func (t *Tree) Close(id ID) {
	n := &t.Nodes[id]
	n.End = ID(len(t.Nodes))
	if n.Flags &^= OneText | OnlyLines; n.Kind == Message && t.Extra(id).Transfer == nil { // a transfer writes all flags
		n.Flags &^= Chunk | Legacy | PassesPriority
	}
	if n.Is(PassesPriority) && !n.Is(HasPriority) {
		n.Priority = 0
	}
	if n.Leaf() {
		return
	}
	n.SetFlag(OneText, n.Kind == Container && n.End == id+2 && t.Nodes[id+1].Kind == Text)
	for c := id + 1; c < n.End; c = t.Nodes[c].End {
		child := &t.Nodes[c]
		if !child.Is(OnlyLines) && !(child.Kind == Text && (child.Is(StartsLine) || t.Text(c) == "\n")) {
			return
		}
	}
	n.Flags |= OnlyLines
}

// Order sets the children of a node in document order, if they were not written in it.
func (t *Tree) Order(n ID, children []ID) {
	if !slices.IsSorted(children) {
		t.setOrder(n, slices.Clone(children))
	}
}

func (t *Tree) setOrder(n ID, children []ID) {
	if t.orders == nil {
		t.orders = map[ID][]ID{}
	}
	t.orders[n] = children
}

// LeaveOut leaves out one side of an IfEmpty: the first, or the second if that is blank.
func (t *Tree) LeaveOut(n ID) { t.setOrder(n, []ID{t.Taken(n)}) }

// Taken returns the side of an IfEmpty that is not left out.
func (t *Tree) Taken(n ID) ID {
	first := n + 1
	if second := t.Nodes[first].End; !t.blank(second) {
		return second
	}
	return first
}

// blank reports whether a node holds nothing but white space.
func (t *Tree) blank(n ID) bool {
	for end := t.Nodes[n].End; n < end; n++ {
		if t.Nodes[n].Kind == Text && !Blank(t.Text(n)) || t.Nodes[n].Kind != Text && t.nonBlank(n) > 0 {
			return false
		}
	}
	return true
}

// Append appends nodes of another tree, from first on, with the lists of layout. Nodes whose parent comes before first
// get the given one.
func (t *Tree) Append(from *Tree, first, parent ID) {
	shift, texts, extras, groups := ID(len(t.Nodes))-first, int32(len(t.Texts)), int32(len(t.Extras)-1), int32(len(t.Groups)-1)
	moved := func(n ID) ID {
		if n < first {
			return parent
		}
		return n + shift
	}
	if t.sharesTexts {
		t.Texts, t.sharesTexts = copied(make([]CountedText, 0, len(t.Texts)+len(from.Texts)), t.Texts), false
	}
	t.Grow(len(from.Nodes)-int(first), len(from.Texts))
	t.Texts = copied(t.Texts, from.Texts)
	t.Extras, t.Groups = append(t.Extras, from.Extras[1:]...), append(t.Groups, from.Groups[1:]...)
	for i, n := range from.Nodes[first:] {
		d := from.Details[int(first)+i]
		n.Parent, n.End = moved(n.Parent), n.End+shift
		if n.Kind == Text {
			n.Index += texts
		}
		if d.Name != 0 {
			d.Name = t.NameIndex(from.Names[d.Name])
		}
		if d.Extra != 0 {
			d.Extra += extras
		}
		if d.Group != 0 {
			d.Group += groups
		}
		t.Nodes, t.Details = append(t.Nodes, n), append(t.Details, d)
	}
	for _, n := range from.Limits {
		t.Limits = append(t.Limits, moved(n))
	}
	for _, e := range from.Expandables {
		e.ID, e.from, e.to = moved(e.ID), e.from+len(t.Globals), e.to+len(t.Globals)
		t.Expandables = append(t.Expandables, e)
	}
	t.Globals = append(t.Globals, from.Globals...)
	for n, children := range from.orders {
		order := make([]ID, len(children))
		for i, c := range children {
			order[i] = moved(c)
		}
		t.setOrder(moved(n), order)
	}
}

// Take appends the contents of another tree's root to a node.
func (t *Tree) Take(n ID, from *Tree) {
	t.Append(from, 1, n)
	if root := from.Extra(Root); len(root.Locals)+len(root.References) > 0 {
		extra := t.EnsureExtra(n)
		extra.Locals, extra.References = root.Locals, root.References
	}
}

// AddExpandable lists an expandable whose global metadata begin at an index in Globals.
func (t *Tree) AddExpandable(e Expandable, from int) {
	e.from, e.to = from, len(t.Globals)
	t.Expandables = append(t.Expandables, e)
}

// copied appends texts. Fits may be counting them.
func copied(to, texts []CountedText) []CountedText {
	for i := range texts {
		to = append(to, CountedText{texts[i].Text, atomic.LoadInt32(&texts[i].tokens), 0})
	}
	return to
}

// Finish puts the nodes in document order, and returns the tree, which must not be written to any more.
func (t *Tree) Finish() *Tree {
	if t.orders != nil {
		t = t.rewritten(HistoryAsGiven, surroundings{})
	}
	t.names = nil
	t.sum()
	t.requireCalled()
	return t
}

// sum sets what is known once all nodes are written.
func (t *Tree) sum() {
	message, legacy := Root, Root // the ends of the outermost ones that were met
	for i := range t.Nodes {
		id, n, d := ID(i), &t.Nodes[i], &t.Details[i]
		if n.Kind != Text {
			n.Index = int32(t.Others)
			t.Others++
		}
		switch n.Kind {
		case Message:
			t.Messages++
			t.NestedMessages = t.NestedMessages || id < message
			message = max(message, n.End)
		case Breakpoint:
			t.Breakpoints = true
		case Tool:
			t.Tools = append(t.Tools, id)
		}
		t.Required = t.Required || n.Is(Required)
		t.HasHistory = t.HasHistory || n.Is(ShowsHistory)
		t.Trims = t.Trims || n.Is(Trimmable)
		t.OuterChunks = t.OuterChunks || n.Is(Chunk) && (id < legacy || id >= message)
		if n.Is(Legacy) {
			legacy = max(legacy, n.End)
		}
		if n.Kind == Text {
			if n.SetFlag(WhiteSpace, Blank(t.Texts[n.Index].Text)); n.Is(Cut) && n.Is(WhiteSpace) {
				t.Shareless = append(t.Shareless, id)
			}
		}
		if d.Group != 0 {
			t.Grouped++
		}
		if d.Extra != 0 {
			t.sumExtra(n.Kind, &t.Extras[d.Extra])
		}
	}
}

func (t *Tree) sumExtra(kind Kind, e *Extra) {
	for _, c := range e.Calls {
		if c.KeepWith != nil {
			t.Grouped++
		}
	}
	t.References = append(t.References, e.References...)
	t.HasLocals = t.HasLocals || e.Locals != nil
	t.HasTags = t.HasTags || e.Tag != nil
	if kind == Finished {
		t.Messages += len(e.Block.Messages)
		t.Breakpoints = t.Breakpoints || e.Block.Tree.Breakpoints
	}
}

// requireCalled requires the tools that messages call.
func (t *Tree) requireCalled() {
	if len(t.Tools) == 0 {
		return
	}
	called := map[string]bool{}
	for i, n := range t.Nodes {
		extra := t.Extra(ID(i))
		for _, c := range extra.Calls {
			called[c.Name] = true
		}
		if n.Kind == Finished {
			for _, m := range extra.Block.Messages {
				for _, c := range m.ToolCalls {
					called[c.Name] = true
				}
			}
		}
	}
	for _, n := range t.Tools {
		if called[t.Extra(n).Tool.Name] {
			t.Nodes[n].Flags |= Required
			t.Required = true
		}
	}
}
