package layout

import (
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/visible"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// item is a node of a flattened list.
type item struct {
	element  elements.Node
	kind     kind
	priority *int // set from outside, by a WithPriority
	props    elements.Props
	node     tree.ID    // of a literal, None if it has none
	nth      int32      // among siblings of the same name
	place    int        // of an element among its siblings, in document order
	limit    int        // index of a TokenLimit in the tree's Limits, plus one
	own      *tree.Tree // of an element that is not laid out in its turn
	share    int        // of the budget, in tokens
	noShare  bool       // it does not ask for a share
	demand   demand
}

// anyOf reports whether a condition holds for one of the items, which are too large to be passed by value.
func anyOf(items []item, is func(*item) bool) bool {
	for i := range items {
		if is(&items[i]) {
			return true
		}
	}
	return false
}

// readProps reads the properties of an element. The caller's own method may panic.
func (it *item) readProps(s *site) (err error) {
	if e, ok := it.element.(elements.Element); ok {
		if it.kind.caller {
			err = s.watch.Call(s.of(it), func() { it.props = e.ElementProps() })
		} else {
			it.props = e.ElementProps()
		}
	}
	if it.priority != nil {
		it.props.Priority = it.priority
	}
	if it.props.ReportName != "" {
		it.kind.name, it.kind.ctor = visible.Line(it.props.ReportName), "" // which may be the name of any file
	}
	return err
}

// listOf returns a node as a list.
func listOf(n elements.Node) elements.Nodes {
	switch n := n.(type) {
	case nil:
		return nil
	case elements.Nodes:
		return n
	}
	return elements.Nodes{n}
}

// flatten appends the members of a list in the element, and of the lists in it, in order and without nil ones.
func (s *site) flatten(to []item, list elements.Nodes) ([]item, error) {
	f := flattener{site: s, items: to}
	err := f.add(list, 0)
	return f.items, err
}

type flattener struct {
	site  *site
	items []item
}

// add appends a node, or its members if it is a list. depth is the number of lists around it.
func (f *flattener) add(n elements.Node, depth int) error {
	if depth > guard.MaxDepth {
		return f.site.watch.SetEndless(f.site, fmt.Errorf("%w: more than %d nested lists", tree.ErrEndless, guard.MaxDepth))
	}
	switch list := n.(type) {
	case nil:
	case elements.Nodes:
		if err := f.site.watch.Count(f.site, len(list), 0); err != nil {
			return err
		}
		f.items = slices.Grow(f.items, len(list))
		for _, member := range list {
			if err := f.add(member, depth+1); err != nil {
				return err
			}
		}
	case elements.WithPriority:
		from := len(f.items)
		if err := f.add(list.Node, depth+1); err != nil {
			return err
		}
		if _, many := list.Node.(elements.Nodes); !many {
			for i := range f.items[from:] {
				f.items[from+i].priority = &list.Priority
			}
		}
	default:
		return f.addOne(n, depth)
	}
	return nil
}

// addOne appends a node that is not a list. A pointer to a type of package elements means the same as its value.
func (f *flattener) addOne(n elements.Node, depth int) error {
	k, builtin := builtinOf(n)
	if !builtin {
		if value, ok := valueOf(n); ok {
			return f.add(value, depth+1)
		}
		if wrong, ok := n.(elements.Misplaced); ok {
			return inElement(f.site, wrong.Misplaced())
		}
		k = callerKind(n)
	}
	f.items = append(f.items, item{element: n, kind: k})
	return nil
}
