package einoagent

import (
	"context"

	einoprompt "github.com/cloudwego/eino/components/prompt"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
)

// Template returns a chat template that renders a tree within the budget of the options. The function build makes the
// tree from the template's variables. The errors are those of build and of [render.Render].
func Template(build func(ctx context.Context, variables map[string]any) (elements.Node, error), o render.Options) einoprompt.ChatTemplate {
	return template{build, o}
}

type template struct {
	build   func(context.Context, map[string]any) (elements.Node, error)
	options render.Options
}

// GetType returns the template's type for eino's callbacks.
func (t template) GetType() string { return "Promptree" }

// Format implements [einoprompt.ChatTemplate].
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
