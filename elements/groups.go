package elements

import (
	"context"
	"fmt"
	"math"
)

// Wrap is its children, with properties of their own as a whole: a priority among the siblings of the Wrap, a share of the budget, a name
// in reports. Its children still go one at a time; a [Chunk] goes whole. It costs nothing.
type Wrap struct {
	Props
	Children Nodes
}

// Render returns the children.
func (w Wrap) Render(context.Context, Sizing) (Node, error) { return w.Children, nil }

// Chunk is kept or dropped as a whole: a question and its answer, a text and its heading. A large one leaves much room when it goes, which
// render.Options.Backfill can fill again; of long text, a [TextChunk] with a break keeps a part. A [TokenLimit] in it prunes what stands in its messages; a message that goes there takes
// the chunk along.
type Chunk struct {
	Props
	Children Nodes
}

// Render returns the children.
func (c Chunk) Render(context.Context, Sizing) (Node, error) { return c.Children, nil }

// TokenLimit prunes its children to a limit of their own before the rest of the prompt is pruned: what should never take more, however
// large the window is. What should yield only if others need the room has a priority instead. It costs a pruning of its own. An [Expandable] in it may
// outgrow it afterwards, when the whole prompt has room, and a limit in what one grew to is not kept; both as in prompt-tsx.
type TokenLimit struct {
	Props
	// Max is the most tokens that the children may take, 1 or more.
	Max      int
	Children Nodes
}

// Render returns the children.
func (l TokenLimit) Render(context.Context, Sizing) (Node, error) { return l.Children, nil }

// PrioritizedList returns its children priorities that rise with their order, so that the first goes first; the last has
// one less than the list's own priority (default 0). Where it is Descending the priorities fall, from the list's own,
// and the last goes first. Text among the children becomes a [TextChunk], empty text nothing. A list among them is
// transparent: its members keep their own priorities. A PrioritizedList among them ranks its own from the one it gets.
// Its priority must leave room for theirs below it: math.MinInt does not, and is an error. It is for what has an order; what has a rank of
// its own, such as a score, takes that as its priority.
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

// WithPriority returns a node another priority, that of an element which somebody else made. On a list and on text it does nothing.
type WithPriority struct {
	Priority int
	Node     Node
}

// Render returns the node.
func (w WithPriority) Render(context.Context, Sizing) (Node, error) { return w.Node, nil }

// Group is the identity of elements that stand or fall together. Each &Group{} is a group of its own; share the
// pointer among the group's members.
type Group struct {
	// Name is for the reader of a report.
	Name string
}

// KeepWith stands or falls with the other members of its group, the tool calls linked to it among them: once one of them is
// gone, so are all. It is for what stands apart, such as a file and its tests; elements beside each other stand in a [Chunk]. Required
// members make the group Required.
type KeepWith struct {
	Props
	// Group that it belongs to. Nil is a group of its own.
	Group    *Group
	Children Nodes
}

// Render returns the children.
func (k KeepWith) Render(context.Context, Sizing) (Node, error) { return k.Children, nil }

// IfEmpty is its children, or Alt where they render to nothing but white space: "no results". Both are laid out, Alt first; what
// pruning empties later stays empty. What is known before it is rendered needs only an if.
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

// Expandable grows into room that is left. Value is called with the element's share of the budget, and again, where a
// limit or the whole prompt has tokens to spare, with all that it may then take. Each call stands for itself. It is for what can use any
// room, such as retrieval; text that is there already is a [TextChunk] with a break. A prompt that holds one is counted as it is laid out,
// and fits to many budgets do not share their pruning.
// Once it has grown it has no priority any more, which is the highest; as in prompt-tsx.
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

// LegacyPrioritization prunes its pieces by their own priorities alone, wherever they stand in it. It is for trees that prompt-tsx
// renders too; in others a Wrap with PassPriority says which levels count.
type LegacyPrioritization struct {
	Props
	Children Nodes
}

// Render returns the children.
func (l LegacyPrioritization) Render(context.Context, Sizing) (Node, error) {
	return l.Children, nil
}
