package draft

import (
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Mistakes with tools.
var (
	ErrToolInMessage = errors.New("render: a Tool is inside a message: put it beside the messages")
	ErrDuplicateTool = errors.New("render: two tools have the same name")
)

// CheckTools returns an error if two tools in a node have the same name. grown maps an expandable to the node that it
// grew to.
func (n *Node) CheckTools(grown map[*Node]*Node) error {
	return (&toolNames{seen: map[string]*Node{}, grown: grown}).check(n)
}

// toolNames looks for tools of the same name.
type toolNames struct {
	seen  map[string]*Node
	grown map[*Node]*Node
}

func (t *toolNames) check(n *Node) error {
	if other := t.grown[n]; other != nil {
		n = other
	}
	if n.IfEmpty {
		return t.check(n.Taken())
	}
	if n.Kind == tree.Tool {
		name := n.RareOrZero().Tool.Name
		if first := t.seen[name]; first != nil {
			return &guard.ElementError{Path: n.Path(), Err: fmt.Errorf("%w: %q is also at %s: remove one of them", ErrDuplicateTool, name, first.Path())}
		}
		t.seen[name] = n
	}
	for i := range n.Children {
		if err := t.check(&n.Children[i]); err != nil {
			return err
		}
	}
	return nil
}

// Tools appends the tools in a node.
func (n *Node) Tools(to []chat.Tool) []chat.Tool {
	if n.IfEmpty {
		return n.Taken().Tools(to)
	}
	if n.Kind == tree.Tool {
		to = append(to, *n.RareOrZero().Tool)
	}
	for i := range n.Children {
		to = n.Children[i].Tools(to)
	}
	return to
}

// requireCalled requires the tools that messages of the tree call.
func (b *builder) requireCalled() {
	t := b.tree
	if len(t.Tools) == 0 {
		return
	}
	called := map[string]bool{}
	for i := range t.Nodes {
		n := tree.ID(i)
		for _, c := range t.Extra(n).Calls {
			called[c.Name] = true
		}
		if t.Nodes[n].Kind == tree.Finished {
			for _, m := range t.Extra(n).Block.Messages {
				for _, c := range m.ToolCalls {
					called[c.Name] = true
				}
			}
		}
	}
	for _, n := range t.Tools {
		if called[t.Extra(n).Tool.Name] {
			t.Nodes[n].Flags |= tree.Required
			t.Required = true
		}
	}
}
