package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/gemini"
)

// local returns a client of a server that always gives the same answer. For the API itself use
// gemini.NewClient(ctx, nil), with the key in GEMINI_API_KEY.
func local(answer string) (client *genai.Client, done func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	return connect(server.URL), server.Close
}

// connect returns a client of a server.
func connect(url string) *genai.Client {
	client, err := gemini.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: "a key", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func Example() {
	client, done := local(`{
		"candidates": [{"content": {"role": "model", "parts": [
			{"text": "Let me look."},
			{"functionCall": {"id": "c1", "name": "count", "args": {"glob": "*.go"}}, "thoughtSignature": "c2lnbmVk"}
		]}, "finishReason": "STOP"}],
		"usageMetadata": {"promptTokenCount": 40, "candidatesTokenCount": 12, "thoughtsTokenCount": 30, "cachedContentTokenCount": 32}
	}`)
	defer done()

	model := &gemini.Model{Client: client, Name: "gemini-3-pro-preview"}
	response, err := model.Generate(context.Background(), chat.Request{
		Messages: []chat.Message{
			chat.SystemMessage("You are a coding agent."),
			chat.UserMessage("How many Go files are there?"),
		},
		Tools: []chat.Tool{{Name: "count", Description: "Counts files.", Parameters: []byte(`{"type":"object","properties":{"glob":{"type":"string"}}}`)}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Message.Text())
	for _, call := range response.Message.ToolCalls {
		fmt.Println(call.Name, call.Arguments, call.Signature)
	}
	fmt.Printf("%+v\n", response.Usage)
	// Output:
	// Let me look.
	// count {"glob":"*.go"} c2lnbmVk
	// {Input:40 Prompt:0 Output:42 CacheRead:32 CacheWrite:0 CacheWriteLong:0 CacheUnknown:false}
}

// A history that another provider's model has written may break Gemini's rules.
func ExampleRepair() {
	req := chat.Request{Messages: []chat.Message{
		chat.UserMessage("How many Go files are there?"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
			{ID: "c1", Name: "count", Arguments: `{"glob":"*.go"}`},
			{ID: "c2", Name: "count", Arguments: `{"glob":"*.md"}`},
		}},
		chat.ToolResult("c1", "42"),
	}}
	err := gemini.Validate(req, gemini.Options{})
	if invalid, ok := errors.AsType[*chat.ValidationError](err); ok {
		for _, violation := range invalid.Violations {
			fmt.Println(violation)
		}
	}
	repaired, changes := gemini.Repair(req, gemini.Options{})
	for _, change := range changes {
		fmt.Println("repaired", change)
	}
	fmt.Println(gemini.Validate(repaired, gemini.Options{}))
	// Output:
	// message 1: every tool call is answered: call "c2" has no result
	// message 1: calls of the current turn carry their thought signature: call 0 has none
	// repaired message 1: every tool call is answered: call "c2" left out: it has no result
	// repaired message 1: calls of the current turn carry their thought signature: SkipSignature added to call "c1"
	// <nil>
}

func ExampleRequest() {
	contents, config, err := gemini.Request(chat.Request{Messages: []chat.Message{
		chat.SystemMessage("You are a coding agent."),
		chat.UserMessage("How many Go files are there?"),
	}}, gemini.OptionsFor("gemini-3-pro-preview"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(config.SystemInstruction.Parts[0].Text)
	for _, content := range contents {
		fmt.Println(content.Role, content.Parts[0].Text)
	}
	// Output:
	// You are a coding agent.
	// user How many Go files are there?
}
