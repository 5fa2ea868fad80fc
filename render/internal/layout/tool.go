package layout

import (
	"context"
	"errors"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/draft"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// layTool lays out the definition of a tool, and charges the tokens that it adds to a list of others.
func layTool(_ context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	tool := n.(elements.Tool).Tool
	switch {
	case s.insideMessage():
		return nil, draft.ErrToolInMessage
	case tool.Name == "":
		return nil, errors.New("the Tool has no name")
	}
	s.watch.HoldsTools.Store(true)
	rare := s.node.EnsureRare()
	s.node.Kind, rare.Tool, rare.Tokens = tree.Tool, &tool, count.Tool(s.layouter.Tokenizer, tool)
	s.used += rare.Tokens
	s.item.props.PassPriority = false
	return nil, nil
}

// insideMessage reports whether the node is in a message. For content that is to be transferred inMessage is always
// set, so it looks at the nodes around it.
func (s *site) insideMessage() bool {
	if !s.layouter.Transfer {
		return s.inMessage
	}
	for n := s.node.Parent; n != nil; n = n.Parent {
		if n.Kind == tree.Message {
			return true
		}
	}
	return false
}
