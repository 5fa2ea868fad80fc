package layout

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// asks reports whether an element asks for a share of the budget. These do: a text chunk with a break that has a
// FlexGrow or a FlexBasis, an expandable, an element of the caller's own type unless it ignores its budget (if callers
// is set, even then), and an element that holds one of these. No element is rendered to find out. After maxVisits nodes,
// each one asks.
func (s *site) asks(n elements.Node, callers bool) bool {
	a := asker{askingLists: s.askingLists, callers: callers, allBreaks: s.layouter.cutsAllToShare()}
	asks := a.asks(n, 0)
	if a.visits.Load() > maxVisits {
		s.watch.SetEndless(s, fmt.Errorf("%w: it has more than %d pieces", tree.ErrEndless, maxPieces))
	}
	return asks
}

// maxVisits is the number of nodes that a layout visits, because a tree may have no end: four times the pieces that it
// may have.
const (
	maxPieces = 1 << 20
	maxVisits = 4 * maxPieces
)

// asker looks for an element that asks.
type asker struct {
	*askingLists
	callers   bool // all elements of the caller's own types ask
	allBreaks bool // all texts with a break ask
}

// asks is asks for a node that deep in the element.
func (a *asker) asks(n elements.Node, depth int) bool {
	if a.visits.Add(1) > maxVisits || depth > 2*guard.MaxDepth {
		return true // layout reports the error
	}
	switch n := n.(type) {
	case nil:
		return false
	case elements.Nodes:
		return a.anyAsks(n, depth+1)
	case elements.WithPriority:
		return a.asks(n.Node, depth+1)
	}
	if c, ok := n.(elements.TextChunk); ok && !hasBreak(&c) { // most nodes
		return false
	}
	if k, ok := builtinOf(n); ok {
		return k.asks || k.breaks && a.allBreaks || a.anyAsks(k.children, depth+1)
	}
	if value, ok := valueOf(n); ok {
		return a.asks(value, depth+1)
	}
	_, ignores := n.(elements.IgnoresBudget)
	return a.callers || !ignores
}

func (a *asker) anyAsks(list elements.Nodes, depth int) bool {
	if len(list) == 0 {
		return false
	}
	of := listKey{&list[0], len(list), a.callers}
	if _, known := a.lists.Load(of); known {
		return true
	}
	for _, n := range list {
		if a.asks(n, depth) {
			a.lists.Store(of, nil)
			return true
		}
	}
	return false
}

// askingLists remembers the lists in which something asks: the layout of the element around such a list asks about its
// members. An element in which nothing asks is not asked about again (place.noShare, place.quiet). So layout visits each
// node twice to find out, and twice more for the question about the caller's elements, however deep the tree is.
type askingLists struct {
	visits atomic.Int64
	lists  sync.Map // by listKey; elements of one flex group may be laid out concurrently
}

// listKey identifies a list.
type listKey struct {
	first   *elements.Node
	members int
	callers bool
}

// valueOf returns the element that a pointer to a type of package elements points to, or nil for a nil pointer to a
// list. ok is false for any other node.
func valueOf(n elements.Node) (value elements.Node, ok bool) {
	v := reflect.ValueOf(n)
	if v.Kind() != reflect.Pointer || v.Type().Elem().PkgPath() != elementsPath {
		return nil, false
	}
	if !v.IsNil() {
		value, ok = v.Elem().Interface().(elements.Node)
		return value, ok
	}
	switch n.(type) {
	case *elements.Nodes, *elements.WithPriority:
		return nil, true
	}
	return nil, false
}

// elementsPath is the path of the package of the built-in elements.
var elementsPath = reflect.TypeFor[elements.Props]().PkgPath()
