package einoagent_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

// An agent with one tool and a scripted model. It is asked twice, and has the first question from promptree's session.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	chatModel := &scripted{answer: func(n int, r request) (*schema.Message, error) { // in place of, say, eino-ext's OpenAI model
		switch last := r.messages[len(r.messages)-1]; {
		case last.Role == schema.Tool:
			return schema.AssistantMessage("It is 14 °C in "+last.Content+".", nil), nil
		case n > 1:
			return schema.AssistantMessage(fmt.Sprintf("You have asked %q.", r.messages[1].Content), nil), nil
		}
		call := schema.ToolCall{ID: "call_1", Function: schema.FunctionCall{Name: "where", Arguments: "{}"}}
		return schema.AssistantMessage("", []schema.ToolCall{call}), nil
	}}
	where, err := utils.InferTool("where", "Where the user is.", func(context.Context, struct{}) (string, error) { return "Halifax", nil })
	if err != nil {
		log.Fatal(err)
	}

	// What promptree adds: a session, a compactor on it, and the middleware among the agent's handlers.
	session, err := history.Open(filepath.Join(dir, "session.jsonl"), history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	compactor := &summarize.Compactor{
		Session: session, Policy: copilotcli.Policy(),
		Target: summarize.Target{Model: einoagent.Model(chatModel), Tokenizer: sizing.Estimator{}, Budget: 100_000},
	}
	defer compactor.Close()
	middleware, err := einoagent.New(einoagent.Options{Compactor: compactor})
	if err != nil {
		log.Fatal(err)
	}

	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "weather", Instruction: "You know the weather.", Model: chatModel,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: toolsOf(where)},
		Handlers:    []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		log.Fatal(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	for _, question := range []string{"How warm is it here?", "What have I asked?"} {
		events := runner.Query(ctx, question) // only the new message
		for {
			event, ok := events.Next()
			if !ok {
				break
			}
			if event.Err != nil {
				log.Fatal(event.Err)
			}
			m, err := event.Output.MessageOutput.GetMessage()
			if err != nil {
				log.Fatal(err)
			}
			if m.Role == schema.Assistant && len(m.ToolCalls) == 0 {
				fmt.Println(m.Content)
			}
		}
	}
	// Output:
	// It is 14 °C in Halifax.
	// You have asked "How warm is it here?".
}

// An agent's prompt is a tree. Elements with a priority are pruned before the conversation is compacted.
func ExampleNew_prompt() {
	session := &history.Session{}
	compactor := &summarize.Compactor{
		Session: session, Policy: copilotcli.Policy(),
		Target: summarize.Target{Model: einoagent.Model(&scripted{}), Tokenizer: sizing.Estimator{}, Budget: 100_000},
	}
	defer compactor.Close()
	middleware, err := einoagent.New(einoagent.Options{Compactor: compactor, Prompt: el.Prompt(
		history.Conversation{Session: session},
		el.User(el.Priority(10), el.Text("Files of the project: …")),
		history.TurnStart{Session: session},
		history.TurnRounds{Session: session},
	)})
	fmt.Println(middleware != nil, err)
	// Output: true <nil>
}

// A chat template that drops documents so that the question fits.
func ExampleTemplate() {
	template := einoagent.Template(func(_ context.Context, variables map[string]any) (elements.Node, error) {
		documents, ok := variables["documents"].([]string)
		if !ok {
			return nil, fmt.Errorf("documents is %T, not []string", variables["documents"])
		}
		return el.Prompt(
			el.System(el.Text("Answer from the documents.")),
			el.User(
				el.Each(documents, func(d string) elements.Node {
					return el.Text(d+"\n", el.Priority(1))
				}),
				el.Text("Who was first?"),
			),
		), nil
	}, render.Options{Budget: 35, Tokenizer: sizing.Estimator{MessageChars: 20}})

	messages, err := template.Format(context.Background(), map[string]any{"documents": []string{
		"Ada was born in 1815 and wrote the first program.", "Charles was born in 1791 and built half of a machine.",
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range messages {
		fmt.Printf("%s: %s\n", m.Role, m.Content)
	}
	// Output:
	// system: Answer from the documents.
	// user: Charles was born in 1791 and built half of a machine.
	// Who was first?
}

// Fields that chat.Message lacks survive a round trip.
func ExampleFromEino() {
	m, err := einoagent.FromEino(&schema.Message{
		Role: schema.Assistant, Content: "Four.", ReasoningContent: "Two and two.", Extra: map[string]any{"signature": []byte{1, 2}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Text())
	back, err := einoagent.ToEino(m)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(back.ReasoningContent, back.Extra["signature"])
	// Output:
	// Four.
	// Two and two. [1 2]
}

func toolsOf(tools ...tool.BaseTool) (c compose.ToolsNodeConfig) {
	c.Tools = tools
	return c
}
