package elements

import "context"

// Node is anything that can stand in a prompt's tree: [Text], a list of [Nodes], one of this package's elements, or a
// type of your own.
//
// Render returns what the node stands for, and is called again on what it gives until only the built-in elements are
// left. It is called once a render and may take its time: nodes of one flex group whose type is not from this package
// render concurrently, up to 256 at a time. A nil Node renders nothing. An error, and a panic, come back from the render with the path of
// the node.
type Node interface {
	Render(ctx context.Context, s Sizing) (Node, error)
}

// Element is a [Node] with properties. A struct that embeds [Props] is one once it has a Render method.
type Element interface {
	Node
	ElementProps() Props
}

// Nodes is a list of nodes in order, as if each stood in the list's place: most often the root of a prompt, or the children of an
// element. Nil nodes are skipped.
type Nodes []Node

// Render returns the list itself; it has nothing to add to its members.
func (n Nodes) Render(context.Context, Sizing) (Node, error) { return n, nil }

// Text is literal text. It takes the priority of the element it stands in and is pruned as one piece. It goes on in the line of the
// text before it; text on lines of its own, or with properties, is a [TextChunk].
type Text string

// Render returns the text itself.
func (t Text) Render(context.Context, Sizing) (Node, error) { return t, nil }
