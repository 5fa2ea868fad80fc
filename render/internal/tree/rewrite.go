package tree

import "slices"

// HistoryMode says whether elements that show history are required.
type HistoryMode uint8

// The modes of history: see HistoryMode in package render.
const (
	HistoryAsGiven HistoryMode = iota
	HistoryRequired
	HistoryDroppable
	HistoryModes // number of modes
)

// WithHistory returns the tree of another mode, if this one has history as given. Both have the same texts, so that a
// text is counted once.
func (t *Tree) WithHistory(mode HistoryMode) *Tree {
	if mode == HistoryAsGiven || !t.HasHistory {
		return t
	}
	return t.rewritten(mode, surroundings{}).Finish()
}

// surroundings says what is around a node: a required element, history whose Required is ignored.
type surroundings struct{ required, ignored bool }

// rewritten returns the tree with its nodes in document order, and with history in a mode.
func (t *Tree) rewritten(mode HistoryMode, in surroundings) *Tree {
	w := rewriter{from: t, to: t.withoutNodes(), mode: mode, moved: make([]ID, len(t.Nodes))}
	for i := range w.moved {
		w.moved[i] = None
	}
	w.to.Grow(len(t.Nodes), 0)
	w.add(Root, None, in)
	for _, n := range t.Limits {
		if n = w.moved[n]; n != None {
			w.to.Limits = append(w.to.Limits, n)
		}
	}
	for _, e := range t.Expandables {
		if e.ID = w.moved[e.ID]; e.ID != None {
			w.to.Expandables = append(w.to.Expandables, e)
		}
	}
	return w.to
}

// withoutNodes returns a tree that may have the same nodes: the indexes in them mean the same.
func (t *Tree) withoutNodes() *Tree {
	return &Tree{
		Texts: t.Texts, sharesTexts: true, Extras: slices.Clip(t.Extras), Groups: slices.Clip(t.Groups), Names: slices.Clip(t.Names), Globals: t.Globals,
	}
}

// rewriter writes the nodes of a tree again.
type rewriter struct {
	from, to *Tree
	mode     HistoryMode
	moved    []ID // by node of from, its ID in to, None for a node that is left out
}

func (w *rewriter) add(n, parent ID, in surroundings) {
	node := w.from.Nodes[n]
	if w.mode != HistoryAsGiven {
		in = w.require(n, &node, in)
	}
	id := w.to.Add(parent, node)
	w.to.Details[id] = w.from.Details[n]
	w.moved[n] = id
	if w.from.Nodes[n].Kind == Finished && node.Kind == Container {
		w.to.Append(w.from.Extra(n).Block.Tree, 1, id)
	}
	if node.Leaf() {
		return
	}
	if order, ok := w.from.orders[n]; ok {
		for _, c := range order {
			w.add(c, id, in)
		}
	} else {
		for c := n + 1; c < w.from.Nodes[n].End; c = w.from.Nodes[c].End {
			w.add(c, id, in)
		}
	}
	w.to.Close(id)
}

// require decides whether a node is required, and whether finished messages are one node.
func (w *rewriter) require(n ID, node *Node, in surroundings) surroundings {
	required := node.Is(Required)
	if node.Is(ShowsHistory) {
		required = required || w.mode == HistoryRequired
		in.ignored = w.mode == HistoryDroppable && w.from.ranksMessages(n)
	}
	node.Flags &^= Required
	if required && !in.ignored {
		node.Flags |= Required
		in.required = true
	}
	if w.from.Extra(n).Block != nil {
		node.Flags &^= OneText | OnlyLines
		if node.Kind = Container; in.required {
			node.Kind = Finished
		}
	}
	return in
}

// ranksMessages reports whether a message in n, or an element between n and a message, has a priority.
func (t *Tree) ranksMessages(n ID) bool {
	for c := n + 1; c < t.Nodes[n].End; c = t.Nodes[c].End {
		child := &t.Nodes[c]
		if child.Leaf() && t.Name(c) == "" { // the priority of a text is that of the element around it
			continue
		}
		if child.Is(Offered) || child.Kind != Message && t.ranksMessages(c) {
			return true
		}
	}
	return false
}

// Replace returns a copy of a tree in which grown takes the place of an expandable, the i-th of all. It changes all to
// the expandables of the copy. moved maps the nodes of the old tree to the new one; it returns None for nodes that were in
// the expandable.
func (t *Tree) Replace(all []Expandable, i int, grown *Tree, mode HistoryMode) (next *Tree, moved func(ID) ID) {
	id := all[i].ID
	parent, end := t.Nodes[id].Parent, t.Nodes[id].End
	if mode != HistoryAsGiven {
		grown = grown.rewritten(mode, t.around(parent, mode))
	}
	next = t.withoutNodes()
	next.Nodes, next.Details = slices.Clone(t.Nodes[:id]), slices.Clone(t.Details[:id])
	next.Append(grown, Root, parent)
	next.Details[id].Nth = t.Details[id].Nth
	shift := ID(len(next.Nodes)) - end
	moved = func(n ID) ID {
		switch {
		case n <= id: // the expandable itself keeps its ID
			return n
		case n < end:
			return None
		}
		return n + shift
	}
	for j, n := range t.Nodes[end:] {
		n.Parent, n.End = moved(n.Parent), n.End+shift
		next.Nodes, next.Details = append(next.Nodes, n), append(next.Details, t.Details[int(end)+j])
	}
	for up := parent; up != None; up = t.Nodes[up].Parent {
		next.Nodes[up].End += shift
		if !next.Nodes[id].Is(OnlyLines) {
			next.Nodes[up].Flags &^= OnlyLines
		}
	}
	from, to := all[i].from, all[i].to
	next.Globals = slices.Concat(t.Globals[:from], grown.Globals, t.Globals[to:])
	for j := range all {
		e := &all[j]
		if e.ID != None {
			e.ID = moved(e.ID)
		}
		if e.from >= to && j != i {
			e.from += len(grown.Globals) - (to - from)
		}
		if e.to >= to {
			e.to += len(grown.Globals) - (to - from)
		}
	}
	next.Limits, next.Expandables = nil, nil
	return next.Finish(), moved
}

// around returns the surroundings of the nodes in a parent.
func (t *Tree) around(parent ID, mode HistoryMode) (in surroundings) {
	judged := mode != HistoryDroppable
	for up := parent; up != None; up = t.Nodes[up].Parent {
		in.required = in.required || t.Nodes[up].Is(Required)
		if !judged && t.Nodes[up].Is(ShowsHistory) {
			in.ignored, judged = t.ranksMessages(up), true
		}
	}
	return in
}
