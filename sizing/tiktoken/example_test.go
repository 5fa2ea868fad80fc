package tiktoken_test

import (
	"errors"
	"fmt"

	pkoukk "github.com/pkoukk/tiktoken-go"
	tiktoken_loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func ExampleNew() {
	counter, err := tiktoken.New("o200k_base")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(counter.CountText("How many Go files are there?"))
	// Output: 7
}

func ExampleForModel() {
	counter, err := tiktoken.ForModel("gpt-4o-2024-08-06")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(counter.CountText("Straße, 中文, 👩‍👧"))

	_, err = tiktoken.ForModel("llama-4")
	if unknown, ok := errors.AsType[*tiktoken.NoEncodingError](err); ok {
		fmt.Println("unknown:", unknown.Model)
	}
	// Output:
	// 10
	// unknown: llama-4
}

func ExampleCounter_CountMessage() {
	counter, err := tiktoken.ForModel("gpt-4o")
	if err != nil {
		fmt.Println(err)
		return
	}
	messages := []chat.Message{
		chat.SystemMessage("You are a coding agent."),
		chat.UserMessage("How many Go files are there?"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "count", Arguments: `{"glob":"*.go"}`}}},
		chat.ToolResult("c1", "42"),
	}
	total := tiktoken.ReplyPriming
	for _, m := range messages {
		fmt.Println(m.Role, counter.CountMessage(m))
		total += counter.CountMessage(m)
	}
	fmt.Println("in all", total)
	// Output:
	// system 10
	// user 11
	// assistant 15
	// tool 7
	// in all 46
}

// Any encoding that tiktoken-go has, or is given, makes a tokenizer.
func ExampleAdapt() {
	pkoukk.SetBpeLoader(tiktoken_loader.NewOfflineLoader())
	encoder, err := pkoukk.GetEncoding("p50k_edit")
	if err != nil {
		fmt.Println(err)
		return
	}
	tokenizer := tiktoken.Adapt(encoder)
	fmt.Println(tokenizer.CountMessage(chat.UserMessage("How many Go files are there?")))
	// Output: 11
}
