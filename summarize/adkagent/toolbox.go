package adkagent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

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
			c, err := o.conversation(ctx)
			if err != nil || c.Compactor == nil {
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
			if err == nil {
				keepMedia(ctx, result)
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

// mediaKey is the key of an event's state that holds the media of the result of a call, which a tool of adk cannot return.
// adk does not store such keys.
func mediaKey(call string) string { return session.KeyPrefixTemp + "promptree:media:" + call }

// keepMedia adds the media of a result to the event that will hold it, unless not all can stand there. Before a request
// they are put where its model takes them.
func keepMedia(ctx agent.Context, result chat.Message) {
	result.ToolCallID = ctx.FunctionCallID()
	called := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: result.ToolCallID, Name: "tool", Arguments: "{}"}}}
	_, contents, err := ToADK([]chat.Message{chat.UserMessage("."), called, result})
	if err != nil {
		return
	}
	if media := contents[len(contents)-1].Parts[0].FunctionResponse.Parts; len(media) > 0 {
		ctx.Actions().StateDelta[mediaKey(ctx.FunctionCallID())] = media
	}
}

// onEvent puts the media of results beside their texts.
func (c *callbacks) onEvent(_ agent.InvocationContext, event *session.Event) (*session.Event, error) {
	if event == nil || event.Content == nil {
		return nil, nil
	}
	for _, p := range event.Content.Parts {
		if p == nil || p.FunctionResponse == nil {
			continue
		}
		key := mediaKey(p.FunctionResponse.ID)
		if media, ok := event.Actions.StateDelta[key].([]*genai.FunctionResponsePart); ok {
			p.FunctionResponse.Parts = media
			delete(event.Actions.StateDelta, key)
		}
	}
	return nil, nil
}
