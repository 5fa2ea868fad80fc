package adkagent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/summarize/internal/toolbox"
)

// Tools returns the tools of [Options].Tools, such as those of recall.Tools, by which the agent reads and searches what its
// prompt no longer shows. Add them to the agent's tools. The options are those of the plugin.
func Tools(o Options) ([]tool.Tool, error) {
	boxes := toolbox.New(o.Tools, o.Compactor, o.CallLimit)
	declared, err := boxes.Fixed()
	if err != nil {
		return nil, err
	}
	var list []tool.Tool
	for _, d := range declared {
		schema := &jsonschema.Schema{Type: "object"}
		if d.Schema() != nil {
			if err := json.Unmarshal(d.Schema(), schema); err != nil {
				return nil, fmt.Errorf("adkagent: the parameters of tool %q: %w", d.Name, err)
			}
		}
		run := func(ctx agent.Context, arguments map[string]any) (string, error) {
			c, has, err := o.conversation(ctx)
			if err != nil || !has {
				return "this agent has no session to read", err
			}
			data, err := plainjson.Marshal(arguments)
			if err != nil {
				return "", err
			}
			result, _, err := boxes.For(c.Compactor, c.Tools).Answer(ctx, chat.ToolCall{Name: d.Name, Arguments: string(data)}, 1)
			if err == nil && result.IsError {
				err = errors.New(result.Text())
			}
			return result.Text(), err
		}
		t, err := functiontool.New(functiontool.Config{Name: d.Name, Description: d.Description, InputSchema: schema}, run)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}
