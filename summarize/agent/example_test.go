package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/copilotchat"
)

// An agent with one tool and a scripted model.
func Example() {
	ctx := context.Background()
	asked := 0
	model := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		if asked++; asked > 1 {
			return chat.Response{Message: chat.AssistantMessage("It is 14 °C in " + req.Messages[len(req.Messages)-1].Text() + ".")}, nil
		}
		call := chat.ToolCall{ID: "call_1", Name: "where", Arguments: "{}"}
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}, nil
	})
	session := &history.Session{}
	compactor := &summarize.Compactor{
		Session: session,
		Target: summarize.Target{
			Model: model, Tokenizer: sizing.Estimator{}, Budget: 8000,
		},
		Policy: copilotchat.Policy(),
	}
	defer compactor.Close()
	where, err := agent.Tool("where", "Where the user is.", func(context.Context, struct{}) (string, error) { return "Halifax", nil })
	if err != nil {
		log.Fatal(err)
	}
	worker := &agent.Agent{Compactor: compactor, System: "You know the weather.", Tools: []chat.Toolbox{where}}
	answer, err := worker.Run(ctx, "How warm is it here?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Message().Text())
	// Output: It is 14 °C in Halifax.
}

// A model looks up what a compaction left out of its prompt.
func Example_recall() {
	ctx := context.Background()
	asked := 0
	model := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		last := req.Messages[len(req.Messages)-1].Text()
		switch asked++; asked {
		case 1:
			call := chat.ToolCall{ID: "call_1", Name: "search_session", Arguments: `{"query":"door code"}`}
			return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}, nil
		case 2:
			_, code, _ := strings.Cut(last, "The door code is ")
			return chat.Response{Message: chat.AssistantMessage("It is " + code[:4] + ".")}, nil
		}
		return chat.Response{}, errors.New("unexpected request")
	})
	session, err := history.New(ctx, &storage.Memory{}, history.Options{Recall: true})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	compactor := &summarize.Compactor{
		Session: session, Policy: copilotchat.Policy(), Target: summarize.Target{Model: model, Tokenizer: sizing.Estimator{}, Budget: 8000},
	}
	defer compactor.Close()
	err = session.Append(ctx, chat.UserMessage("The door code is 4711."), chat.AssistantMessage("I will remember it."))
	if err == nil {
		err = session.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("(We talked about a door.)")}})
	}
	if err != nil {
		log.Fatal(err)
	}
	worker := &agent.Agent{Compactor: compactor, Tools: []chat.Toolbox{recall.Tools{}}}
	answer, err := worker.Run(ctx, "What was the door code?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Message().Text())
	// Output: It is 4711.
}

func ExampleAsk() {
	model := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) { // an API's, in a program
		return chat.Response{Message: chat.AssistantMessage(`{"city":"Rome","days":4}`)}, nil
	})
	compactor := &summarize.Compactor{
		Session: &history.Session{}, Policy: copilotchat.Policy(),
		Target: summarize.Target{Model: model, Tokenizer: sizing.Estimator{}, Budget: 8000},
	}
	defer compactor.Close()
	answer, err := agent.Ask[struct {
		City string `json:"city"`
		Days int    `json:"days" jsonschema:"number of sunny days"`
	}](context.Background(), &agent.Agent{Compactor: compactor}, "Where is it sunny, and for how long?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.City, answer.Days)
	// Output: Rome 4
}
