package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
)

func ExampleValidate() {
	err := chat.Validate([]chat.Message{
		chat.UserMessage("How many Go files are there?"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
			{ID: "c1", Name: "count", Arguments: `{"glob":"*.go"}`},
			{ID: "c2", Name: "count", Arguments: `{"glob":"*.md"}`},
		}},
		chat.ToolResult("c1", "42"),
		chat.UserMessage("Well?"),
	})
	if invalid, ok := errors.AsType[*chat.ValidationError](err); ok {
		for _, violation := range invalid.Violations {
			fmt.Println(violation)
		}
	}
	// Output:
	// message 1: every tool call is answered: call "c2" has no result
}

func ExampleMessage() {
	m := chat.Message{
		Role: chat.RoleUser,
		Content: chat.Parts{
			chat.Text("What is in the picture?"),
			chat.Image{URL: "https://example.com/cat.png", Detail: chat.DetailLow},
		},
	}
	fmt.Println(m.Text())

	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(data))
	// Output:
	// What is in the picture?
	// {
	//   "role": "user",
	//   "content": [
	//     {
	//       "type": "text",
	//       "text": "What is in the picture?"
	//     },
	//     {
	//       "type": "image",
	//       "url": "https://example.com/cat.png",
	//       "detail": "low"
	//     }
	//   ]
	// }
}

func ExampleMessage_conversation() {
	for _, m := range []chat.Message{
		chat.SystemMessage("You are a coding agent."),
		chat.UserMessage("How many Go files are there?"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "count", Arguments: `{"glob":"*.go"}`}}},
		chat.ToolResult("c1", "42"),
	} {
		for _, call := range m.ToolCalls {
			fmt.Printf("%s calls %s(%s)\n", m.Role, call.Name, call.Arguments)
		}
		if text := m.Text(); text != "" {
			fmt.Printf("%s: %s\n", m.Role, text)
		}
	}
	// Output:
	// system: You are a coding agent.
	// user: How many Go files are there?
	// assistant calls count({"glob":"*.go"})
	// tool: 42
}

// A stream shows an answer, and the arguments of its calls, as they arrive.
func ExampleCallDelta() {
	model := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		for _, d := range []chat.Delta{
			chat.Text("I look."), chat.CallDelta{ID: "c1", Name: "read"}, chat.CallDelta{Arguments: `{"path":`}, chat.CallDelta{Arguments: `"a.go"}`},
		} {
			req.Stream(d)
		}
		m := chat.AssistantMessage("I look.")
		m.ToolCalls = []chat.ToolCall{{ID: "c1", Name: "read", Arguments: `{"path":"a.go"}`}}
		return chat.Response{Message: m, StopReason: chat.StopToolCalls}, nil
	})
	_, err := model.Generate(context.Background(), chat.Request{Stream: func(d chat.Delta) {
		switch d := d.(type) {
		case chat.Text:
			fmt.Print(d)
		case chat.CallDelta:
			if d.Name != "" { // the first piece of a call
				fmt.Printf("\n%d. %s ", d.Index+1, d.Name)
			}
			fmt.Print(d.Arguments)
		}
	}})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// I look.
	// 1. read {"path":"a.go"}
}

// A model of your own gives each call of an answer an id, whatever its server sends.
func ExampleWithCallIDs() {
	answer := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
		{ID: "c1", Name: "read", Arguments: `{"path":"a.go"}`}, {Name: "read", Arguments: `{"path":"b.go"}`},
	}}
	answer = chat.WithCallIDs(answer)
	messages := []chat.Message{chat.UserMessage("Read both."), answer}
	for _, call := range answer.ToolCalls {
		messages = append(messages, chat.ToolResult(call.ID, "package main"))
	}
	fmt.Println(answer.ToolCalls[0].ID, len(answer.ToolCalls[1].ID))
	fmt.Println(chat.Validate(messages))
	// Output:
	// c1 31
	// <nil>
}

// bytesTokenizer counts each byte as a token, as a byte-level model does.
type bytesTokenizer struct{}

func (bytesTokenizer) CountText(text string) int { return len(text) }

func (bytesTokenizer) CountPart(part chat.Part) int {
	if text, ok := part.(chat.Text); ok {
		return len(text)
	}
	return 0
}

func (b bytesTokenizer) CountMessage(m chat.Message) int {
	n := len(m.Role) + len(m.Name)
	for _, part := range m.Content {
		n += b.CountPart(part)
	}
	for _, call := range m.ToolCalls {
		n += len(call.Name) + len(call.Arguments)
	}
	return n
}

func (bytesTokenizer) CountTools(tools []chat.Tool) int {
	n := 0
	for _, tool := range tools {
		n += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	return n
}

// A tokenizer of your own is any type with the four methods.
func ExampleTokenizer() {
	var tokenizer chat.Tokenizer = bytesTokenizer{}
	fmt.Println(tokenizer.CountText("hello"))
	fmt.Println(tokenizer.CountMessage(chat.UserMessage("hello")))
	fmt.Println(tokenizer.CountTools(nil))
	// Output:
	// 5
	// 9
	// 0
}
