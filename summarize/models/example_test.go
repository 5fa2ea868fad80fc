package models_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/models"
)

func ExampleOffline() {
	tokenizer := tiktoken.O200k()
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "read_file", Arguments: `{"path":"go.mod"}`}}}
	response, err := models.Offline{Tokenizer: tokenizer}.Generate(context.Background(), chat.Request{Messages: []chat.Message{
		chat.UserMessage("Which version of Go is this for?"),
		call,
		chat.ToolResult("1", "module example\n\ngo 1.26\n"),
		chat.AssistantMessage("For Go 1.26."),
		chat.UserMessage("Summarise the conversation. The <summary> block has room for 200 tokens at the most."),
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Message.Text())
	// Output:
	// <analysis>
	// A digest of 4 messages, made without a model.
	// </analysis>
	// <summary>
	// ## The user said
	// - Which version of Go is this for?
	// ## Files
	// - go.mod
	// ## Tool calls
	// - read_file("path":"go.mod"): 3 lines
	// ## Last words of the assistant
	// - For Go 1.26.
	// </summary>
}

func ExampleScript() {
	script := &models.Script{Steps: []models.Reply{
		models.Say("Hello."),
		models.Fail(&chat.TransientError{Err: errors.New("overloaded")}),
	}}
	for range 3 {
		response, err := script.Generate(context.Background(), chat.Request{Messages: []chat.Message{chat.UserMessage("Hi.")}})
		fmt.Printf("%q %v\n", response.Message.Text(), err)
	}
	fmt.Println(len(script.Requests()), "requests")
	// Output:
	// "Hello." <nil>
	// "" chat: try again: overloaded
	// "" models: the script is over
	// 3 requests
}
