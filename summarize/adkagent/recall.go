package adkagent

import (
	"encoding/json"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// RecallTools returns the tools of package recall, by which the agent reads and searches what its prompt no longer
// shows. Add them to the agent's tools. The options are those of the plugin; sessions must be opened with
// [history.Options].Recall. An answer takes an eighth of the budget at most.
func RecallTools(o Options) ([]tool.Tool, error) {
	if c := o.Compactor; c != nil && c.Session != nil && !c.Session.Recall() {
		return nil, recall.ErrUnmarked
	}
	var list []tool.Tool
	for _, d := range (recall.Tools{}).Declared() {
		var schema jsonschema.Schema
		if err := json.Unmarshal(d.Parameters, &schema); err != nil {
			return nil, err
		}
		lookUp := func(ctx agent.Context, arguments map[string]any) (string, error) {
			c, has, err := o.conversation(ctx)
			if err != nil || !has {
				return "this agent has no session to read", err
			}
			data, err := plainjson.Marshal(arguments)
			if err != nil {
				return "", err
			}
			result, err := mirror.New(c.Compactor).LookUp(ctx, chat.ToolCall{Name: d.Name, Arguments: string(data)})
			if err == nil && result.IsError {
				err = errors.New(result.Text())
			}
			return result.Text(), err
		}
		t, err := functiontool.New(functiontool.Config{Name: d.Name, Description: d.Description, InputSchema: &schema}, lookUp)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}
