package elements

import "context"

// Node is any part of a prompt's tree: [Text], a list of [Nodes], one of this package's elements, or a type of your
// own.
//
// Render returns the node's content, whose nodes are rendered in turn until only built-in elements are left. It is
// called once per render and may be slow: nodes of one flex group whose type is not from this package render
// concurrently, up to 256 at a time. A nil Node renders nothing. If Render fails or panics, the whole render fails with
// an error that holds the path of the node.
type Node interface {
	Render(ctx context.Context, s Sizing) (Node, error)
}

// Element is a [Node] with properties. A struct that embeds [Props] and has a Render method is one.
type Element interface {
	Node
	ElementProps() Props
}

// Nodes is a list of nodes in order, as if each stood in the list's place: usually the root of a prompt, or the
// children of an element. Nil nodes are skipped.
type Nodes []Node

// Render returns the list itself.
func (n Nodes) Render(context.Context, Sizing) (Node, error) { return n, nil }

// Text is literal text. It takes the priority of the element around it and is pruned as one piece. It continues the
// line of the text before it; for text on lines of its own, or with properties, use a [TextChunk].
type Text string

// Render returns the text itself.
func (t Text) Render(context.Context, Sizing) (Node, error) { return t, nil }
