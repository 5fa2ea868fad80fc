package el

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/promptree-go/promptree/elements"
)

// Option sets a field of a T. It is a node, so it may be anywhere among the arguments of a constructor; of two options
// for one field, the later counts. A constructor of an element takes each [Property], and the options of the type that
// it returns. An option anywhere else, such as in a list, fails the render with the path of the element
// around it.
type Option[T any] struct {
	name string
	home string // the constructors that take it
	set  func(*T)
}

// Property is an option that every element takes: the fields of [elements.Props].
type Property = Option[elements.Props]

// Misplaced returns the error of an option that no constructor took.
func (o Option[T]) Misplaced() error {
	return fmt.Errorf("el: the option does not apply here: write %s directly among the arguments of %s", o.name, o.home)
}

// Render returns the error of an option that no constructor took.
func (o Option[T]) Render(context.Context, elements.Sizing) (Node, error) { return nil, o.Misplaced() }

// mistake is a node that stands for a wrong argument, such as an image that is no URL: it fails the render with the path of the element around it.
type mistake struct{ error }

// wrong returns a mistake.
func wrong(format string, args ...any) mistake {
	return mistake{fmt.Errorf("el: the argument makes no sense: "+format, args...)}
}

// Misplaced returns what is wrong.
func (m mistake) Misplaced() error { return m.error }

// Render returns what is wrong.
func (m mistake) Render(context.Context, elements.Sizing) (Node, error) { return nil, m.error }

// fill sets the fields of an element by the options among the arguments of its constructor, and returns the other
// arguments, its children.
func fill[T any](element *T, props *elements.Props, args []Node) elements.Nodes {
	var children elements.Nodes
	for _, arg := range args {
		switch o := arg.(type) {
		case Property:
			o.set(props)
		case Option[T]:
			o.set(element)
		default:
			children = append(children, arg)
		}
	}
	return children
}

// Props returns the properties that options set, for an element that has no constructor here:
//
//	history.All{Props: el.Props(el.Priority(900)), Session: session}
func Props(options ...Property) elements.Props {
	var props elements.Props
	for _, o := range options {
		o.set(&props)
	}
	return props
}

// property returns an option of all elements.
func property(name string, set func(*elements.Props)) Property {
	return Property{name: name, home: anywhere, set: set}
}

// anywhere names the constructors that take properties.
const anywhere = "the constructor of an element"

// Priority sets [elements.Props].Priority: among siblings, the lowest is pruned first. None by default, which is the
// highest.
func Priority(n int) Property {
	return property("Priority", func(p *elements.Props) { p.Priority = &n })
}

// Required sets [elements.Props].Required: the element and everything in it is never pruned.
var Required = Property{name: "Required", home: anywhere, set: func(p *elements.Props) { p.Required = true }}

// PassPriority sets [elements.Props].PassPriority: the element's children compete as if they stood in its place.
var PassPriority = Property{name: "PassPriority", home: anywhere, set: func(p *elements.Props) { p.PassPriority = true }}

// Category sets [elements.Props].Category: what the element's content counts as in a breakdown of the prompt's tokens.
func Category(c elements.Category) Property {
	return property("Category", func(p *elements.Props) { p.Category = c })
}

// Grow sets [elements.Props].FlexGrow: siblings without it are laid out first, then those with the highest, and so on
// down. It is an order: nothing grows by n, and the order of pruning stays the same.
func Grow(n int) Property {
	return property("Grow", func(p *elements.Props) { p.FlexGrow = n })
}

// Basis sets [elements.Props].FlexBasis: the element's weight in the sharing of its group's budget. Defaults to 1. The weight
// of 0, which is unset in the struct, is the smallest that there is.
func Basis(part float64) Property {
	return property("Basis", func(p *elements.Props) { p.FlexBasis = cmp.Or(part, math.SmallestNonzeroFloat64) })
}

// Reserve sets [elements.Props].FlexReserve to a number of tokens, kept free while earlier groups are laid out.
func Reserve(tokens int) Property {
	return property("Reserve", func(p *elements.Props) { p.FlexReserve = elements.Reserve{Tokens: tokens, Zero: tokens == 0} })
}

// ReserveShare sets [elements.Props].FlexReserve to a share of the remaining budget, from 0 to 1.
func ReserveShare(share float64) Property {
	return property("ReserveShare", func(p *elements.Props) { p.FlexReserve = elements.Reserve{Share: share} })
}

// ReportName sets [elements.Props].ReportName: the element's name in paths, errors and reports.
func ReportName(name string) Property {
	return property("ReportName", func(p *elements.Props) { p.ReportName = name })
}
