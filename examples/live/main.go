// Command live is the agent of examples/agent with a real model. It works on a folder with tools that list, read,
// search and count, and write nothing.
//
//	export ANTHROPIC_API_KEY=…
//	go run ./examples/live -model anthropic:claude-sonnet-5 -task "What is in this folder?"
//
// The model is OpenAI's over Chat Completions (openai:NAME) or the Responses API (openai-responses:NAME), Claude
// (anthropic:NAME) or Gemini (gemini:NAME). Keys come from OPENAI_API_KEY, ANTHROPIC_API_KEY, and GOOGLE_API_KEY or
// GEMINI_API_KEY. To use a server of your own that speaks one of the protocols, name it with -base-url, or with
// OPENAI_BASE_URL, ANTHROPIC_BASE_URL or GOOGLE_GEMINI_BASE_URL; it needs no key:
//
//	go run ./examples/live -model openai:qwen3 -base-url http://localhost:8080/v1 -task "…"
//
// -tokenizer names the file tokenizer.json that was published with the model; then tokens are counted exactly.
//
// The answer is printed as it arrives; notes go to standard error, and at the end the cost of the requests, with and
// without compaction. -policy, one of the six, says when to compact; the same model writes the summaries. The session
// is stored in a file; -session names one, and continues it if it exists, whichever model wrote it.
//
// With -instructions the folder's instruction files stand in the prompt, with -skills the model may load the skills of a
// folder, and with -deferred it finds the tools by a search. So it does with -mcp, which adds the tools of the servers that
// a file such as mcp.json names: its rows are commands, so name only files that you would run.
//
// Exit codes: 0 answered, 1 the model or its server failed, 2 a flag, a key, a file or the window is invalid, 130
// interrupted.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"strings"
	"time"

	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/counters"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/sizing/vocabulary"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/sources/mcp"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

func main() {
	log.SetOutput(io.Discard) // Google's SDK logs the errors that it returns
	folderagent.Main(run)
}

// options are the values of the command line.
type options struct {
	model, baseURL, dir, task, session, page string
	tokenizer                                string // path of the model's tokenizer.json
	table                                    *modelinfo.Table
	policy                                   policy.Policy
	prices                                   string // name of the model whose prices apply
	window, answer                           int
	skills                                   string // folder
	mcp, variables                           string // file of servers, and the names that it may use, by commas
	instructions, deferred                   bool
}

// parse returns the options. Its errors are about usage.
func parse(args []string, stdout io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("live", flag.ContinueOnError)
	flags.StringVar(&o.model, "model", "", modelUsage)
	flags.StringVar(&o.baseURL, "base-url", "", "URL of a server that speaks the protocol, such as http://localhost:8080/v1")
	policy := flags.String("policy", "copilot-chat", "compaction policy: "+strings.Join(policies.Names(), ", "))
	flags.StringVar(&o.prices, "prices", "", "price the requests as this model's (published prices; default that of -model)")
	flags.StringVar(&o.dir, "dir", ".", "folder that the agent reads")
	flags.StringVar(&o.task, "task", "", "task of the agent")
	flags.StringVar(&o.session, "session", "", "file of a new or existing session (default a new one in a temporary folder)")
	flags.BoolVar(&o.instructions, "instructions", false, "show the folder's instruction files, such as AGENTS.md, with their imports")
	flags.StringVar(&o.skills, "skills", "", "folder of skills that the model may load")
	flags.BoolVar(&o.deferred, "deferred", false, "let the model find its tools by a search, instead of declaring them")
	flags.StringVar(&o.mcp, "mcp", "", "let the model find the tools of the MCP servers in this file, too, as in an mcp.json; it runs their commands")
	flags.StringVar(&o.variables, "mcp-env", "", "names of the environment variables, by commas, that the file of -mcp may use")
	flags.StringVar(&o.page, "page", "", "write a page of the run to this file, even if the run fails")
	flags.StringVar(&o.tokenizer, "tokenizer", "", "count tokens by this tokenizer.json of the model (Gemma 3's for Gemini)")
	flags.IntVar(&o.window, "window", 0, "context window in tokens (default the model's, or the one that a server of your own reports)")
	flags.IntVar(&o.answer, "answer", 0, fmt.Sprintf("maximum tokens of an answer, thinking included (default %d, or a quarter of a smaller window)", summarize.DefaultAnswer))
	catalogue := flags.String("models", "", "read windows and prices from this JSON of models.dev, LiteLLM or catwalk, over those that the program has")
	if err := folderagent.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	if o.policy, err = policies.Named(*policy); err != nil {
		return o, fmt.Errorf("-policy: %w", err)
	}
	if *catalogue != "" { // else the table is modelinfo's own
		file, err := os.Open(*catalogue)
		if err == nil {
			defer file.Close()
			o.table, err = modelinfo.Read(file)
		}
		if err != nil {
			return o, fmt.Errorf("-models: %w", err)
		}
	}
	if o.prices != "" {
		if _, err := o.table.Prices(o.prices); err != nil {
			return o, fmt.Errorf("-prices: %w", err)
		}
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case o.task == "":
		err = errors.New(`-task is missing: say what the agent should do, such as -task "What is in this folder?"`)
	case given["window"] && o.window <= 0:
		err = fmt.Errorf("-window is %d: want a number of tokens, 1 or more", o.window)
	case given["answer"] && o.answer <= 0:
		err = fmt.Errorf("-answer is %d: want a number of tokens, 1 or more", o.answer)
	}
	return o, err
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return folderagent.ExitOK
	}
	out := newTerminal(stdout, stderr)
	session := ""
	if err != nil {
		err = folderagent.UsageError{Err: err}
	} else {
		session, err = work(ctx, o, out)
	}
	if _, tooSmall := errors.AsType[*render.BudgetExceededError](err); tooSmall {
		err = folderagent.UsageError{Err: fmt.Errorf("the window is too small: %w", err)}
	}
	code, text := folderagent.Outcome(ctx, err)
	text = cmp.Or(text, "done")
	if session != "" {
		text += "; session: " + session
	}
	out.note("live: %s", text)
	return code
}

