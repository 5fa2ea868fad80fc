// Command tasks lets a model do small tasks whose results can be checked, under each compaction policy and without one,
// and prints which it solved and at what cost.
//
//	go run ./bench/tasks
//
// With -model it asks a real model, with the key in the environment variable of its provider:
//
//	go run ./bench/tasks -model claude-haiku-4-5 -policy frugal,copilot-cli
//
// Exit codes: 0 all tasks were played, solved or not, 1 something failed, 2 a flag is invalid, 130 interrupted.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

func main() { program.Main(run) }

// none stands for no policy: the whole session is sent, and its oldest part is left out once a request was refused.
const none = "none"

// options are the values of the flags.
type options struct {
	model, prices string
	window        int
	size          float64
	seed          uint64
	json          bool
	policies      []string
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("tasks", flag.ContinueOnError)
	program.Usage(flags, "Usage: tasks [flags]")
	flags.StringVar(&o.model, "model", offline,
		"model that does the tasks: "+offline+", a scripted one that needs no network, or a name of a model of OpenAI, Anthropic or Google")
	flags.StringVar(&o.prices, "prices", "", "model whose published prices are used (default that of -model)")
	flags.IntVar(&o.window, "window", 16_000, "context window in tokens")
	flags.Float64Var(&o.size, "size", 1, "length of the tasks, as a multiple of those in README.md")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the tasks")
	flags.BoolVar(&o.json, "json", false, "print one JSON object for each task and policy")
	known := append([]string{none}, slices.Sorted(maps.Keys(policies.All()))...)
	names := flags.String("policy", strings.Join(known, ","), "policies to compare, separated by commas; "+none+" is no policy")
	if err := program.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	o.policies = strings.Split(*names, ",")
	for _, name := range o.policies {
		if !slices.Contains(known, name) {
			return o, fmt.Errorf("-policy: unknown policy %q: name some of %s", name, strings.Join(known, ", "))
		}
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag (-help lists the flags)", flags.Arg(0))
	case o.window < 2*answerTokens:
		return o, fmt.Errorf("-window is %d: set %d or more", o.window, 2*answerTokens)
	case !(o.size > 0 && o.size <= 10):
		return o, fmt.Errorf("-size is %v: set a number above 0, 10 at most", o.size)
	}
	return o, nil
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return program.Run(ctx, "tasks", args, stdout, stderr, parse, compare)
}

// compare plays each task under each policy, and prints the outcomes.
func compare(ctx context.Context, o options, stdout, _ io.Writer) error {
	with, err := settingOf(ctx, o)
	if err != nil {
		return err
	}
	all := policies.All()
	var outcomes []outcome
	for _, name := range o.policies {
		var policy *policy.Policy
		if p, ok := all[name]; ok {
			policy = &p
		}
		for _, t := range tasks(o.seed, o.size) {
			out := play(ctx, t, policy, with)
			if ctx.Err() != nil {
				break
			}
			outcomes = append(outcomes, out)
		}
	}
	if o.json {
		err = printJSON(outcomes, stdout)
	} else {
		err = printTable(outcomes, with, stdout)
	}
	return cmp.Or(err, ctx.Err())
}

// settingOf returns the setting that the options ask for.
func settingOf(ctx context.Context, o options) (setting, error) {
	tokenizer := tiktoken.O200k()
	with := setting{name: o.model, tokenizer: tokenizer, window: o.window}
	priced := o.prices
	if priced == "" && o.model != offline {
		priced = o.model
	}
	var err error
	if priced != "" {
		if with.prices, err = sizing.PublishedPrices().Of(priced); err != nil {
			return setting{}, fmt.Errorf("-prices: %w", err)
		}
	}
	with.model, err = open(ctx, o.model, o.window, tokenizer)
	return with, err
}

func printJSON(outcomes []outcome, w io.Writer) error {
	e := json.NewEncoder(w)
	for _, out := range outcomes {
		if err := e.Encode(out); err != nil {
			return err
		}
	}
	return nil
}

func printTable(outcomes []outcome, with setting, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "model %s, window %d\n\ntask\tpolicy\tsolved\tsteps\tinput\tcached\toutput\tdollars\tcompactions\tlook-backs\t\n", with.name, with.window)
	for _, o := range slices.SortedStableFunc(slices.Values(outcomes), func(a, b outcome) int { return strings.Compare(a.Task, b.Task) }) {
		solved := "no"
		if o.Solved {
			solved = "yes"
		}
		dollars := "-"
		if o.Dollars > 0 {
			dollars = fmt.Sprintf("%.3f", o.Dollars)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d%%\t%d\t%s\t%d\t%d\t%s\n", o.Task, o.Policy, solved, o.Steps, o.Input, 100*o.Cached/max(1, o.Input), o.Output, dollars, o.Compactions, o.LookBacks, o.Err)
	}
	return t.Flush()
}
