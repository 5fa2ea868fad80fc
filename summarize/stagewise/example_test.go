package stagewise_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

func ExampleCompactHistory() {
	failed := chat.ToolResult("2", "main.go:7: undefined: x\nexit status 1")
	failed.IsError = true
	lines := stagewise.DefaultToolLines()
	lines["deploy"] = func(c stagewise.Call) string { return "deployed to " + c.Argument("target") }
	history := stagewise.CompactHistory{Tools: lines, Previous: "## Setup\n\nYou made the project.", Messages: []chat.Message{
		chat.UserMessage("Why does the build fail?"),
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I try it.")}, ToolCalls: []chat.ToolCall{
			{ID: "1", Name: "read_file", Arguments: `{"path":"main.go"}`},
			{ID: "2", Name: "bash", Arguments: `{"command":"go build"}`},
			{ID: "3", Name: "deploy", Arguments: `{"target":"test"}`},
		}},
		chat.ToolResult("1", "package main"), failed, chat.ToolResult("3", "done"),
	}}
	result, err := render.Render(context.Background(), elements.UserMessage{Children: elements.Nodes{history}},
		render.Options{Budget: 1000, Tokenizer: sizing.Estimator{}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Messages[0].Text())
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

// A prompt is a value, and its request can be rendered without a model.
func ExampleBriefing() {
	prompt := stagewise.Briefing{Target: 8_000}.Prompt()
	result, err := render.Render(context.Background(), prompt.Request(policy.Material{
		Covered:         []chat.Message{chat.UserMessage("Why does the build fail?"), chat.AssistantMessage("I try it.")},
		PreviousSummary: strings.Repeat("What was before. ", 300), Words: 3_000,
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
