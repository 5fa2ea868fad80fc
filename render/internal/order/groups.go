package order

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// groups are the members of all groups, gone or not. What goes in a group can take neighbours along, so the order in which its
// members go matters; it is prompt-tsx's, from the last to the first, what holds others before them.
type groups struct {
	byKey   map[*elements.Group]int32
	of      []int32 // by node, 0 for none
	all     []group // the first is none
	members []member
	going   []int32 // the groups that are being taken out
	places  []int32 // of the members that go with them
}

type group struct {
	members []int32 // places
	going   bool    // it is being taken out
}

// member is an element of a group, or a message that makes a call that is linked to it.
type member struct {
	node tree.ID
	call int32 // of the message, -1 for an element
}

// findGroups lists the members of all groups.
func (o *Order) findGroups() *groups {
	g := &groups{
		byKey: make(map[*elements.Group]int32, o.tree.Grouped/4), of: make([]int32, len(o.tree.Nodes)), all: make([]group, 1, 1+o.tree.Grouped/4),
		members: make([]member, 0, o.tree.Grouped),
	}
	add := func(key *elements.Group, n tree.ID, call int) int32 {
		number, known := g.byKey[key]
		if !known {
			number = int32(len(g.all))
			g.byKey[key], g.all = number, append(g.all, group{})
		}
		g.all[number].members = append(g.all[number].members, int32(len(g.members)))
		g.members = append(g.members, member{n, int32(call)})
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
	return g
}

// removeGroups takes out the groups of which a member stood in what went.
func (o *Order) removeGroups(gone tree.ID) {
	if o.groups == nil {
		o.groups = o.findGroups()
	}
	g := o.groups
	from, first := len(g.going), len(g.places)
	o.collectGroups(gone)
	numbers := g.going[from:]
	for _, number := range numbers {
		g.places = append(g.places, g.all[number].members...)
	}
	if len(numbers) > 1 {
		slices.Sort(g.places[first:])
	}
	o.removeMembers(g.places[first:])
	for _, number := range numbers {
		g.all[number].going = false
	}
	g.going, g.places = g.going[:from], g.places[:first]
}

// collectGroups collects the groups of which an element stands in n, or to which a call in it is linked, and which are not being
// taken out yet.
func (o *Order) collectGroups(n tree.ID) {
	g := o.groups
	collect := func(number int32) {
		if number != 0 && !g.all[number].going {
			g.all[number].going = true
			g.going = append(g.going, number)
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

// removeMembers takes out members of groups. The calls of one message stand together among them.
func (o *Order) removeMembers(places []int32) {
	for len(places) > 0 {
		m, calls := o.groups.members[places[0]], 0
		for calls < len(places) && o.groups.members[places[calls]].node == m.node && o.groups.members[places[calls]].call >= 0 {
			calls++
		}
		switch {
		case !o.state.Attached(m.node, tree.None):
		case calls > 0:
			o.removeCalls(m.node, places[:calls])
		default:
			o.remove(m.node, tree.ByGroup)
		}
		places = places[max(1, calls):]
	}
}

// removeCalls takes calls out of a message.
func (o *Order) removeCalls(n tree.ID, places []int32) {
	taken := false
	for _, place := range places {
		taken = o.state.TakeCall(n, int(o.groups.members[place].call)) || taken
	}
	if !taken {
		return
	}
	if o.state.Blank(n) && !o.Held(n) {
		o.remove(n, tree.ByEmptiness)
	}
}
