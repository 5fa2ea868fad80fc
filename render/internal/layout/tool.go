package layout

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// layTool lays out the definition of a tool, and charges the tokens that it adds to a list of others.
func layTool(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	tool := n.(elements.Tool).Tool
	switch {
	case s.layouter.Transfer:
		return nil, errors.New("a Tool cannot be transferred, only content of messages")
	case s.inMessage:
		return nil, tree.ErrToolInMessage
	case tool.Name == "":
		return nil, errors.New("the Tool has no name")
	}
	extra := s.tree.EnsureExtra(s.id)
	s.node().Kind, extra.Tool, extra.Tokens = tree.Tool, &tool, count.Tool(s.layouter.Tokenizer, tool)
	s.used += extra.Tokens
	s.item.props.PassPriority = false
	return nil, nil
}

// CheckTools returns an error if two tools of a tree have the same name.
func CheckTools(t *tree.Tree) error {
	seen := map[string]tree.ID{}
	for _, n := range t.Tools {
		name := t.Extra(n).Tool.Name
		if first, known := seen[name]; known {
			return &guard.ElementError{Path: t.Path(n), Err: fmt.Errorf("%w: %q is also at %s: remove one of them", tree.ErrDuplicateTool, name, t.Path(first))}
		}
		seen[name] = n
	}
	return nil
}
