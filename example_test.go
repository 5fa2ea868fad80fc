package promptree_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
)

const source = `package main

func main() { println("hello") }
`

// A prompt in which a file gives way before the question does.
func Example() {
	ctx := context.Background()
	tokenizer, err := tiktoken.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	prompt := elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		elements.UserMessage{Children: elements.Nodes{
			elements.Tag{Name: "file", Props: elements.Props{Priority: new(10)}, Children: elements.Nodes{elements.Text(source)}},
			elements.TextChunk{Children: elements.Nodes{elements.Text("What does the program print?")}},
		}},
	}
	result, err := render.Render(ctx, prompt, render.Options{Budget: 30, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d messages, %d of %d tokens\n%s", len(result.Messages), result.Tokens, result.Budget, result.Report())
	// Output:
	// 2 messages, 20 of 30 tokens
	// System            6 tokens   -            kept
	// User > file       12 tokens  priority 10  dropped for the budget
	// User > TextChunk  6 tokens   -            kept
	// kept: 12 tokens, pieces: 2; dropped: 12 tokens, pieces: 1
}

// A conversation that is compacted when it overflows.
func Example_compaction() {
	ctx := context.Background()
	tokenizer, err := tiktoken.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	session := &history.Session{} // in memory; history.Open keeps it in a file
	prompt := elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Session: session}, // the turns that are over
		history.TurnStart{Session: session},    // what the user asks now
		history.TurnRounds{Session: session},   // what the agent has done about it
	}
	compactor := &summarize.Compactor{
		Session: session,
		Target:  summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1000},
		Policy:  copilotchat.Policy(),
	}
	defer compactor.Close()
	for i := range 30 {
		question := chat.UserMessage(fmt.Sprintf("Question %d: what is in the file notes-%d.txt, and why is it there at all?", i, i))
		answer := chat.AssistantMessage("It holds what was noted on that day, so that nobody has to remember it.")
		if err := session.Append(ctx, question); err != nil {
			log.Fatal(err)
		}
		result, err := compactor.Render(ctx, prompt)
		if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
			log.Fatalf("what must be kept needs %d tokens and has %d", over.Needed, over.Budget)
		}
		if err != nil {
			log.Fatal(err)
		}
		_ = result.Messages // send them
		if err := session.Append(ctx, answer); err != nil {
			log.Fatal(err)
		}
	}
	messages, compactions := 0, 0
	for e, err := range session.Entries(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		switch e.Type() {
		case history.TypeMessage:
			messages++
		case history.TypeCompaction:
			compactions++
		}
	}
	fmt.Println(messages, "messages, all kept;", compactions, "compactions")
	// Output: 60 messages, all kept; 1 compactions
}

// The loop of an agent. Its model is scripted: it calls a tool, and answers with what that returned.
func Example_agent() {
	ctx := context.Background()
	tokenizer, err := tiktoken.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	tools := []chat.Tool{{Name: "time", Description: "The time of day."}}
	model := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Role == chat.RoleTool {
			return chat.Response{Message: chat.AssistantMessage("It is " + last.Text() + ".")}, nil
		}
		call := chat.ToolCall{ID: "call_1", Name: "time", Arguments: "{}"}
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}, nil
	})
	run := func(chat.ToolCall) string { return "noon" }
	session := &history.Session{}
	prompt := elements.Nodes{
		history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	}
	compactor := &summarize.Compactor{
		Session: session,
		Target:  summarize.Target{Model: model, Name: "gpt-4o", Tokenizer: tokenizer, Budget: 100_000, ContextWindow: 128_000, Tools: tools},
		Policy:  copilotchat.Policy(),
	}
	defer compactor.Close()
	if err := session.Append(ctx, chat.UserMessage("How late is it?")); err != nil {
		log.Fatal(err)
	}
	steps := &agent.Agent{Compactor: compactor, Prompt: prompt}
	for {
		answer, err := steps.Step(ctx) // render, compact, ask, wait, recover, append
		if err != nil {
			log.Fatal(err)
		}
		for _, call := range answer.Message().ToolCalls {
			if err := session.Append(ctx, chat.ToolResult(call.ID, run(call))); err != nil {
				log.Fatal(err)
			}
		}
		if len(answer.Message().ToolCalls) == 0 && !answer.GoOn {
			fmt.Println(answer.Message().Text())
			return
		}
	}
	// Output: It is noon.
}

// A policy is a value: take one and change a field.
func Example_policy() {
	policy := copilotchat.Policy()
	policy.Trigger[0].Ratio = 0.5 // 50% with a warm prompt cache, and 60% with a cold one: Cold is added to Ratio
	policy.Overflow.LastResort = summarize.ResortError
	policy.Ask.Names = []string{"small"} // of Compactor.Models; the agent's own model is asked last
	fmt.Println(policy.Validate())
	// Output: <nil>
}
