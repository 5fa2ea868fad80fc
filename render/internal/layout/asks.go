package layout

import (
	"fmt"
	"reflect"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/guard"
)

// asks reports whether an element asks for a share of the budget. These do: a text chunk that is cut to its share, an
// expandable, an element of the caller's own type unless it ignores its budget (if callers is set, even then), and an
// element that holds one of these. No element is rendered to find out. A tree of more than maxVisits nodes asks.
func (s *site) asks(n elements.Node, callers bool) bool {
	a := asker{left: maxVisits, callers: callers}
	asks := a.asks(n)
	if a.left < 0 {
		s.watch.SetEndless(s.node, fmt.Errorf("%w: it has more than %d pieces", guard.ErrEndless, maxVisits))
	}
	return asks
}

// maxVisits is the number of nodes that are visited, because a tree may have no end.
const maxVisits = 1 << 20

// asker looks for an element that asks.
type asker struct {
	left    int
	callers bool // all elements of the caller's own types ask
}

func (a *asker) asks(n elements.Node) bool {
	if a.left--; a.left < 0 {
		return true // layout reports the error
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
