package elements

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
)

// Tool is the definition of a tool that the model may call. It stands outside messages: at the root, or in any element that may hold
// messages. Those that are left after pruning are the Tools of the result, in the order of the tree, and what their list takes is part
// of the budget. A tool without a name is an error, and so are two of one name. PassPriority does nothing on it. Its ReportName
// defaults to its name.
//
// A tool that a message of the prompt calls, before anything is pruned, is Required: a model that reads its own calls should know what
// it called. A call of a tool that is not in the tree is no mistake.
//
// Providers put the tools in front of everything else. So a tool that goes, or is back, breaks the whole of what the provider's prompt
// cache has, the system message included. Three things keep that rare:
//
//   - Give priorities to those tools alone that may go, lower than those of what goes sooner or later anyway.
//   - Keep the order of the list the same from render to render; that of a map is not.
//   - Prune with a low water, which drops several tools at once and none for many renders.
//
// A Tool that stands before a [CacheBreakpoint] in the tree is not pruned, as nothing is that stands before one.
type Tool struct {
	Props
	chat.Tool
}

// Render returns nil: the definition is the whole element.
func (t Tool) Render(context.Context, Sizing) (Node, error) { return nil, nil }
