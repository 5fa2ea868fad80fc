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
	"github.com/promptree-go/promptree/sizing/openai"
	"github.com/promptree-go/promptree/summarize"
)

const source = `package main

func main() { println("hello") }
`

// A prompt in which a file gives way before the question does.
func Example() {
	ctx := context.Background()
	tokenizer, err := openai.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	prompt := elements.Fragment{
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
	// Root > SystemMessage            text  -   6 tokens   kept
	// Root > UserMessage > Tag        text  10  12 tokens  dropped: priority
	// Root > UserMessage > TextChunk  text  -   6 tokens   kept
}

// A conversation that is compacted when it overflows.
func Example_compaction() {
	ctx := context.Background()
	tokenizer, err := openai.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	session := &history.Session{} // in memory; history.Open keeps it in a file
	prompt := elements.Fragment{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Session: session}, // the turns that are over
		history.Request{Session: session},      // what the user asks now
		history.Rounds{Session: session},       // what the agent has done about it
	}
	compactor := &summarize.Compactor{
		Session: session,
		Target:  summarize.Target{Model: summarize.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 700},
		Policy:  summarize.CopilotChat(),
	}
	defer compactor.Close()
	for i := range 20 {
		question := chat.UserMessage(fmt.Sprintf("Question %d: what is in the file notes-%d.txt, and why is it there at all?", i, i))
		answer := chat.AssistantMessage("It holds what was noted on that day, so that nobody has to remember it.")
		if err := session.Append(question); err != nil {
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
		if err := session.Append(answer); err != nil {
			log.Fatal(err)
		}
	}
	messages, compactions := 0, 0
	for e, err := range session.Entries() {
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
	// Output: 40 messages, all kept; 1 compactions
}
