package elements

import (
	"context"
	"fmt"
	"math"
)

// Wrap gives its children shared properties: a priority among the siblings of the Wrap, a share of the budget, a name
// in reports. Its children are still pruned one at a time; a [Chunk] is pruned whole. A Wrap costs no tokens.
type Wrap struct {
	Props
	Children Nodes
}

// Render returns the children.
func (w Wrap) Render(context.Context, Sizing) (Node, error) { return w.Children, nil }

// Chunk is kept or dropped as a whole: a question and its answer, a text and its heading. If it is the last to go, a
// [TextChunk] with a break in it is trimmed instead, the one with most tokens; give its long text a break, because
// dropping a large chunk leaves much of the budget unused (render.Options.Backfill can fill it again). A [TokenLimit]
// in a chunk prunes the content of the chunk's messages; if that removes a whole message, the whole chunk is dropped.
type Chunk struct {
	Props
	Children Nodes
}

// Render returns the children.
func (c Chunk) Render(context.Context, Sizing) (Node, error) { return c.Children, nil }

// TokenLimit prunes its children to a limit before the rest of the prompt is pruned. Use it for content that should
// never take more, however large the context window is. For content that should be pruned only if the prompt does not
// fit, set a priority instead. Each limit costs one more pruning. An [Expandable] in it may outgrow the limit
// afterwards, when the whole prompt has tokens to spare, and a limit in the expanded content is ignored; both are as in
// prompt-tsx.
type TokenLimit struct {
	Props
	// Max is the most tokens that the children may take, 1 or more.
	Max      int
	Children Nodes
}

// Render returns the children.
func (l TokenLimit) Render(context.Context, Sizing) (Node, error) { return l.Children, nil }

// PrioritizedList gives its children priorities that rise with their order, so that the first is pruned first. The last
// has one less than the list's own priority, which defaults to 0. If it is Descending, the priorities fall, starting at
// the list's own, and the last is pruned first.
//
// Text among the children becomes a [TextChunk]; empty text becomes nothing. A list among them is transparent: its
// members keep their own priorities. A PrioritizedList among them ranks its children from the priority that it gets.
// The list's priority must leave lower ones for its children: math.MinInt does not, and is an error.
//
// Use it for items that have an order. If the items have scores, use the scores as priorities instead.
type PrioritizedList struct {
	Props
	Descending bool
	Children   Nodes
}

// Render returns the children with their priorities.
func (l PrioritizedList) Render(context.Context, Sizing) (Node, error) {
	base := 0
	if l.Priority != nil {
		base = *l.Priority
	}
	if base < math.MinInt+len(l.Children) {
		return nil, fmt.Errorf("a priority of %d leaves no lower ones for %d children: theirs follow from it", base, len(l.Children))
	}
	ranked := make(Nodes, len(l.Children))
	for i, child := range l.Children {
		priority := base - len(l.Children) + i
		if l.Descending {
			priority = base - i
		}
		if text, ok := child.(*Text); ok && text != nil {
			child = *text
		}
		switch child := child.(type) {
		case nil:
		case Text:
			if child != "" {
				ranked[i] = TextChunk{Props: Props{Priority: &priority}, Children: Nodes{child}}
			}
		default:
			ranked[i] = WithPriority{Priority: priority, Node: child}
		}
	}
	return ranked, nil
}

// WithPriority gives a node another priority, for example an element from another package. It has no effect on a list
// or on text.
type WithPriority struct {
	Priority int
	Node     Node
}

// Render returns the node.
func (w WithPriority) Render(context.Context, Sizing) (Node, error) { return w.Node, nil }

// Group identifies elements that are kept or dropped together. Each &Group{} is another group; its members share the
// pointer.
type Group struct {
	// Name of the group in reports.
	Name string
}

// KeepWith is kept or dropped with the other members of its group, including the tool calls linked to it: if one of
// them is dropped, all are. Use it for elements in different places, such as a file and its tests; put neighbours in a
// [Chunk]. Required members make the group Required.
type KeepWith struct {
	Props
	// Group of the element. Nil is a group of this element alone.
	Group    *Group
	Children Nodes
}

// Render returns the children.
func (k KeepWith) Render(context.Context, Sizing) (Node, error) { return k.Children, nil }

// IfEmpty shows its children, or Alt, such as "no results", if they render to nothing but white space. Both are laid
// out, Alt first; children emptied by pruning stay empty. If the program knows before rendering whether they are empty,
// an if statement is enough.
type IfEmpty struct {
	Props
	Alt      Node
	Children Nodes
}

// Render returns the alternative, then the children, each in a wrapper.
func (e IfEmpty) Render(context.Context, Sizing) (Node, error) {
	return Nodes{
		Wrap{Children: Nodes{e.Alt}},
		Wrap{Props: Props{FlexGrow: 1}, Children: e.Children},
	}, nil
}

// Expandable grows into tokens that are left over. Value is called with the element's share of the budget, and again
// with all the tokens that it may take if a limit or the whole prompt has some to spare. Each call replaces the result
// of the last. Use it for content that can use any number of tokens, such as retrieval; for text that exists already,
// use a [TextChunk] with a break.
//
// If the prompt turns out to be a few tokens too large, where texts meet or where its text is escaped, Value is called with
// fewer, so that an Expandable does not cost what stands beside it.
//
// A prompt with an Expandable is counted during layout, and if it is fitted to several budgets, it is pruned separately
// for each. Several are offered tokens by priority, the highest first. As in prompt-tsx, an Expandable that has grown no
// longer has a priority, so it is pruned last.
type Expandable struct {
	Props
	Value func(ctx context.Context, s Sizing) (Node, error)
}

// Render calls Value.
func (e Expandable) Render(ctx context.Context, s Sizing) (Node, error) {
	if e.Value == nil {
		return nil, nil
	}
	return e.Value(ctx, s)
}

// First shows one of several versions of the same content: the first that fits, so put the largest first. The last is
// shown if none fits, and may then be pruned like anything else.
//
// The version is chosen at layout, by the element's share of the budget, and again if a limit or the whole prompt has
// tokens to spare, as for an [Expandable], unless the first is shown already. Pruning does not choose a smaller version.
// A First keeps its priority when it grows. Each choice renders the elements of the versions up to the chosen one.
type First struct {
	Props
	Versions Nodes
}

// Render returns the last version.
func (f First) Render(context.Context, Sizing) (Node, error) {
	if len(f.Versions) == 0 {
		return nil, nil
	}
	return f.Versions[len(f.Versions)-1], nil
}

// LegacyPrioritization prunes its pieces by their own priorities alone, at any depth. Use it for trees that prompt-tsx
// renders too; in other trees, set PassPriority on the elements whose children should compete with the pieces around
// them.
type LegacyPrioritization struct {
	Props
	Children Nodes
}

// Render returns the children.
func (l LegacyPrioritization) Render(context.Context, Sizing) (Node, error) {
	return l.Children, nil
}
