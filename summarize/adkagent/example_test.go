package adkagent_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/adkagent"
	"github.com/promptree-go/promptree/summarize/copilotcli"
)

// An agent with one tool and a scripted model. It is asked twice, and has the first question from promptree's session.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	llm := &scripted{answer: func(n int, r request) (*model.LLMResponse, error) { // in place of, say, adk's Gemini
		switch last := r.contents[len(r.contents)-1].Parts[0]; {
		case last.FunctionResponse != nil:
			return says(fmt.Sprintf("It is 14 °C in %s.", last.FunctionResponse.Response["result"])), nil
		case n > 1:
			return says(fmt.Sprintf("You have asked %q.", r.contents[0].Parts[0].Text)), nil
		}
		return &model.LLMResponse{Content: genai.NewContentFromFunctionCall("where", nil, genai.RoleModel)}, nil
	}}
	where, err := functiontool.New(functiontool.Config{Name: "where", Description: "Where the user is."},
		func(agent.Context, struct{}) (string, error) { return "Halifax", nil })
	if err != nil {
		log.Fatal(err)
	}
	weather, err := llmagent.New(llmagent.Config{
		Name: "weather", Instruction: "You know the weather.", Model: llm, Tools: []tool.Tool{where},
	})
	if err != nil {
		log.Fatal(err)
	}

	// What promptree adds: a session, a compactor on it, and the plugin among the runner's.
	said, err := history.Open(filepath.Join(dir, "session.jsonl"), history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer said.Close()
	compactor := &summarize.Compactor{
		Session: said, Policy: copilotcli.Policy(),
		Target: summarize.Target{Model: adkagent.Model(llm), Name: llm.Name(), Tokenizer: gemini.Tokenizer{}, Budget: 100_000},
	}
	defer compactor.Close()
	promptree, err := adkagent.New(adkagent.Options{Agent: "weather", Compactor: compactor})
	if err != nil {
		log.Fatal(err)
	}

	r, err := runner.New(runner.Config{
		AppName: "example", Agent: weather, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{promptree}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for i, question := range []string{"How warm is it here?", "What have I asked?"} {
		// Each question has a new session of adk, as after a restart. The conversation is in promptree's session.
		for event, err := range r.Run(ctx, "user", fmt.Sprint(i), genai.NewContentFromText(question, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				log.Fatal(err)
			}
			if event.IsFinalResponse() {
				fmt.Println(event.Content.Parts[0].Text)
			}
		}
	}
	// Output:
	// It is 14 °C in Halifax.
	// You have asked "How warm is it here?".
}

// An agent's prompt is a tree. Elements with a priority are pruned before the conversation is compacted.
func ExampleNew_prompt() {
	said := &history.Session{}
	compactor := &summarize.Compactor{
		Session: said, Policy: copilotcli.Policy(),
		Target: summarize.Target{Model: adkagent.Model(&scripted{}), Tokenizer: gemini.Tokenizer{}, Budget: 100_000},
	}
	defer compactor.Close()
	promptree, err := adkagent.New(adkagent.Options{Agent: "coder", Compactor: compactor, Prompt: el.Prompt(
		history.Conversation{Session: said},
		el.User(el.Priority(10), el.Text("Files of the project: …")),
		history.TurnStart{Session: said},
		history.TurnRounds{Session: said},
	)})
	fmt.Println(promptree.Name(), err)
	// Output: promptree <nil>
}

// Contents are converted to messages and back.
func ExampleFromADK() {
	messages, err := adkagent.FromADK([]*genai.Content{
		genai.NewContentFromFunctionCall("weather", map[string]any{"city": "Halifax"}, genai.RoleModel),
		genai.NewContentFromFunctionResponse("weather", map[string]any{"result": "14 °C"}, genai.RoleUser),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(messages[0].ToolCalls[0].Arguments, messages[1].Text())
	_, contents, err := adkagent.ToADK(messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(contents[1].Parts[0].FunctionResponse.Response)
	// Output:
	// {"city":"Halifax"} 14 °C
	// map[result:14 °C]
}
