package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
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
			Tools: []chat.Tool{{Name: "where", Description: "Where the user is."}},
		},
		Policy: copilotchat.Policy(),
	}
	defer compactor.Close()
	steps := &agent.Agent{Compactor: compactor, Prompt: el.Prompt(
		el.System(el.Text("You know the weather.")),
		history.All{Session: session},
	)}
	if err := session.Append(ctx, chat.UserMessage("How warm is it here?")); err != nil {
		log.Fatal(err)
	}
	for {
		answer, err := steps.Step(ctx)
		if err != nil {
			log.Fatal(err)
		}
		for _, call := range answer.Open {
			if err := session.Append(ctx, chat.ToolResult(call.ID, "Halifax")); err != nil { // run the tool here
				log.Fatal(err)
			}
		}
		if len(answer.Open) == 0 && !answer.GoOn {
			fmt.Println(answer.Message().Text())
			return
		}
	}
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
	steps := &agent.Agent{Compactor: compactor, Tools: []chat.Toolbox{recall.Tools{}}, Prompt: el.Prompt(
		history.All{Session: session},
	)}
	err = session.Append(ctx, chat.UserMessage("The door code is 4711."), chat.AssistantMessage("I will remember it."))
	if err == nil {
		err = session.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("(We talked about a door.)")}})
	}
	if err == nil {
		err = session.Append(ctx, chat.UserMessage("What was the door code?"))
	}
	if err != nil {
		log.Fatal(err)
	}
	for {
		answer, err := steps.Step(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if len(answer.Open) == 0 && !answer.GoOn { // no call is left open: the step answers look-ups
			fmt.Println(answer.Message().Text())
			return
		}
	}
	// Output: It is 4711.
}
