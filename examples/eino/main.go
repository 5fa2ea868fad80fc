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
	"os/signal"
	"strings"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the values of the command line.
type options struct {
	model, baseURL, session, dir, question string
	window                                 int
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("eino", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints the error
	flags.StringVar(&o.model, "model", "gpt-4o", "name of the model")
	flags.StringVar(&o.baseURL, "base-url", "", "URL of a server that speaks Chat Completions, such as http://localhost:8080/v1")
	flags.StringVar(&o.session, "session", "session.jsonl", "file of a new or existing conversation")
	flags.StringVar(&o.dir, "dir", ".", "folder whose files the agent reads")
	flags.IntVar(&o.window, "window", 128_000, "context window of the model, in tokens")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "Usage: eino [flags] QUESTION")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
	}
	if err != nil {
		return o, err
	}
	o.question = strings.Join(flags.Args(), " ")
	switch {
	case o.question == "":
		return o, errors.New("ask a question, such as \"What is in this folder?\" (-help lists the flags)")
	case o.window < 1000:
		return o, fmt.Errorf("-window is %d: want 1000 or more", o.window)
	case os.Getenv("OPENAI_API_KEY") == "" && o.baseURL == "":
		return o, errors.New("there is no key: set OPENAI_API_KEY, or -base-url for a server that needs none")
	}
	_, err = os.ReadDir(o.dir)
	return o, err
}

// run runs the program and returns the exit code: 0 answered, 1 failed, 2 a flag is wrong.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	code := 2
	if err == nil {
		code = 1
		err = answer(ctx, o, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "eino: %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
		return code
	}
	return 0
}

// answer has the agent answer the question.
func answer(ctx context.Context, o options, stdout, _ io.Writer) (err error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: os.Getenv("OPENAI_API_KEY"), BaseURL: o.baseURL, Model: o.model})
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	tools, err := toolsOn(root)
	if err != nil {
		return err
	}

	// promptree's part begins here ...
	session, err := history.Open(o.session, history.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	tokenizer, err := tiktoken.ForModel(o.model)
	if err != nil {
		return err
	}
	compactor := &summarize.Compactor{
		Session: session, Policy: copilotcli.Policy(),
		Target: summarize.Target{
			Model: einoagent.Model(model), Name: o.model, Tokenizer: tokenizer, ContextWindow: o.window, Budget: o.window - o.window/8, // less the answer
		},
	}
	defer compactor.Close()
	middleware, err := einoagent.New(einoagent.Options{Compactor: compactor})
	if err != nil {
		return err
	}
	// ... and ends here, except for Handlers below.

	config := &adk.ChatModelAgentConfig{
		Name: "reader", Instruction: "You answer questions about the files of a folder.", Model: model, MaxIterations: 200,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	}
	config.ToolsConfig.Tools = tools
	agent, err := adk.NewChatModelAgent(ctx, config)
	if err != nil {
		return err
	}
	return print(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true}).Query(ctx, o.question), stdout)
}

// print prints the answer as it arrives.
func print(events *adk.AsyncIterator[*adk.AgentEvent], w io.Writer) error {
	for {
		event, ok := events.Next()
		switch {
		case !ok:
			return nil
		case event.Err != nil:
			return event.Err
		case event.Output == nil || event.Output.MessageOutput == nil:
			continue
		}
		out := event.Output.MessageOutput
		if !out.IsStreaming {
			show(out.Message, out.Role, w)
			continue
		}
		for {
			piece, err := out.MessageStream.Recv()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			show(piece, out.Role, w)
		}
		if out.Role == schema.Assistant {
			fmt.Fprintln(w)
		}
	}
}

// show prints a piece of the assistant's message.
func show(m *schema.Message, role schema.RoleType, w io.Writer) {
	if role != schema.Assistant {
		return
	}
	fmt.Fprint(w, m.Content)
	for _, c := range m.ToolCalls {
		if c.Function.Name != "" {
			fmt.Fprintf(w, "[%s] ", c.Function.Name)
		}
	}
}

type readArguments struct {
	Path string `json:"path" jsonschema:"required,description=path of the file in the folder"`
}

// maxRead is the maximum number of bytes of a file that the agent reads.
const maxRead = 64 << 10

// toolsOn returns the agent's tools for a folder. Errors become results, so that the model sees them.
func toolsOn(root *os.Root) ([]tool.BaseTool, error) {
	read, err := utils.InferTool("read_file", "Reads a file of the folder.", func(_ context.Context, a readArguments) (string, error) {
		f, err := root.Open(a.Path)
		if err != nil {
			return err.Error(), nil
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxRead))
		if err != nil {
			return err.Error(), nil
		}
		return string(data), nil
	})
	if err != nil {
		return nil, err
	}
	list, err := utils.InferTool("list_files", "Lists the files of the folder.", func(context.Context, struct{}) (string, error) {
		f, err := root.Open(".")
		if err != nil {
			return err.Error(), nil
		}
		defer f.Close()
		names, err := f.Readdirnames(1000)
		if err != nil && err != io.EOF {
			return err.Error(), nil
		}
		return strings.Join(names, "\n"), nil
	})
	return []tool.BaseTool{read, list}, err
}
