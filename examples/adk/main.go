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
	"os/signal"
	"strings"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/history"
	count "github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/adkagent"
	"github.com/promptree-go/promptree/summarize/copilotcli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the values of the command line.
type options struct {
	model, session, dir, question string
	window                        int
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("adk", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints the error
	flags.StringVar(&o.model, "model", "gemini-flash-latest", "name of the model")
	flags.StringVar(&o.session, "session", "session.jsonl", "file of a new or existing conversation")
	flags.StringVar(&o.dir, "dir", ".", "folder whose files the agent reads")
	flags.IntVar(&o.window, "window", 1_000_000, "context window of the model, in tokens")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "Usage: adk [flags] QUESTION")
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
	case os.Getenv("GOOGLE_API_KEY") == "":
		return o, errors.New("there is no key: set GOOGLE_API_KEY")
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
		fmt.Fprintf(stderr, "adk: %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
		return code
	}
	return 0
}

// answer has the agent answer the question.
func answer(ctx context.Context, o options, stdout, _ io.Writer) (err error) {
	model, err := gemini.NewModel(ctx, o.model, &genai.ClientConfig{APIKey: os.Getenv("GOOGLE_API_KEY")})
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
	reader, err := llmagent.New(llmagent.Config{
		Name: "reader", Instruction: "You answer questions about the files of a folder.", Model: model, Tools: tools,
	})
	if err != nil {
		return err
	}

	// promptree's part begins here ...
	said, err := history.Open(o.session, history.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, said.Close()) }()
	compactor := &summarize.Compactor{
		Session: said, Policy: copilotcli.Policy(),
		Target: summarize.Target{
			Model: adkagent.Model(model), Name: o.model, Tokenizer: count.Tokenizer{}, ContextWindow: o.window, Budget: o.window - o.window/8, // less the answer
		},
	}
	defer compactor.Close()
	promptree, err := adkagent.New(adkagent.Options{Agent: "reader", Compactor: compactor})
	if err != nil {
		return err
	}
	// ... and ends here, except for PluginConfig below.

	r, err := runner.New(runner.Config{
		AppName: "reader", Agent: reader, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{promptree}},
	})
	if err != nil {
		return err
	}
	asked := genai.NewContentFromText(o.question, genai.RoleUser)
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

type readArguments struct {
	Path string `json:"path" jsonschema:"path of the file in the folder"`
}

// maxRead is the maximum number of bytes of a file that the agent reads.
const maxRead = 64 << 10

// toolsOn returns the agent's tools on a folder.
func toolsOn(root *os.Root) ([]tool.Tool, error) {
	read, err := functiontool.New(functiontool.Config{Name: "read_file", Description: "Reads a file of the folder."}, func(_ agent.Context, a readArguments) (string, error) {
		f, err := root.Open(a.Path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxRead))
		return string(data), err
	})
	if err != nil {
		return nil, err
	}
	list, err := functiontool.New(functiontool.Config{Name: "list_files", Description: "Lists the files of the folder."}, func(agent.Context, struct{}) ([]string, error) {
		f, err := root.Open(".")
		if err != nil {
			return nil, err
		}
		defer f.Close()
		names, err := f.Readdirnames(1000)
		if err == io.EOF {
			err = nil
		}
		return names, err
	})
	return []tool.Tool{read, list}, err
}
