// Command eino is an agent of eino with eino's OpenAI model and promptree. It reads the files of a folder and stores
// its conversation in a file; each start continues that conversation.
//
//	export OPENAI_API_KEY=…
//	go run ./examples/eino -session talk.jsonl "What is in this folder?"
//
// -base-url names another server that speaks Chat Completions. After a crash, ask the same question again: the agent
// continues where the session ended.
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

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

func main() { folderagent.Main(run) }

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("eino", flag.ContinueOnError)
	server := flags.String("base-url", "", "URL of a server that speaks Chat Completions, such as http://localhost:8080/v1")
	check := func() error {
		if os.Getenv("OPENAI_API_KEY") == "" && *server == "" {
			return errors.New("there is no key: set OPENAI_API_KEY, or -base-url for a server that needs none")
		}
		return nil
	}
	return folderagent.Command(ctx, flags, args, stdout, stderr, "gpt-4o", 128_000, check, func(ctx context.Context, q folderagent.Question) error {
		model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: os.Getenv("OPENAI_API_KEY"), BaseURL: *server, Model: q.Model})
		if err != nil {
			return err
		}
		return answer(ctx, model, q, stdout)
	})
}

// answer has the agent answer the question.
func answer(ctx context.Context, model *openai.ChatModel, q folderagent.Question, stdout io.Writer) error {
	tokenizer, err := tiktoken.ForModel(q.Model)
	if err != nil {
		return err
	}
	q.Compactor.Target.Model, q.Compactor.Target.Tokenizer = einoagent.Model(model), tokenizer
	options := einoagent.Options{Compactor: q.Compactor, Tools: q.Toolboxes}
	middleware, err := einoagent.New(options)
	if err != nil {
		return err
	}
	config := &adk.ChatModelAgentConfig{
		Name: "reader", Instruction: folderagent.Instruction, Model: model, MaxIterations: 200, Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}
	if config.ToolsConfig.Tools, err = einoagent.Tools(options); err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, config)
	if err != nil {
		return err
	}
	return print(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true}).Query(ctx, q.Text), stdout)
}

// print prints the answer as it arrives, and the names of called tools.
func print(events *adk.AsyncIterator[*adk.AgentEvent], w io.Writer) error {
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return event.Err
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		out := event.Output.MessageOutput
		stream := out.MessageStream
		if !out.IsStreaming {
			stream = schema.StreamReaderFromArray([]*schema.Message{out.Message})
		}
		for {
			piece, err := stream.Recv()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			if out.Role != schema.Assistant {
				continue
			}
			fmt.Fprint(w, piece.Content)
			for _, c := range piece.ToolCalls {
				if c.Function.Name != "" {
					fmt.Fprintf(w, "[%s] ", c.Function.Name)
				}
			}
		}
		fmt.Fprintln(w)
	}
	return nil
}
