package einoagent

import (
	"context"

	einoprompt "github.com/cloudwego/eino/components/prompt"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
)

// Template returns a chat template that renders a tree within the budget of the options. Build makes the tree from the
// variables that the template is given. The errors are Build's and those of [render.Render].
func Template(build func(ctx context.Context, variables map[string]any) (elements.Node, error), o render.Options) einoprompt.ChatTemplate {
	return template{build, o}
}

type template struct {
	build   func(context.Context, map[string]any) (elements.Node, error)
	options render.Options
}

// GetType names the template to eino's callbacks.
func (t template) GetType() string { return "Promptree" }

// Format renders the tree.
func (t template) Format(ctx context.Context, variables map[string]any, _ ...einoprompt.Option) ([]*schema.Message, error) {
	node, err := t.build(ctx, variables)
	if err != nil {
		return nil, err
	}
	result, err := render.Render(ctx, node, t.options)
	if err != nil {
		return nil, err
	}
	return prompt(result.Messages)
}
