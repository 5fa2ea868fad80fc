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

// Chunk is kept or dropped as a whole: a question and its answer, a text and its heading. Dropping a large chunk leaves
// much of the budget unused, which render.Options.Backfill can fill again. For long text, a [TextChunk] with a break
// keeps a part. A [TokenLimit] in a chunk prunes the content of the chunk's messages; if that removes a whole message,
// the chunk goes too.
type Chunk struct {
	Props
	Children Nodes
}

// Render returns the children.
func (c Chunk) Render(context.Context, Sizing) (Node, error) { return c.Children, nil }

// TokenLimit prunes its children to a limit of their own before the rest of the prompt is pruned. It is for content
// that should never take more, however large the context window is. For content that should yield only if others need
// the tokens, set a priority instead. It costs a pruning of its own. An [Expandable] in it may outgrow the limit
// afterwards, when the whole prompt has tokens to spare, and a limit in the expanded content is not kept; both as in
// prompt-tsx.
type TokenLimit struct {
	Props
	// Max is the most tokens that the children may take, 1 or more.
	Max      int
	Children Nodes
}

// Render returns the children.
func (l TokenLimit) Render(context.Context, Sizing) (Node, error) { return l.Children, nil }

// PrioritizedList gives its children priorities that rise with their order, so that the first goes first; the last has
// one less than the list's own priority (default 0). If it is Descending, the priorities fall, starting at the list's
// own, and the last goes first.
//
// Text among the children becomes a [TextChunk]; empty text becomes nothing. A list among them is transparent: its
// members keep their own priorities. A PrioritizedList among them ranks its children from the priority that it gets.
// The list's priority must leave lower ones for its children: math.MinInt does not, and is an error.
//
// It is for items that have an order. If the items have a score, use that as their priority instead.
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

// WithPriority gives a node another priority, such as an element that somebody else made. On a list and on text it does
// nothing.
type WithPriority struct {
	Priority int
	Node     Node
}

// Render returns the node.
func (w WithPriority) Render(context.Context, Sizing) (Node, error) { return w.Node, nil }

// Group identifies elements that are kept or dropped together. Each &Group{} is a group of its own; share the pointer
// among the group's members.
type Group struct {
	// Name of the group in reports.
	Name string
}

// KeepWith is kept or dropped with the other members of its group, including the tool calls linked to it: once one of
// them is gone, so are all. It is for elements that stand apart, such as a file and its tests; put elements beside each
// other in a [Chunk]. Required members make the group Required.
type KeepWith struct {
	Props
	// Group of the element. Nil is a group of its own.
	Group    *Group
	Children Nodes
}

// Render returns the children.
func (k KeepWith) Render(context.Context, Sizing) (Node, error) { return k.Children, nil }

// IfEmpty shows its children, or Alt, such as "no results", if they render to nothing but white space. Both are laid
// out, Alt first; children emptied by pruning stay empty. If the program knows the answer before rendering, it needs
// only an if.
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
// of the last. It is for content that can use any number of tokens, such as retrieval; text that exists already is a
// [TextChunk] with a break.
//
// A prompt that holds one is counted as it is laid out, and fits to many budgets do not share their pruning. Once it
// has grown it has no priority any more, which is the highest, as in prompt-tsx.
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

// LegacyPrioritization prunes its pieces by their own priorities alone, at any depth. It is for trees that prompt-tsx
// renders too; in others, a Wrap with PassPriority says which levels count.
type LegacyPrioritization struct {
	Props
	Children Nodes
}

// Render returns the children.
func (l LegacyPrioritization) Render(context.Context, Sizing) (Node, error) {
	return l.Children, nil
}
