package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/anthropic"
)

// local returns a client of a server that speaks the Messages API. For the API itself use sdk.NewClient(), with the key
// in ANTHROPIC_API_KEY.
func local(respond func(call int, r request) answer) (sdk.Client, func()) {
	s := startServer(respond)
	return sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(s.URL), option.WithAPIKey("key")), s.Close
}

// An agent: the model calls a tool, is sent its result, and answers.
func Example() {
	client, stop := local(func(n int, _ request) answer {
		if n == 0 {
			return say(text("I count them."), call("toolu_1", "count", block{"glob": "*.go"}))
		}
		return say(text("There are 42 Go files."))
	})
	defer stop()

	model := &anthropic.Model{Client: client, Name: sdk.ModelClaudeSonnet5, MaxTokens: 1024}
	messages := []chat.Message{
		chat.SystemMessage("You are a coding agent."),
		chat.UserMessage("How many Go files are there?"),
	}
	tools := []chat.Tool{{
		Name: "count", Description: "Counts files.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"glob":{"type":"string"}},"required":["glob"]}`),
	}}
	for {
		response, err := model.Generate(context.Background(), chat.Request{Messages: messages, Tools: tools})
		if err != nil {
			log.Fatal(err)
		}
		messages = append(messages, response.Message)
		fmt.Println("assistant:", response.Message.Text())
		if response.StopReason != chat.StopToolCalls {
			break
		}
		for _, c := range response.Message.ToolCalls {
			fmt.Printf("call: %s(%s)\n", c.Name, c.Arguments)
			messages = append(messages, chat.ToolResult(c.ID, "42"))
		}
	}
	// Output:
	// assistant: I count them.
	// call: count({"glob":"*.go"})
	// assistant: There are 42 Go files.
}

// A history that another provider's model has written may break Anthropic's rules.
func ExampleRepair() {
	req := chat.Request{Messages: []chat.Message{
		chat.UserMessage("How many Go files are there?"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "toolu_1", Name: "count", Arguments: `{"glob":"*.`}}},
		chat.UserMessage("Never mind."),
	}}
	fmt.Println(anthropic.Validate(req))
	repaired, changes := anthropic.Repair(req)
	for _, c := range changes {
		fmt.Println(c)
	}
	fmt.Println(anthropic.Validate(repaired))
	// Output:
	// chat: request: tools are declared where the history has calls: there are no tools (and 2 more)
	// request: tools are declared where the history has calls: 1 tools of the history declared, with a choice of none
	// message 1: arguments are a JSON object: the arguments of call "toolu_1" put into an object
	// message 1: every tool call is answered: call "toolu_1" had no result: a failed one added
	// <nil>
}

// The error for a request that is too large has the numbers.
func ExampleModel_Generate_contextLimit() {
	client, stop := local(func(int, request) answer {
		return refuse(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
	})
	defer stop()
	model := &anthropic.Model{Client: client, Name: sdk.ModelClaudeSonnet5}
	_, err := model.Generate(context.Background(), chat.Request{Messages: []chat.Message{chat.UserMessage("A long story.")}})
	if limit, ok := errors.AsType[*chat.ContextLimitError](err); ok {
		fmt.Println(limit.Tokens-limit.Limit, "tokens too many")
	}
	// Output: 10000 tokens too many
}

func ExampleModel_Generate_stream() {
	client, stop := local(func(int, request) answer { return say(text("There are 42 Go files.")) })
	defer stop()
	model := &anthropic.Model{Client: client, Name: sdk.ModelClaudeSonnet5}
	_, err := model.Generate(context.Background(), chat.Request{
		Messages: []chat.Message{chat.UserMessage("How many?")},
		Stream: func(d chat.Delta) {
			if text, ok := d.(chat.Text); ok {
				fmt.Printf("%s|", text)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: There a|re 42 G|o files|.|
}

func ExampleVision_ImageTokens() {
	fmt.Println(anthropic.VisionStandard.ImageTokens(2000, 1500), anthropic.VisionHigh.ImageTokens(2000, 1500))
	// Output: 1564 3888
}
