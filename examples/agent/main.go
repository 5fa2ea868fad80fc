// Command agent shows promptree's main job: an agent's prompt is composed, fitted to its window, and compacted when it
// overflows.
//
//	go run ./examples/agent
//
// An agent surveys a folder (this repository, or -dir) with tools that really list, read, search and count, in a window
// so small that excerpts and hints are pruned and the history is compacted. At the end it is asked for a detail that
// its summary lacks, and finds it in the transcript that the summary names. Its model is scripted; what the tools return
// is not. No key and no network is needed.
//
//	go run ./examples/agent -session FILE -window 200000
//
// puts a recorded session (of pi, Claude Code, Codex or promptree, or messages of OpenAI or Anthropic) through the same rendering and
// compaction instead, a line a round; -json prints JSON. With -policy the history is compacted by another of the six policies. At the
// end it says what the run cost by the -prices of a model, and what it would have cost if nothing had been compacted.
//
// With -page run.html either writes a page to look at: what filled the window at each step, what was compacted, and each prompt.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/internal/agent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/internal/visible"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/record"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // the agent did not find what it was asked for
	exitUsage       = 2 // a flag, a file or the window is no good
	exitInterrupted = program.ExitInterrupted
)

func main() { program.Main(run) }

// options are what the command line asks for.
type options struct {
	dir, session, transcript string
	page, policy, model      string
	prices                   sizing.Prices // of the model
	window                   int
	json, noBreadcrumb       bool
	pace                     time.Duration
}

// about returns the title of the page.
func (o options) about() string {
	if o.session != "" {
		return fmt.Sprintf("%s in a window of %d tokens", filepath.Base(o.session), o.window)
	}
	return fmt.Sprintf("A survey in a window of %d tokens", o.window)
}

// Windows in tokens where -window is not given.
const (
	surveyWindow = 9_000
	replayWindow = 128_000
)

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", ".", "folder that the agent surveys")
	flags.StringVar(&o.session, "session", "", "recorded session to replay instead")
	flags.StringVar(&o.transcript, "transcript", "", "file to keep the session in; a new one in a temporary folder where it is left out")
	flags.StringVar(&o.page, "page", "", "file for a page that shows the run")
	flags.IntVar(&o.window, "window", 0, fmt.Sprintf("context window in tokens (default %d, %d with -session)", surveyWindow, replayWindow))
	flags.StringVar(&o.policy, "policy", "", "policy of compaction: "+strings.Join(policies.Names(), ", ")+" (default "+copilotchat.Name+", only if a prompt does not fit)")
	flags.StringVar(&o.model, "prices", "claude-opus-4-5", "model by whose published prices the run is priced")
	flags.BoolVar(&o.json, "json", false, "print one JSON object a round, and one with totals")
	flags.BoolVar(&o.noBreadcrumb, "no-breadcrumb", false, "leave the breadcrumb out of summaries, to see what it is for")
	flags.DurationVar(&o.pace, "pace", 0, "time to wait after each round, such as 300ms")
	if err := program.Parse(flags, args, stdout); err != nil {
		return o, program.UsageError{Err: err}
	}
	var err error
	if o.prices, err = sizing.PublishedPrices().Of(o.model); err != nil {
		return o, program.UsageError{Err: fmt.Errorf("-prices: %w", err)}
	}
	if _, err := policies.Named(cmp.Or(o.policy, copilotchat.Name)); err != nil {
		return o, program.UsageError{Err: fmt.Errorf("-policy: %w", err)}
	}
	given := false
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == "window" })
	switch {
	case flags.NArg() > 0:
		return o, program.UsageError{Err: fmt.Errorf("unexpected argument %q (-help lists the flags)", flags.Arg(0))}
	case given && o.window <= 0:
		return o, program.UsageError{Err: fmt.Errorf("-window is %d: it is a number of tokens, 1 or more", o.window)}
	case o.pace < 0:
		return o, program.UsageError{Err: fmt.Errorf("-pace is %v: it is a time, 0 or more", o.pace)}
	case !given && o.session != "":
		o.window = replayWindow
	case !given:
		o.window = surveyWindow
	}
	return o, nil
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	transcript := ""
	out := &noting{Writer: stdout}
	if err == nil {
		transcript, err = work(ctx, o, out)
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing what it did: %w", out.err)
	}
	return report(ctx, err, transcript, stderr)
}

// noting is a writer that notes the first error: what prints a line does not look for one.
type noting struct {
	io.Writer
	err error
}

func (n *noting) Write(data []byte) (int, error) {
	written, err := n.Writer.Write(data)
	if n.err == nil {
		n.err = err
	}
	return written, err
}

