package el

import (
	"context"
	"errors"

	"github.com/promptree-go/promptree/elements"
)

// Node is anything that can stand in a prompt's tree.
type Node = elements.Node

// Nodes is a list of nodes, as if each stood in the list's place.
type Nodes = elements.Nodes

// If returns the node if the condition holds, else nothing. The node may be an option.
func If(condition bool, node Node) Node {
	if condition {
		return node
	}
	return nil
}

// Iff returns what f makes if the condition holds, else nothing. Unlike with [If], the node is made only when it is
// needed, so that f may use what the condition has checked.
func Iff(condition bool, f func() Node) Node {
	if condition {
		return f()
	}
	return nil
}

// Each returns a node for each item, in order.
func Each[T any](items []T, f func(T) Node) Nodes {
	nodes := make(Nodes, len(items))
	for i, item := range items {
		nodes[i] = f(item)
	}
	return nodes
}

// Func returns an element that renders to what a function returns: it is told its share of the budget, and how to measure. It stands
// for a type of one's own with such a Render method:
//
//	type Func struct{ elements.Props; … }
func Func(render func(context.Context, elements.Sizing) (Node, error), options ...Property) elements.Element {
	return function{Props: Props(append([]Property{ReportName("Func")}, options...)...), render: render}
}

type function struct {
	elements.Props
	render func(context.Context, elements.Sizing) (Node, error)
}

func (f function) Render(ctx context.Context, s elements.Sizing) (Node, error) {
	if f.render == nil {
		return nil, errors.New("el: Func has no function: give it one that returns what to show")
	}
	return f.render(ctx, s)
}
