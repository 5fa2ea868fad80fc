package elements

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
)

// Tool is the definition of a tool that the model may call. It belongs outside messages: at the root, or in any element
// that may hold messages. The tools that are left after pruning are the Tools of the result, in the order of the tree,
// and their list counts towards the budget. A tool without a name is an error, and so are two with the same name.
// PassPriority does nothing on it. Its ReportName defaults to its name.
//
// A tool that a message of the prompt calls, before anything is pruned, is Required, because a model that reads its own
// calls should know their tools. A call of a tool that is not in the tree is not an error.
//
// Providers put the tools before everything else. So adding or dropping a tool invalidates the provider's whole prompt
// cache, including the system message. To keep that rare:
//
//   - Give a priority only to tools that may be pruned, lower than that of content that changes anyway.
//   - Keep the order of the list the same from render to render; the order of a map is not.
//   - Set render.Options.LowWater, which drops several tools at once and then none for many renders.
//
// As long as a [CacheBreakpoint] is held, no Tool is pruned, wherever it stands.
type Tool struct {
	Props
	chat.Tool
}

// Render returns nil: the definition is the whole element.
func (t Tool) Render(context.Context, Sizing) (Node, error) { return nil, nil }

// SizedToolbox is a [chat.Toolbox] whose tools depend on the prompt that they are declared with, or which needs an element
// in it. An agent calls DeclaredFor before each prompt, with the budget of the prompt and its tools together.
type SizedToolbox interface {
	chat.Toolbox
	DeclaredFor(ctx context.Context, s Sizing) ([]chat.Tool, error)
}