// sources opens what the flags name for the agent to find. The function closes the folders and the servers.
func (o options) sources(ctx context.Context, session *history.Session, own *folderagent.Tools, out *terminal) (s folderagent.Sources, end func(), err error) {
	var roots []*os.Root
	var servers mcp.Servers
	end = func() {
		servers.Close()
		for _, root := range roots {
			root.Close()
		}
	}
	open := func(dir string) fs.FS {
		root, failed := os.OpenRoot(dir)
		if failed != nil {
			err = folderagent.UsageError{Err: failed}
			return nil
		}
		roots = append(roots, root)
		return root.FS()
	}
	if o.instructions {
		s.Instructions = &instructions.Files{FS: open(o.dir)}
	}
	if o.skills != "" {
		s.Skills = &skills.Skills{Session: session, Folders: []fs.FS{open(o.skills)}}
	}
	if o.deferred || o.mcp != "" {
		s.Deferred = &tools.Deferred{Session: session, Toolboxes: own.Toolboxes(), Skills: s.Skills}
	}
	if o.mcp != "" && err == nil {
		servers, err = o.servers(ctx, session, out)
		s.Deferred.Toolboxes = append(s.Deferred.Toolboxes, servers.Toolboxes()...)
	}
	if err != nil {
		end()
	} else if s.Skills != nil {
		for _, note := range s.Skills.Notes() {
			out.note("  %v.", note)
		}
	}
	return s, end, err
}

// servers connects the servers of -mcp, and says what is wrong with them.
func (o options) servers(ctx context.Context, session *history.Session, out *terminal) (mcp.Servers, error) {
	servers, notes, err := mcp.ReadFile(o.mcp, strings.Split(o.variables, ",")...)
	if err != nil {
		return nil, folderagent.UsageError{Err: fmt.Errorf("-mcp: %w", err)}
	}
	for _, s := range servers {
		s.Session = session
	}
	servers.Connect(ctx)
	for _, s := range servers {
		notes = append(notes, s.Notes()...)
	}
	for _, note := range notes {
		out.note("  %s.", note)
	}
	return servers, nil
}

