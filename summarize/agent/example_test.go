package agent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
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
		history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	)}
	if err := session.Append(ctx, chat.UserMessage("How warm is it here?")); err != nil {
		log.Fatal(err)
	}
	for {
		answer, err := steps.Step(ctx)
		if err != nil {
			log.Fatal(err)
		}
		for _, call := range answer.Message().ToolCalls {
			if err := session.Append(ctx, chat.ToolResult(call.ID, "Halifax")); err != nil { // run the tool here
				log.Fatal(err)
			}
		}
		if len(answer.Message().ToolCalls) == 0 && !answer.GoOn {
			fmt.Println(answer.Message().Text())
			return
		}
	}
	// Output: It is 14 °C in Halifax.
}
