// Command agent shows the whole of promptree: it composes an agent's prompt, fits it to a context window, and compacts
// the history when it overflows.
//
//	go run ./examples/agent
//
// An agent surveys a folder (this repository, or -dir) with tools that really list, read, search and count, in a window
// so small that excerpts and hints are pruned and the history is compacted. At the end it is asked for a detail that
// its summary lacks, and finds it in the transcript that the summary names. The model is scripted; the results of the
// tools are real. It needs no key and no network. With -recall it finds the detail with the tools of package recall.
//
// It prints one line a round; -json prints JSON. -policy compacts by another of the six policies. At the end it prints
// the cost of the run by the -prices of a model, and the cost without any compaction. What a recorded session would have
// cost, promptree replay says.
//
// -page run.html also writes a page: what filled the window at each step, what was compacted, and each prompt.
//
// Exit codes: 0 answered, 1 the answer was not found or something failed, 2 a flag, a file or the window is invalid,
// 130 interrupted.
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
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/record"
)

func main() { folderagent.Main(run) }

// options are the values of the command line.
type options struct {
	dir, transcript       string
	page, policy, model   string
	summaryModel          string
	prices, summaryPrices sizing.Prices // of the models
	window                int
	json, noBreadcrumb    bool
	recall                bool
	pace                  time.Duration
}

// about returns the title of the page.
func (o options) about() string {
	return fmt.Sprintf("A survey in a window of %d tokens", o.window)
}

// surveyWindow is the default window, in tokens.
const surveyWindow = 16_000

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", ".", "folder that the agent surveys")
	flags.StringVar(&o.transcript, "transcript", "", "file for the session (default a new one in a temporary folder)")
	flags.StringVar(&o.page, "page", "", "write a page of the run to this file")
	flags.IntVar(&o.window, "window", surveyWindow, "context window in tokens")
	flags.StringVar(&o.policy, "policy", "", "compaction policy: "+strings.Join(policies.Names(), ", ")+" (default "+copilotchat.Name+", only if a prompt does not fit)")
	flags.StringVar(&o.model, "prices", "claude-opus-4-5", "price the run as this model's (published prices)")
	flags.StringVar(&o.summaryModel, "summary-prices", "claude-haiku-4-5", "price the summaries as this model's")
	flags.BoolVar(&o.json, "json", false, "print one JSON object a round, and one with totals")
	flags.BoolVar(&o.noBreadcrumb, "no-breadcrumb", false, "leave the breadcrumb out of summaries, to see what happens without it")
	flags.BoolVar(&o.recall, "recall", false, "look things up with the tools of package recall instead of those for files")
	flags.DurationVar(&o.pace, "pace", 0, "time to wait after each round, such as 300ms")
	if err := folderagent.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	var err error
	if o.prices, err = modelinfo.Prices(o.model); err != nil {
		return o, folderagent.UsageError{Err: fmt.Errorf("-prices: %w", err)}
	}
	if o.summaryPrices, err = modelinfo.Prices(o.summaryModel); err != nil {
		return o, folderagent.UsageError{Err: fmt.Errorf("-summary-prices: %w", err)}
	}
	if _, err := policies.Named(cmp.Or(o.policy, copilotchat.Name)); err != nil {
		return o, folderagent.UsageError{Err: fmt.Errorf("-policy: %w", err)}
	}
	switch {
	case o.window <= 0:
		return o, folderagent.UsageError{Err: fmt.Errorf("-window is %d: want a number of tokens, 1 or more", o.window)}
	case o.pace < 0:
		return o, folderagent.UsageError{Err: fmt.Errorf("-pace is %v: want a duration of 0 or more", o.pace)}
	}
	return o, nil
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = folderagent.VisibleWriter(stdout), folderagent.VisibleWriter(stderr)
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return folderagent.ExitOK
	}
	transcript := ""
	out := &noting{Writer: stdout}
	if err == nil {
		transcript, err = work(ctx, o, out)
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing the output: %w", out.err)
	}
	return report(ctx, err, transcript, stderr)
}

