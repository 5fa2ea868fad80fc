package draft

import (
	"slices"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// Replace returns a copy of a tree in which grown takes the place of the expandable id. moved maps the nodes of the old
// tree to the new one; it returns tree.None for nodes that were in the expandable. Limits and metadata are those of the
// old tree.
func Replace(old *tree.Tree, id tree.ID, grown *Node, history History) (t *tree.Tree, moved func(tree.ID) tree.ID) {
	end := old.Nodes[id].End
	b := newBuilder(history)
	*b.tree = *old
	t = b.tree
	t.Names, t.Extras = slices.Clone(old.Names), slices.Clone(old.Extras)
	t.Groups, t.References = slices.Clone(old.Groups), slices.Clone(old.References)
	t.Shareless = nil // those of the old tree were removed
	before, _ := slices.BinarySearch(old.Tools, id)
	t.Tools = slices.Clone(old.Tools[:before])
	t.Nodes = append(make([]tree.Node, 0, len(old.Nodes)), old.Nodes[:id]...)
	for number, name := range t.Names {
		b.names[name] = uint32(number)
	}
	var in surroundings
	for up := old.Nodes[id].Parent; up != tree.None; up = old.Nodes[up].Parent {
		n := &old.Nodes[up]
		in.message = in.message || n.Kind == tree.Message
		in.required = in.required || n.Is(tree.Required)
		in.legacy = in.legacy || n.Is(tree.Legacy)
	}
	in.ignored = history.ignores(grown)
	b.add(grown, old.Nodes[id].Parent, old.Nodes[id].Nth, in)
	shift := tree.ID(len(t.Nodes)) - end
	moved = func(n tree.ID) tree.ID {
		switch {
		case n <= id: // the expandable itself keeps its ID
			return n
		case n < end:
			return tree.None
		}
		return n + shift
	}
	for _, n := range old.Nodes[end:] {
		n.Parent, n.End = moved(n.Parent), n.End+shift
		t.Nodes = append(t.Nodes, n)
	}
	for _, tool := range old.Tools[before:] {
		if tool >= end {
			t.Tools = append(t.Tools, tool+shift)
		}
	}
	for up := old.Nodes[id].Parent; up != tree.None; up = old.Nodes[up].Parent {
		t.Nodes[up].End += shift
		if !t.Nodes[id].Is(tree.OnlyLines) {
			t.Nodes[up].Flags &^= tree.OnlyLines
		}
	}
	b.requireCalled()
	return t, moved
}