// target opens the model, and says how exact its counts are and what of it is not known.
func (o options) target(ctx context.Context, chosen wanted, out *terminal) (target summarize.Target, err error) {
	chosen.window, chosen.table = o.window, o.table
	model, err := chosen.open(ctx)
	if err != nil {
		return target, err
	}
	if o.tokenizer != "" {
		out.note("  Counts are %s: %s.", model.counter.Kind(), model.counter.Reason)
	}
	target, err = summarize.TargetOf(ctx, model.Model, chosen.name, summarize.TargetOptions{
		Window: cmp.Or(o.window, model.window), Ask: true, Answer: o.answer, Table: o.table, Counter: model.counter,
	})
	if errors.Is(err, sizing.ErrUnknownWindow) {
		return target, folderagent.UsageError{Err: fmt.Errorf("-window is missing: the context window of %s is not known", chosen.name)}
	} else if err != nil {
		return target, folderagent.UsageError{Err: fmt.Errorf("-answer %d and -window %d: %w", o.answer, o.window, err)}
	}
	if o.window == 0 { // else only the prices can be unknown, which the line of the cost says
		for _, note := range target.Notes {
			out.note("  %s.", note)
		}
	}
	return target, nil
}

// work runs the agent on its task, and returns the path of the session.
func work(ctx context.Context, o options, out *terminal) (path string, err error) {
	chosen, err := choose(o.model, o.baseURL)
	if err != nil {
		return "", err
	}
	if o.tokenizer != "" {
		v, err := vocabulary.Open(o.tokenizer)
		if err != nil {
			return "", folderagent.UsageError{Err: fmt.Errorf("-tokenizer: %w", err)}
		}
		chosen.vocabularies = []counters.ModelVocabulary{{Vocabulary: v, Models: []string{chosen.name}}}
	}
	if _, err := os.ReadDir(o.dir); err != nil {
		return "", folderagent.UsageError{Err: err}
	}
	session, err := folderagent.OpenSession(o.session, false)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	path = session.Path()
	chosen.session = session.Header().ID
	watch := &folderagent.Watch{OnRound: out.round}
	if o.page != "" {
		if err := watch.Record(o.page, session); err != nil {
			return path, err
		}
	}
	target, err := o.target(ctx, chosen, out)
	if err != nil {
		return path, err
	}
	var unpriced error
	target.Prices, unpriced = o.table.Prices(cmp.Or(o.prices, chosen.name))
	own, err := folderagent.NewTools(o.dir, path)
	if err != nil {
		return path, folderagent.UsageError{Err: err}
	}
	defer own.Close()
	if err := begin(ctx, session, o.model, out); err != nil {
		return path, err
	}
	sources, closeSources, err := o.sources(ctx, session, own, out)
	if err != nil {
		return path, err
	}
	defer closeSources()
	compactor := &summarize.Compactor{Session: session, Target: target, Policy: o.policy, Observers: []summarize.Observer{summarize.OnEvent(out.event)}}
	watch.Attach(compactor)
	defer compactor.Close() // before the session
	worker := &agent.Agent{
		Compactor: compactor, Prompt: folderagent.Prompt(session, sources, folderagent.Context(own)), Tools: sources.Toolboxes(own),
		MaxTokens: cmp.Or(o.answer, max(1, min(summarize.DefaultAnswer, target.ContextWindow/4))),
		Stream:    out.say, OnStep: watch.Step, Retry: agent.Retry{MaxWait: time.Minute},
	}
	answer, err := worker.Run(ctx, o.task)
	if err == nil {
		err = folderagent.Complete(answer)
	}
	if o.page != "" {
		err = errors.Join(err, watch.WritePage(o.page, o.task))
	}
	if costs, failed := watch.Costs(ctx); failed == nil && costs.Spent > 0 {
		out.note("  Cost: %v.", costs)
	} else if err == nil && unpriced != nil {
		out.note("  Cost: %v; -prices names a model whose prices apply.", unpriced)
	}
	if err != nil && refusesKey(err) {
		err = folderagent.UsageError{Err: fmt.Errorf("the key is refused: check %s: %w", strings.Join(chosen.keys, " and "), err)}
	}
	return path, err
}

// begin records in the session which model answers from here on.
func begin(ctx context.Context, session *history.Session, model string, out *terminal) error {
	if session.Leaf() != "" {
		out.note("  The session continues where it ended.")
	}
	provider, name, _ := strings.Cut(model, ":")
	change := entry.ModelChange{Provider: provider, Model: name}
	if last, found, err := session.Latest(ctx, entry.TypeModelChange); err != nil || found && last.Body == change {
		return err
	}
	_, err := session.Add(ctx, entry.Entry{Body: change})
	return err
}