// noting is a writer that records its first error, because the code that prints lines does not check for errors.
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

// report prints an error in one line and returns the exit code.
func report(ctx context.Context, err error, transcript string, stderr io.Writer) int {
	if err == nil {
		return folderagent.ExitOK
	}
	if _, tooSmall := errors.AsType[*render.BudgetExceededError](err); tooSmall {
		err = folderagent.UsageError{Err: fmt.Errorf("the -window is too small (tool definitions and a tenth of it are kept free): %w", err)}
	}
	code, text := folderagent.Outcome(ctx, err)
	if transcript != "" {
		text += "; transcript: " + transcript
	}
	fmt.Fprintf(stderr, "agent: %s\n", text)
	return code
}

// work runs the survey, and returns the path of the transcript.
func work(ctx context.Context, o options, stdout io.Writer) (transcript string, err error) {
	tokenizer := tiktoken.O200k()
	var recorder *record.Recorder
	if o.page != "" {
		recorder = new(record.Recorder)
		page, wrong := os.Create(o.page)
		if wrong != nil {
			return "", folderagent.UsageError{Err: wrong}
		}
		defer func() {
			if err == nil {
				err = recorder.Write(page, inspect.Options{Title: o.about()})
			}
			err = errors.Join(err, page.Close())
		}()
	}
	window := sizing.Window{Tokens: o.window, Answer: min(tiktoken.ReplyPriming, o.window-1)}
	if _, err := os.ReadDir(o.dir); err != nil {
		return "", folderagent.UsageError{Err: err}
	}
	session, err := folderagent.OpenSession(o.transcript, o.recall)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if session.Leaf() != "" {
		return "", folderagent.UsageError{Err: fmt.Errorf("%s already holds a session: name another file", o.transcript)}
	}

	var out printer = lines{json.NewEncoder(stdout)}
	if !o.json {
		t := table{stdout}
		t.head("The model is scripted, the summaries are offline digests; the tools are real.")
		out = t
	}
	sum := totals{Transcript: session.Path(), Model: o.model, SummaryModel: o.summaryModel}
	sum.Answer, sum.Costs, err = surveyFolder(ctx, o, session, tokenizer, window, recorder, func(r folderagent.Round) {
		sum.add(r)
		out.round(r)
	})
	if err == nil {
		out.end(sum)
	}
	return session.Path(), err
}

// compactBy returns the policy of -policy.
func (o options) compactBy() policy.Policy {
	p := policies.All()[cmp.Or(o.policy, copilotchat.Name)]
	if o.policy == "" { // compact only if a prompt does not fit, so that every run is the same
		p.Trigger = nil
	}
	p.Replace.NoBreadcrumb = o.noBreadcrumb
	return p
}

// surveyFolder runs the survey with the scripted model, and checks its answer.
func surveyFolder(ctx context.Context, o options, session *history.Session, tokenizer chat.Tokenizer, window sizing.Window, recorder *record.Recorder, onRound func(folderagent.Round)) (answer string, costs folderagent.Costs, err error) {
	tools, err := folderagent.NewTools(o.dir, session.Path())
	if err != nil {
		return "", costs, folderagent.UsageError{Err: err}
	}
	defer tools.Close()
	model := &survey{}
	worker := &folderagent.Agent{
		Model:      folderagent.Foretold(model, &folderagent.Forecast{Tokenizer: tokenizer, Prices: o.prices}),
		Summarizer: folderagent.Foretold(models.Offline{Tokenizer: tokenizer}, &folderagent.Forecast{Tokenizer: tokenizer, Prices: o.summaryPrices}),
		Session:    session, Tools: tools, Context: folderagent.Context(tools),
		Tokenizer: tokenizer, Window: window, Policy: o.compactBy(), Prices: o.prices, SummaryPrices: o.summaryPrices, Pace: o.pace, OnRound: onRound, Recorder: recorder,
	}
	if o.recall {
		worker.Recall = &recall.Tools{}
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
		return "", costs, fmt.Errorf("the agent did not find the checksum; it said: %s", answer)
	}
	return answer, worker.Costs(), nil
}
