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
// It prints one line a round. -policy compacts by another of the six policies. At the end it prints the cost of the run by
// the -prices of a model, and the cost without any compaction, as package replay works it out.
//
// -page run.html also writes a page: what filled the window at each step, what was compacted, and each prompt.
//
// Exit codes: 0 answered, 1 the answer was not found or something failed, 2 a flag, a file or the window is invalid,
// 130 interrupted.
package main

import (
	"cmp"
	"context"
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
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

func main() { folderagent.Main(run) }

// options are the values of the command line.
type options struct {
	dir, transcript       string
	page, model           string
	summaryModel          string
	prices, summaryPrices sizing.Prices // of the models
	policy                policy.Policy
	window                int
	recall                bool
	pace                  time.Duration
}

// surveyWindow is the default window, in tokens.
const surveyWindow = 16_000

// parse returns the options. Its errors are about usage.
func parse(args []string, stdout io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", ".", "folder that the agent surveys")
	flags.StringVar(&o.transcript, "transcript", "", "file for the session (default a new one in a temporary folder)")
	flags.StringVar(&o.page, "page", "", "write a page of the run to this file")
	flags.IntVar(&o.window, "window", surveyWindow, "context window in tokens")
	name := flags.String("policy", "", "compaction policy: "+strings.Join(policies.Names(), ", ")+" (default copilot-chat, only if a prompt does not fit)")
	flags.StringVar(&o.model, "prices", "claude-opus-4-5", "price the run as this model's (published prices)")
	flags.StringVar(&o.summaryModel, "summary-prices", "claude-haiku-4-5", "price the summaries as this model's")
	noBreadcrumb := flags.Bool("no-breadcrumb", false, "leave the breadcrumb out of summaries, to see what happens without it")
	flags.BoolVar(&o.recall, "recall", false, "look things up with the tools of package recall instead of those for files")
	flags.DurationVar(&o.pace, "pace", 0, "time to wait after each round, such as 300ms")
	if err := folderagent.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	if o.prices, err = modelinfo.Prices(o.model); err != nil {
		return o, fmt.Errorf("-prices: %w", err)
	}
	if o.summaryPrices, err = modelinfo.Prices(o.summaryModel); err != nil {
		return o, fmt.Errorf("-summary-prices: %w", err)
	}
	if o.policy, err = policies.Named(cmp.Or(*name, "copilot-chat")); err != nil {
		return o, fmt.Errorf("-policy: %w", err)
	}
	if *name == "" { // compact only if a prompt does not fit, so that every run is the same
		o.policy.Trigger = policy.Trigger{{On: policy.OnBudgetExceeded}}
	}
	o.policy.Replace.NoBreadcrumb = *noBreadcrumb
	switch {
	case o.window <= 0:
		err = fmt.Errorf("-window is %d: want a number of tokens, 1 or more", o.window)
	case o.pace < 0:
		err = fmt.Errorf("-pace is %v: want a duration of 0 or more", o.pace)
	}
	return o, err
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = folderagent.VisibleWriter(stdout), folderagent.VisibleWriter(stderr)
	o, err := parse(args, stdout)
	out := table{to: stdout}
	if err != nil {
		err = folderagent.UsageError{Err: err}
	} else if err = work(ctx, o, &out); err == nil && out.err != nil {
		err = fmt.Errorf("writing the output: %w", out.err)
	}
	if _, tooSmall := errors.AsType[*render.BudgetExceededError](err); tooSmall {
		err = folderagent.UsageError{Err: fmt.Errorf("the -window is too small (the definitions of the tools are in it): %w", err)}
	}
	code, text := folderagent.Outcome(ctx, err)
	if out.transcript != "" {
		text += "; transcript: " + out.transcript
	}
	if code != folderagent.ExitOK {
		fmt.Fprintf(stderr, "agent: %s\n", text)
	}
	return code
}

// work runs the survey, and prints it.
func work(ctx context.Context, o options, out *table) (err error) {
	watch := &folderagent.Watch{Pace: o.pace, OnRound: out.round}
	if _, err := os.ReadDir(o.dir); err != nil {
		return folderagent.UsageError{Err: err}
	}
	session, err := folderagent.OpenSession(o.transcript, o.recall)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if session.Leaf() != "" {
		return folderagent.UsageError{Err: fmt.Errorf("%s already holds a session: name another file", o.transcript)}
	}
	if o.page != "" {
		if err := watch.Record(o.page, session); err != nil {
			return err
		}
		defer func() { // also if the run was interrupted
			err = errors.Join(err, watch.WritePage(o.page, fmt.Sprintf("A survey in a window of %d tokens", o.window)))
		}()
	}
	out.transcript = session.Path()
	own, err := folderagent.NewTools(o.dir, out.transcript)
	if err != nil {
		return folderagent.UsageError{Err: err}
	}
	defer own.Close()
	out.head("The model is scripted, the summaries are offline digests; the tools are real.")
	if out.answer, err = surveyFolder(ctx, o, session, own, watch); err != nil {
		return err
	}
	if out.Costs, err = watch.Costs(ctx); err == nil {
		out.end(o)
	}
	return err
}

// surveyFolder runs the survey with the scripted model, and checks its answer.
func surveyFolder(ctx context.Context, o options, session *history.Session, own *folderagent.Tools, watch *folderagent.Watch) (answer string, err error) {
	tokenizer, script := tiktoken.O200k(), &survey{}
	foretold := func(model chat.Model, prices sizing.Prices) summarize.Target {
		return summarize.Target{
			Model: folderagent.Foretold(model, tokenizer, prices), Prices: prices, Tokenizer: tokenizer,
			ContextWindow: o.window, Budget: max(1, o.window-tiktoken.ReplyPriming),
		}
	}
	compactor := &summarize.Compactor{
		Session: session, Policy: o.policy, Target: foretold(script, o.prices),
		Models: map[string]summarize.Target{digests: foretold(models.Offline{Tokenizer: tokenizer}, o.summaryPrices)},
	}
	compactor.Policy.Ask.Names = []string{digests}
	watch.Attach(compactor)
	defer compactor.Close()
	worker := &agent.Agent{
		Compactor: compactor, Prompt: folderagent.Prompt(session, folderagent.Sources{}, folderagent.Context(own)), Tools: own.Toolboxes(), OnStep: watch.Step,
	}
	if o.recall {
		worker.Tools = append(worker.Tools, recall.Tools{})
	}
	if _, err := worker.Run(ctx, surveyTask); err != nil {
		return "", err
	}
	last, err := worker.Run(ctx, fmt.Sprintf(recallTask, script.first))
	if err != nil {
		return "", err
	}
	answer = last.Message().Text()
	if want, err := own.Sum(script.first); err != nil || !strings.Contains(answer, want) {
		return "", cmp.Or(err, fmt.Errorf("the agent did not find the checksum; it said: %s", answer))
	}
	return answer, nil
}

// digests is the name of the model that writes summaries.
const digests = "digests"
