package log

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/storage"
)

// Anywhere is a position after the end of every store.
const Anywhere storage.Position = 1<<63 - 1

// Node is an entry as a path in memory holds it.
type Node struct {
	ID         string
	At         storage.Position
	Kind       kind.Kind
	long       bool              // it was read when the path was opened, and has a text
	compaction *entry.Compaction // nil for other entries
}

func newNode(e entry.Entry, at storage.Position) Node {
	n := Node{ID: e.ID, At: at, Kind: kind.Of(e)}
	if c, ok := e.Body.(entry.Compaction); ok {
		n.compaction = &c
	}
	return n
}

// Path is the newest part of the path to an entry: from the cut of the newest compaction, or from the root. Positions
// increase along it. A path that others can see is not changed.
type Path struct {
	Nodes  []Node
	before string // the id of the first entry's parent, "" if the first is the root
}

// whole reports whether the path reaches to the root.
func (p Path) whole() bool { return p.before == "" }

// Last returns the last node, and the zero value if there is none.
func (p Path) Last() Node {
	if len(p.Nodes) == 0 {
		return Node{}
	}
	return p.Nodes[len(p.Nodes)-1]
}

// Index returns the index of the node with an id, -1 if there is none.
func (p Path) Index(id string) int {
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		if p.Nodes[i].ID == id {
			return i
		}
	}
	return -1
}

// IndexAt returns the index of the first node at a position or after it.
func (p Path) IndexAt(at storage.Position) int {
	i, _ := slices.BinarySearchFunc(p.Nodes, at, func(n Node, at storage.Position) int { return cmp.Compare(n.At, at) })
	return i
}

// to returns the path up to one of its nodes.
func (p Path) to(i int) Path {
	p.Nodes = p.Nodes[: i+1 : i+1]
	return p
}

// with returns the path with one more node.
func (p Path) with(n Node) Path {
	p.Nodes = append(p.Nodes, n)
	return p
}

// compaction returns the index of the newest compaction, -1 if there is none.
func (p Path) compaction() int {
	for i, n := range slices.Backward(p.Nodes) {
		if n.compaction != nil {
			return i
		}
	}
	return -1
}

// Boundary returns the position of the first entry that the newest compaction does not cover, the position after that
// compaction's entry, and the compaction. Without a compaction the positions are 0.
func (p Path) Boundary() (first, after storage.Position, c entry.Compaction) {
	i := p.compaction()
	if i < 0 {
		return 0, 0, entry.Compaction{}
	}
	c, after = *p.Nodes[i].compaction, p.Nodes[i].At+1
	return p.to(i).Cut(c, after), after, c
}

// Cut returns the position at which a compaction cuts the path, and all if it covers everything or its entry is not on
// the path.
func (p Path) Cut(c entry.Compaction, all storage.Position) storage.Position {
	i := p.Index(c.Boundary())
	switch {
	case c.Boundary() == "" || i < 0:
		return all
	case c.FirstKept == "":
		return p.Nodes[i].At + 1
	}
	return p.Nodes[i].At
}

// mayCut reports whether the entry at an index may be the first that is kept. It must be one that is shown and not a
// tool result, or an entry that only the session knows followed by one.
func (p Path) mayCut(i int) bool {
	for _, n := range p.Nodes[i:] {
		switch {
		case n.Kind == kind.Tool || n.ID == p.Nodes[i].ID && n.Kind == kind.Compaction:
			return false
		case n.Kind.Shown() || n.Kind == kind.Compaction:
			return true
		}
	}
	return true
}

// base finds the first node that a path needs, walking back: the one at which the newest compaction cuts, or the
// compaction itself if it covers everything.
type base struct {
	id string           // of the entry at which the compaction cuts
	at storage.Position // of the compaction, 0 until it is found
}

// reached records the next node on the way back, and reports whether no more are needed.
func (b *base) reached(n Node) bool {
	if b.at == 0 && n.compaction != nil {
		b.id, b.at = n.compaction.Boundary(), n.At
		return b.id == "" || b.id == n.ID
	}
	return b.at != 0 && b.id == n.ID
}

// trimmed returns the path from its base on.
func (p Path) trimmed() Path {
	var b base
	for i, n := range slices.Backward(p.Nodes) {
		if b.reached(n) && i > 0 {
			p.before, p.Nodes = p.Nodes[i-1].ID, slices.Clone(p.Nodes[i:])
			break
		}
	}
	return p
}
