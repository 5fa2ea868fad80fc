package summarize_test

import (
	"context"
	"fmt"
	"log"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// conversation returns the messages that the examples show.
func conversation() []chat.Message {
	failed := chat.ToolResult("2", "main.go:7: undefined: x\nexit status 1")
	failed.IsError = true
	return []chat.Message{
		chat.UserMessage("Why does the build fail?"),
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I try it.")}, ToolCalls: []chat.ToolCall{
			{ID: "1", Name: "read_file", Arguments: `{"path":"main.go"}`},
			{ID: "2", Name: "bash", Arguments: `{"command":"go build"}`},
			{ID: "3", Name: "deploy", Arguments: `{"target":"test"}`},
		}},
		chat.ToolResult("1", "package main"), failed, chat.ToolResult("3", "done"),
	}
}

// show prints the messages of a tree.
func show(tree elements.Node, budget int) {
	result, err := render.Render(context.Background(), tree, render.Options{Budget: budget, Tokenizer: sizing.Estimator{MessageChars: -1}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range result.Messages {
		fmt.Println(m.Text())
	}
}

// In 60 tokens there is room only for the user's message.
func ExamplePlainHistory() {
	show(elements.UserMessage{Children: elements.Nodes{prompts.PlainHistory{Messages: conversation()}}}, 1000)
	show(elements.UserMessage{Children: elements.Nodes{prompts.PlainHistory{Messages: conversation(), Droppable: true}}}, 60)
	// Output:
	// <conversation>
	// user: Why does the build fail?
	// assistant: I try it.
	// call: read_file({"path":"main.go"})
	// call: bash({"command":"go build"})
	// call: deploy({"target":"test"})
	// result: package main
	// error: main.go:7: undefined: x
	//   exit status 1
	// result: done
	// </conversation>
	// <conversation>
	// [This is not all: it was more than there is room for, and parts of it were left out.]
	// user: Why does the build fail?
	// </conversation>
}

func ExampleBranchMessages() {
	session := numbered.Session()
	if err := session.Append(context.Background(), chat.UserMessage("Fix the build."), chat.AssistantMessage("I could pin the compiler.")); err != nil {
		log.Fatal(err)
	}
	left := session.Leaf()
	if err := session.Branch(context.Background(), "e1"); err != nil {
		log.Fatal(err)
	}
	messages, err := prompts.BranchMessages(session.Abandoned(context.Background(), left, "e1"), 1000, sizing.Estimator{})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range messages {
		fmt.Println(m.Text())
	}
	fmt.Println(prompts.WithFiles("Pinning the compiler was thought of.", entry.Files{Read: []string{"go.mod"}}))
	// Output:
	// I could pin the compiler.
	// Pinning the compiler was thought of.
	//
	// <read-files>
	// go.mod
	// </read-files>
}
