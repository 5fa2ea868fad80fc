package mcp_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/sources/mcp"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/frugal"
)

// An agent finds the tools of servers by a search, and calls them.
func Example() {
	ctx, session := context.Background(), &history.Session{}
	servers := mcp.Servers{{Name: "weather", Transport: weather}} // or those of mcp.ReadFile("mcp.json")
	defer servers.Close()
	more := &tools.Deferred{Session: session, Toolboxes: servers.Toolboxes()}
	compactor := &summarize.Compactor{Session: session, Policy: frugal.Policy(), Target: summarize.Target{
		Model: &scripted{}, Tokenizer: tiktoken.O200k(), ContextWindow: 32_000, Budget: 28_000,
	}}
	steps := &agent.Agent{Compactor: compactor, Tools: []chat.Toolbox{more}, Prompt: el.Prompt(
		el.System(el.Text("You help.")),
		history.Compacted{Session: session},
		tools.Found{Deferred: more},
		history.Conversation{Session: session, TurnsOnly: true},
		history.TurnStart{Session: session},
		history.TurnRounds{Session: session},
	)}
	answer, err := steps.Run(ctx, "Do I need an umbrella in Rome?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Message().Text())
	// Output:
	// search_tools: 1 of 1 that match, the best first. Call them by call_tool.
	// call_tool: It rains in Rome.
	// Yes.
}

// asked is a server of which a person allows each call.
type asked struct {
	*mcp.Server
	allow func(chat.ToolCall) bool
}

func (a asked) Answer(ctx context.Context, call chat.ToolCall) (chat.Message, bool, error) {
	if strings.HasPrefix(call.Name, a.Name+"__") && !a.allow(call) {
		return chat.FailedResult(call.ID, "The user does not allow this call."), true, nil
	}
	return a.Server.Answer(ctx, call)
}

// A person is asked before a server gets a call.
func Example_person() {
	ctx, session := context.Background(), &history.Session{}
	server := &mcp.Server{Name: "weather", Transport: weather}
	defer server.Close()
	person := asked{server, func(call chat.ToolCall) bool {
		fmt.Println("allow", call.Name, call.Arguments)
		return false
	}}
	more := &tools.Deferred{Session: session, Toolboxes: []chat.Toolbox{person}}
	if _, err := more.DeclaredFor(ctx, elements.Sizing{TokenBudget: 8000, PromptBudget: 8000, Tokenizer: tiktoken.O200k()}); err != nil {
		log.Fatal(err)
	}
	result, _, err := more.Answer(ctx, chat.ToolCall{ID: "1", Name: tools.CallTool, Arguments: `{"name":"weather__forecast","arguments":{"City":"Rome"}}`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
	// Output:
	// allow weather__forecast {"City":"Rome"}
	// The user does not allow this call.
}

// weather starts a server in this process and returns how it is reached.
func weather() (sdk.Transport, error) {
	server := sdk.NewServer(&sdk.Implementation{Name: "weather"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "forecast", Description: "Tells the weather of a city."},
		func(_ context.Context, _ *sdk.CallToolRequest, in struct{ City string }) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "It rains in " + in.City + "."}}}, nil, nil
		})
	here, there := sdk.NewInMemoryTransports()
	_, err := server.Connect(context.Background(), there, nil)
	return here, err
}

// scripted is a model that says what this example needs.
type scripted struct{ step int }

func (m *scripted) Generate(_ context.Context, req chat.Request) (chat.Response, error) {
	calls := []chat.ToolCall{
		{ID: "1", Name: tools.SearchTool, Arguments: `{"query":"weather"}`},
		{ID: "2", Name: tools.CallTool, Arguments: `{"name":"weather__forecast","arguments":{"City":"Rome"}}`},
	}
	if m.step > 0 {
		line, _, _ := strings.Cut(req.Messages[len(req.Messages)-1].Text(), "\n")
		fmt.Printf("%s: %s\n", calls[m.step-1].Name, line)
	}
	m.step++
	if m.step > len(calls) {
		return chat.Response{Message: chat.AssistantMessage("Yes.")}, nil
	}
	return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: calls[m.step-1 : m.step]}}, nil
}
