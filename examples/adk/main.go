// Command adk is an agent of adk-go with adk's Gemini model and promptree. It reads the files of a folder and stores
// its conversation in a file; each start continues that conversation.
//
//	export GOOGLE_API_KEY=…
//	go run ./examples/adk -session talk.jsonl "What is in this folder?"
//
// GOOGLE_GEMINI_BASE_URL names another server that speaks Gemini's protocol. After a crash, ask the same question
// again: the agent continues where the session ended.
//
// Exit codes: 0 answered, 1 something failed, 2 a flag is invalid, 130 interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/examples/folderagent"
	count "github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize/adkagent"
)

func main() { folderagent.Main(run) }

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("adk", flag.ContinueOnError)
	check := func() error {
		if os.Getenv("GOOGLE_API_KEY") == "" {
			return errors.New("there is no key: set GOOGLE_API_KEY")
		}
		return nil
	}
	return folderagent.Command(ctx, flags, args, stdout, stderr, "gemini-flash-latest", 1_000_000, check, func(ctx context.Context, q folderagent.Question) error {
		model, err := gemini.NewModel(ctx, q.Model, &genai.ClientConfig{APIKey: os.Getenv("GOOGLE_API_KEY")})
		if err != nil {
			return err
		}
		return answer(ctx, model, q, stdout)
	})
}

// answer has the agent answer the question.
func answer(ctx context.Context, model model.LLM, q folderagent.Question, stdout io.Writer) error {
	q.Compactor.Target.Model, q.Compactor.Target.Tokenizer = adkagent.Model(model), count.Tokenizer{}
	options := adkagent.Options{Agent: "reader", Compactor: q.Compactor, Tools: q.Toolboxes}
	promptree, err := adkagent.New(options)
	if err != nil {
		return err
	}
	tools, err := adkagent.Tools(options)
	if err != nil {
		return err
	}
	reader, err := llmagent.New(llmagent.Config{Name: options.Agent, Instruction: folderagent.Instruction, Model: model, Tools: tools})
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{
		AppName: "reader", Agent: reader, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{promptree}},
	})
	if err != nil {
		return err
	}
	asked := genai.NewContentFromText(q.Text, genai.RoleUser)
	for event, err := range r.Run(ctx, "user", "session", asked, agent.RunConfig{StreamingMode: agent.StreamingModeSSE}) {
		if err != nil {
			return err
		}
		show(event, stdout)
	}
	return nil
}

// show prints the answer and the names of called tools as they arrive.
func show(event *session.Event, w io.Writer) {
	if event.Content == nil {
		return
	}
	for _, p := range event.Content.Parts {
		switch {
		case event.Partial && !p.Thought:
			fmt.Fprint(w, p.Text)
		case !event.Partial && p.FunctionCall != nil:
			fmt.Fprintf(w, "[%s] ", p.FunctionCall.Name)
		}
	}
	if event.IsFinalResponse() {
		fmt.Fprintln(w)
	}
}
