package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/sources/tools"
)

// A model finds a tool by words for what it does, and calls it by call_tool. What is declared does not change.
func Example() {
	ctx, session := context.Background(), &history.Session{}
	city := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	more := &tools.Deferred{
		Session: session,
		Tools: []chat.Tool{
			{Name: "forecast", Description: "Tells the weather of the next days.", Parameters: city},
			{Name: "translate", Description: "Translates a text.", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
		Run: func(_ context.Context, call chat.ToolCall) (chat.Message, error) {
			return chat.ToolResult(call.ID, "ran "+call.Name+" with "+call.Arguments), nil
		},
	}
	prompt := el.Prompt(
		el.System(el.Text("You help.")),
		history.Compacted{Session: session},
		tools.Found{Deferred: more},
		history.Conversation{Session: session, TurnsOnly: true},
		history.TurnStart{Session: session},
		history.TurnRounds{Session: session},
	)
	if err := session.Append(ctx, chat.UserMessage("Do I need an umbrella in Rome?")); err != nil {
		log.Fatal(err)
	}
	for _, call := range []chat.ToolCall{ // what a model would say, one call a step
		{ID: "1", Name: tools.SearchTool, Arguments: `{"query":"weather"}`},
		{ID: "2", Name: tools.CallTool, Arguments: `{"name":"forecast","arguments":{"town":"Rome"}}`},
		{ID: "3", Name: tools.CallTool, Arguments: `{"name":"forecast","arguments":{"city":"Rome"}}`},
	} {
		if _, err := render.Render(ctx, prompt, render.Options{Budget: 4000, Tokenizer: tiktoken.O200k()}); err != nil {
			log.Fatal(err)
		}
		result, _, err := more.Answer(ctx, call)
		if mistake, ok := errors.AsType[*chat.ArgumentError](err); ok { // an agent does this by itself
			result, err = chat.FailedResult(call.ID, mistake.Reason), nil
		}
		if err != nil {
			log.Fatal(err)
		}
		if err := session.Append(ctx, chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}, result); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d tools declared; %s\n%s\n", len(more.Declared()), call.Arguments, result.Text())
	}

	// Output:
	// 2 tools declared; {"query":"weather"}
	// 1 of 1 that match, the best first. Call them by call_tool.
	// <tool-definition name="forecast">
	// Tells the weather of the next days.
	// {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}
	// </tool-definition>
	// 2 tools declared; {"name":"forecast","arguments":{"town":"Rome"}}
	// the arguments of forecast do not fit its schema: the object lacks "city". The schema is: {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}
	// 2 tools declared; {"name":"forecast","arguments":{"city":"Rome"}}
	// ran forecast with {"city":"Rome"}
}
