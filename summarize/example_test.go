package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// work fills a session with a question and steps of an agent, more than 1,000 tokens of them.
func work(session *history.Session) error {
	err := session.Append(context.Background(), chat.UserMessage("Why does the build fail?"))
	for n := 1; n <= 6 && err == nil; n++ {
		step := chat.AssistantMessage(fmt.Sprintf("I read file %d.", n))
		step.ToolCalls = []chat.ToolCall{{ID: fmt.Sprint("call-", n), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"file%d.go"}`, n)}}
		err = session.Append(context.Background(), step, chat.ToolResult(step.ToolCalls[0].ID, strings.Repeat("a line of code\n", 60)))
	}
	return err
}

func ExampleCompactor_Render() {
	tokenizer := tiktoken.O200k()
	session := &history.Session{}
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		history.All{Session: session},
	)
	compactor := &summarize.Compactor{
		Session: session,
		Target: summarize.Target{
			Model:     &models.Script{Steps: []models.Reply{models.SaySummary("The user asks why the build fails. The files file1.go to file5.go were read, one after the other, and all of them are fine: the reason must be in one that comes later.")}},
			Tokenizer: tokenizer, Budget: 1_000, ContextWindow: 8_000,
		},
		Policy: copilotchat.Policy(),
	}
	defer compactor.Close()
	result, err := compactor.Render(context.Background(), prompt)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range result.Messages {
		first, _, _ := strings.Cut(m.Text(), "\n")
		fmt.Printf("%s: %s\n", m.Role, first)
	}
	fmt.Println(result.Messages[1].Text())
	// Output:
	// system: You are a coding agent.
	// user: <conversation-summary>
	// user: Why does the build fail?
	// assistant: I read file 6.
	// tool: a line of code
	// <conversation-summary>
	// The user asks why the build fails. The files file1.go to file5.go were read, one after the other, and all of them are fine: the reason must be in one that comes later.
	// </conversation-summary>
}

// If nothing makes the prompt fit, the error says how many tokens were needed and why compaction did not help.
func ExampleFailedError() {
	tokenizer := tiktoken.O200k()
	session := &history.Session{}
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	prompt := el.Prompt(
		el.User(el.Required, el.Text(strings.Repeat("Never forget this. ", 300))),
		history.All{Session: session},
	)
	compactor := &summarize.Compactor{
		Session: session, Target: summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1_000},
	}
	_, err := compactor.Render(context.Background(), prompt)
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		fmt.Println("over the budget:", over.Needed > over.Budget)
	}
	fmt.Println("no room:", errors.Is(err, summarize.ErrNoRoom))
	entries := 0
	for range session.Entries(context.Background()) {
		entries++
	}
	fmt.Println("entries in the session:", entries)
	// Output:
	// over the budget: true
	// no room: true
	// entries in the session: 13
}

// Tools that are elements of the prompt need no Target.Tools. Those that may be pruned trigger no compaction.
func ExampleTarget_toolsInThePrompt() {
	tokenizer := tiktoken.O200k()
	session := &history.Session{}
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		el.Tool(chat.Tool{Name: "run_tests", Description: "Runs the tests."}),
		el.Tool(chat.Tool{Name: "browse", Description: "Opens a page of the web."}, el.Priority(10)),
		el.Tool(chat.Tool{Name: "read_file", Description: "Reads a file."}, el.Priority(10)),
		history.All{Session: session},
	)
	for _, budget := range []int{8_000, 2_050} {
		compactor := &summarize.Compactor{
			Session: session,
			Target: summarize.Target{
				Model:     &models.Script{Steps: []models.Reply{models.SaySummary("The user asks why the build fails. The files file1.go to file5.go were read, one after the other, and all of them are fine: the reason must be in one that comes later.")}},
				Tokenizer: tokenizer, Budget: budget, ContextWindow: 8_000,
			},
			Policy: copilotchat.Policy(),
		}
		result, err := compactor.Render(context.Background(), prompt)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(result.Tokens, " tokens:")
		for _, t := range result.Tools { // for chat.Request.Tools
			fmt.Print(" ", t.Name)
		}
		fmt.Println()
		compactor.Close()
	}
	// Output:
	// 2060 tokens: run_tests browse read_file
	// 2046 tokens: run_tests read_file
}

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
	// Output:
	// I could pin the compiler.
}
