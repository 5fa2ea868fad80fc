package order

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// groups lists the members of all groups, removed or not. The removal of a member can remove its neighbours, so the
// order of removal matters. It is that of prompt-tsx: from the last member to the first, but ancestors before their
// descendants.
type groups struct {
	byKey    map[*elements.Group]int32
	of       []int32       // group by node, 0 for none
	all      []group       // all[0] is unused: 0 means no group
	members  []tree.Change // elements of groups, and the calls that are linked to one
	removing []int32       // stack of the groups that are being removed
	indexes  []int32       // stack of their members, as indexes in members
}

type group struct {
	members  []int32 // indexes in groups.members
	removing bool
}

// Members returns the elements of a group, and the calls that are linked to it, removed or not.
func (o *Order) Members(of *elements.Group) (members []tree.Change) {
	g := o.allGroups()
	for _, i := range g.all[g.byKey[of]].members {
		members = append(members, g.members[i])
	}
	return members
}

// allGroups returns the groups of the tree, which are found when they are first needed.
func (o *Order) allGroups() *groups {
	if o.groups != nil {
		return o.groups
	}
	g := &groups{
		byKey: make(map[*elements.Group]int32, o.tree.Grouped/4), of: make([]int32, len(o.tree.Nodes)), all: make([]group, 1, 1+o.tree.Grouped/4),
		members: make([]tree.Change, 0, o.tree.Grouped),
	}
	add := func(key *elements.Group, n tree.ID, call int) int32 {
		number, known := g.byKey[key]
		if !known {
			number = int32(len(g.all))
			g.byKey[key], g.all = number, append(g.all, group{})
		}
		g.all[number].members = append(g.all[number].members, int32(len(g.members)))
		g.members = append(g.members, tree.Change{Node: n, Call: int32(call)})
		return number
	}
	var children []tree.ID // a stack
	var walk func(n tree.ID)
	walk = func(n tree.ID) {
		if group := o.tree.GroupOf(n); group != nil {
			g.of[n] = add(group, n, -1)
		}
		if o.tree.Nodes[n].Is(tree.OneText) {
			return
		}
		for i, c := range o.tree.Extra(n).Calls {
			if c.KeepWith != nil {
				add(c.KeepWith, n, i)
			}
		}
		from := len(children)
		for c := n + 1; c < o.tree.Nodes[n].End; c = o.tree.Nodes[c].End {
			if !o.tree.Nodes[c].Leaf() {
				children = append(children, c)
			}
		}
		for i := len(children) - 1; i >= from; i-- {
			walk(children[i])
		}
		children = children[:from]
	}
	walk(tree.Root)
	o.groups = g
	return g
}

// removeGroups removes the groups that have a member in a node that was removed.
func (o *Order) removeGroups(gone tree.ID) {
	g := o.allGroups()
	from, first := len(g.removing), len(g.indexes)
	o.collectGroups(gone)
	removed := g.removing[from:]
	for _, number := range removed {
		g.indexes = append(g.indexes, g.all[number].members...)
	}
	if len(removed) > 1 {
		slices.Sort(g.indexes[first:])
	}
	o.removeMembers(g.indexes[first:])
	for _, number := range removed {
		g.all[number].removing = false
	}
	g.removing, g.indexes = g.removing[:from], g.indexes[:first]
}

// collectGroups adds to groups.removing the groups that have an element in n, or to which a call in n is linked.
func (o *Order) collectGroups(n tree.ID) {
	g := o.groups
	collect := func(number int32) {
		if number != 0 && !g.all[number].removing {
			g.all[number].removing = true
			g.removing = append(g.removing, number)
		}
	}
	collect(g.of[n])
	if o.Strict && o.tree.Nodes[n].Kind == tree.Message {
		for _, c := range o.state.At(tree.Latest).Calls(n) {
			collect(g.byKey[c.KeepWith])
		}
	}
	if o.tree.Nodes[n].Is(tree.OneText) {
		return
	}
	for c := range o.state.At(tree.Latest).Children(n) {
		if !o.tree.Nodes[c].Leaf() {
			o.collectGroups(c)
		}
	}
}

// removeMembers removes members of groups. The calls of one message are next to each other in the list.
func (o *Order) removeMembers(indexes []int32) {
	for len(indexes) > 0 {
		m, calls := o.groups.members[indexes[0]], 0
		for calls < len(indexes) && o.groups.members[indexes[calls]].Node == m.Node && o.groups.members[indexes[calls]].Call >= 0 {
			calls++
		}
		switch {
		case !o.state.Attached(m.Node, tree.None):
		case calls > 0:
			o.removeCalls(m.Node, indexes[:calls])
		default:
			o.cascade(m.Node, tree.ByGroup)
		}
		indexes = indexes[max(1, calls):]
	}
}

// removeCalls removes calls from a message.
func (o *Order) removeCalls(n tree.ID, indexes []int32) {
	removed := false
	for _, index := range indexes {
		removed = o.state.RemoveCall(n, int(o.groups.members[index].Call)) || removed
	}
	if removed && o.state.Blank(n) && !o.Held(n) {
		o.cascade(n, tree.ByEmptiness)
	}
}