// report says in one line what went wrong, and gives the exit code.
func report(ctx context.Context, err error, transcript string, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	kept := ""
	if transcript != "" {
		kept = "; transcript: " + transcript
	}
	_, usage := errors.AsType[program.UsageError](err)
	_, tooSmall := errors.AsType[*render.BudgetExceededError](err)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "agent: interrupted%s\n", kept)
		return exitInterrupted
	case usage:
		fmt.Fprintf(stderr, "agent: %s\n", program.OneLine(err))
		return exitUsage
	case tooSmall:
		fmt.Fprintf(stderr, "agent: the -window is too small (tool definitions and a tenth of it are not for messages): %s%s\n", program.OneLine(err), kept)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "agent: %s%s\n", program.OneLine(err), kept)
		return exitFailed
	}
}

// openSession opens the transcript, a new one in a temporary folder where no name is given.
func openSession(path string) (*history.Session, error) {
	if path == "" {
		dir, err := os.MkdirTemp("", "promptree-agent-")
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, "transcript.jsonl")
	}
	session, err := history.Open(path, history.Options{})
	if err != nil {
		return nil, program.UsageError{Err: err}
	}
	if session.Leaf() != "" {
		return nil, errors.Join(program.UsageError{Err: fmt.Errorf("%s holds a session already: name another file", path)}, session.Close())
	}
	return session, nil
}

// work opens what the run needs, runs the survey or the replay, and tells where the transcript is.
func work(ctx context.Context, o options, stdout io.Writer) (transcript string, err error) {
	tokenizer := tiktoken.O200k()
	var recorder *record.Recorder
	if o.page != "" {
		recorder = new(record.Recorder)
		page, wrong := os.Create(o.page)
		if wrong != nil {
			return "", program.UsageError{Err: wrong}
		}
		defer func() {
			if err == nil {
				err = recorder.Write(page, inspect.Options{Title: o.about()})
			}
			err = errors.Join(err, page.Close())
		}()
	}
	var job func(session *history.Session, onRound func(agent.Round)) (answer string, costs agent.Costs, err error)
	var title string
	window := sizing.Window{Tokens: o.window, Answer: min(tiktoken.ReplyPriming, o.window-1)}
	if o.session != "" {
		recording, err := sessionfile.Read(o.session, importer.Options{})
		if err != nil {
			return "", err
		}
		title = fmt.Sprintf("Replay of %s in a window of %d tokens. Summaries are offline digests.", o.session, o.window)
		job = func(session *history.Session, onRound func(agent.Round)) (string, agent.Costs, error) {
			costs, err := replay(ctx, o, recording, session, tokenizer, window, recorder, onRound)
			return "", costs, err
		}
	} else {
		if _, err := os.ReadDir(o.dir); err != nil {
			return "", program.UsageError{Err: err}
		}
		title = "The model of this agent is scripted, its summaries are offline digests; what its tools return is real."
		job = func(session *history.Session, onRound func(agent.Round)) (string, agent.Costs, error) {
			return surveyFolder(ctx, o, session, tokenizer, window, recorder, onRound)
		}
	}
	session, err := openSession(o.transcript)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, session.Close()) }()

	var out printer = lines{json.NewEncoder(stdout)}
	if !o.json {
		t := table{stdout}
		t.head(title)
		out = t
	}
	sum := totals{Transcript: session.Path(), Model: o.model}
	sum.Answer, sum.Costs, err = job(session, func(r agent.Round) {
		sum.add(r)
		out.round(r)
	})
	if err == nil {
		out.end(sum)
	}
	return session.Path(), err
}

// compactBy returns the policy that the options name.
func (o options) compactBy() summarize.Policy {
	p := policies.All()[cmp.Or(o.policy, copilotchat.Name)]
	if o.policy == "" { // only if a prompt does not fit, so that each run shows the same
		p.Trigger = nil
		if o.session != "" {
			p.Overflow = summarize.Overflow{} // and what does not fit even then is an error
		}
	}
	p.Place.NoBreadcrumb = o.noBreadcrumb
	return p
}

// surveyFolder lets the scripted agent work, and checks what it answers.
func surveyFolder(ctx context.Context, o options, session *history.Session, tokenizer chat.Tokenizer, window sizing.Window, recorder *record.Recorder, onRound func(agent.Round)) (answer string, costs agent.Costs, err error) {
	tools, err := agent.NewTools(o.dir, session.Path())
	if err != nil {
		return "", costs, program.UsageError{Err: err}
	}
	defer tools.Close()
	model := &survey{}
	worker := &agent.Agent{
		Model: model, Summarizer: models.Offline{Tokenizer: tokenizer}, Session: session, Tools: tools,
		Tokenizer: tokenizer, Window: window, Policy: o.compactBy(), Prices: o.prices, Pace: o.pace, OnRound: onRound, Recorder: recorder,
	}
	defer worker.Close()
	if _, err := worker.Ask(ctx, surveyTask); err != nil {
		return "", costs, err
	}
	answer, err = worker.Ask(ctx, fmt.Sprintf(recallTask, model.first))
	if err != nil {
		return "", costs, err
	}
	want, err := tools.Sum(model.first)
	if err != nil {
		return "", costs, err
	}
	if !strings.Contains(answer, want) {
		return "", costs, fmt.Errorf("the agent did not find what it was asked for; it said: %s", answer)
	}
	return answer, worker.Costs(), nil
}
