package el

import (
	"context"
	"errors"

	"github.com/promptree-go/promptree/elements"
)

// Node is any part of a prompt's tree.
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

// Iff returns the node that f makes if the condition holds, else nothing. Unlike with [If], the node is made only if it
// is needed, so f may rely on the condition.
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

// Func returns an element that renders to the function's result. The function receives the element's share of the
// budget and the tokenizer. It saves declaring a type with such a Render method:
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
		return nil, errors.New("el: Func has no function: give it one that returns a node")
	}
	return f.render(ctx, s)
}
