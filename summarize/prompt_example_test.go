package summarize_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// conversation is what the examples show.
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

// say is an element as a user message.
func say(node elements.Node) elements.Node {
	return elements.UserMessage{Children: elements.Nodes{node}}
}

func ExampleCompactHistory() {
	lines := stagewise.DefaultToolLines()
	lines["deploy"] = func(c stagewise.Call) string { return "deployed to " + c.Argument("target") }
	show(say(stagewise.CompactHistory{Messages: conversation(), Previous: "## Setup\n\nYou made the project.", Tools: lines}), 1000)
	// Output:
	// <previous-chat-history>
	// ## Setup
	//
	// You made the project.
	// </previous-chat-history>
	// <user>
	// Why does the build fail?
	// </user>
	// <assistant>
	// I try it.
	// [read: main.go]
	// [shell: go build → exit 1 ✗ main.go:7: undefined: x exit status 1]
	// [deployed to test]
	// </assistant>
}

// In 60 tokens there is no room for what the assistant did.
func ExamplePlainHistory() {
	show(say(summarize.PlainHistory{Messages: conversation()}), 1000)
	show(say(summarize.PlainHistory{Messages: conversation(), Droppable: true}), 60)
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

// A prompt is a value: what it asks can be looked at without a model.
func ExampleBriefing() {
	prompt := stagewise.Briefing{Target: 8_000}.Prompt()
	result, err := render.Render(context.Background(), prompt.Request(summarize.Material{
		Covered: conversation(), PreviousSummary: strings.Repeat("What was before. ", 300), Words: 3_000,
	}), render.Options{Budget: 10_000, Tokenizer: sizing.Estimator{}})
	if err != nil {
		log.Fatal(err)
	}
	_, ask, _ := strings.Cut(result.Messages[1].Text(), "</assistant>\n\n")
	fmt.Println(ask)
	// Output:
	// Write the briefing of the conversation above. Aim at 8000 characters. That is a goal and not a limit: rather be longer than lose a detail.
	//
	// The briefing before takes 5100 characters, 64% of that. Room gets scarce: tighten its oldest sections a little, and take over the rest as it is. Keep every one of its ## headings, every link of the form [](path:…), and what the user decided and what came out, word for word. Leave its newest sections alone.
	//
	// Write in the language of the conversation.
	//
	// There is room for 3000 tokens at the most; what is longer is cut.
}

func ExampleCompactedSession() {
	show(copilotcli.CompactedSession{}.Replacement(summarize.Material{
		Summary: "# The build\n\nmain.go does not compile.", Room: 1000, Tokenizer: sizing.Estimator{},
		Said:      []chat.Message{chat.UserMessage("Why does the build fail?")},
		Workspace: summarize.Workspace{Todo: "- fix main.go (pending)"},
	}), 1000)
	// Output:
	// The conversation before this point was compacted. What follows stands for it.
	// <conversation-summary>
	// # The build
	//
	// main.go does not compile.
	// </conversation-summary>
	// <user-messages>
	// <user-message>
	// Why does the build fail?
	// </user-message>
	// </user-messages>
	// <todo>
	// - fix main.go (pending)
	// </todo>
}

func ExampleBranchMessages() {
	session := &history.Session{}
	if err := session.Append(chat.UserMessage("Fix the build."), chat.AssistantMessage("I could pin the compiler.")); err != nil {
		log.Fatal(err)
	}
	left := session.Leaf()
	if err := session.Branch("e1"); err != nil {
		log.Fatal(err)
	}
	messages, err := summarize.BranchMessages(session.Abandoned(left, "e1"), 1000, sizing.Estimator{})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range messages {
		fmt.Println(m.Text())
	}
	fmt.Println(summarize.WithFiles("Pinning the compiler was thought of.", history.Files{Read: []string{"go.mod"}}))
	// Output:
	// I could pin the compiler.
	// Pinning the compiler was thought of.
	//
	// <read-files>
	// go.mod
	// </read-files>
}
