package layout

import (
	"fmt"
	"reflect"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/guard"
)

// asks reports whether an element asks for a share of the budget: a text chunk that is cut to it, an expandable, an element of the
// caller's that does not ignore it, or with callers any of the caller's, or an element that holds one of these. Nothing of the caller's is
// rendered for it. A tree that it does not come to the end of asks.
func (s *site) asks(n elements.Node, callers bool) bool {
	a := asker{left: maxVisits, callers: callers}
	asks := a.asks(n)
	if a.left < 0 {
		s.watch.SetEndless(s.node, fmt.Errorf("%w: it has more than %d pieces", guard.ErrEndless, maxVisits))
	}
	return asks
}

// maxVisits is how many nodes are looked at, in a tree that may have no end.
const maxVisits = 1 << 20

// asker looks for an element that asks.
type asker struct {
	left    int
	callers bool // all elements of the caller's are taken to ask
}

func (a *asker) asks(n elements.Node) bool {
	if a.left--; a.left < 0 {
		return true // the layout will say what is wrong
	}
	switch n := n.(type) {
	case nil:
		return false
	case elements.Nodes:
		return a.anyAsks(n)
	case elements.WithPriority:
		return a.asks(n.Node)
	}
	if k, ok := builtinOf(n); ok {
		return k.asks || a.anyAsks(k.children)
	}
	if value, ok := valueOf(n); ok {
		return a.asks(value)
	}
	_, ignores := n.(elements.IgnoresBudget)
	return a.callers || !ignores
}

func (a *asker) anyAsks(list elements.Nodes) bool {
	for _, n := range list {
		if a.asks(n) {
			return true
		}
	}
	return false
}

// valueOf returns what a pointer to a type of package elements points to, nil if the pointer is nil and its type a list, and whether
// the node is such a pointer.
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
