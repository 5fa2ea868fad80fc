// Command tasks lets a model do tasks that depend on a fact that its prompt does not show any more, under each
// compaction policy, and prints how often it succeeds and at what cost.
//
//	go run ./bench/tasks
//
// With -model it asks a real model, with the key in the environment variable of its provider. It first prints what that
// will cost, and asks:
//
//	go run ./bench/tasks -model claude-haiku-4-5 -policy frugal,copilot-cli -runs 5
//
// Exit codes: 0 all tasks were played, solved or not, 1 something failed, 2 a flag is invalid, 130 interrupted.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/policies"
)

func main() { program.Main(run) }

// none stands for no policy: everything is sent, and so nothing is tested. It shows whether the model can do the tasks.
const none = "none"

// minWindow leaves room for a prompt beside the answer, the tools and a page of a file.
const minWindow = 8000

// options are the values of the flags.
type options struct {
	model, prices, lookUp string
	window, runs          int
	seed                  uint64
	json, yes             bool
	policies, tasks       []string
}

func parse(args []string, stdout io.Writer) (options, error) {
	known := append([]string{none}, policies.Names()...)
	var o options
	choose := func(chosen *[]string, known []string) func(string) error {
		*chosen = known
		return func(value string) error {
			*chosen = strings.Split(value, ",")
			for _, c := range *chosen {
				if !slices.Contains(known, c) {
					return fmt.Errorf("unknown %q: name some of %s", c, strings.Join(known, ", "))
				}
			}
			return nil
		}
	}
	flags := flag.NewFlagSet("tasks", flag.ContinueOnError)
	program.Usage(flags, "Usage: tasks [flags]")
	flags.StringVar(&o.model, "model", offline,
		"model that does the tasks: "+offline+", a scripted one that needs no network, or a name of a model of OpenAI, Anthropic or Google")
	flags.StringVar(&o.prices, "prices", "", "model whose published prices are used (default that of -model)")
	flags.StringVar(&o.lookUp, "lookup", withRecall, "what the model looks up with: "+withRecall+" (the tools of package recall), "+withFiles+" (a tool that reads files) or "+withNothing)
	flags.IntVar(&o.window, "window", 16_000, "context window in tokens; clipped takes 48,000 at least, and cleared 80,000")
	flags.IntVar(&o.runs, "runs", 1, "runs of each task under each policy, each with the next seed")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the first run; the same for all policies")
	flags.BoolVar(&o.json, "json", false, "print one JSON object for each run")
	flags.BoolVar(&o.yes, "yes", false, "do not ask before a real model is paid for")
	flags.Func("policy", "policies to compare, separated by commas; "+none+" is no policy (default all)", choose(&o.policies, known))
	flags.Func("task", "tasks to play, separated by commas (default all)", choose(&o.tasks, taskNames))
	err := program.Parse(flags, args, stdout)
	switch {
	case err != nil:
		return o, err
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag (-help lists the flags)", flags.Arg(0))
	case o.window < minWindow:
		return o, fmt.Errorf("-window is %d: set %d or more", o.window, minWindow)
	case o.runs < 1:
		return o, fmt.Errorf("-runs is %d: set 1 or more", o.runs)
	case !slices.Contains([]string{withRecall, withFiles, withNothing}, o.lookUp):
		return o, fmt.Errorf("-lookup is %q: set %s, %s or %s", o.lookUp, withRecall, withFiles, withNothing)
	}
	return o, nil
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return program.Run(ctx, "tasks", args, stdout, stderr, parse, func(ctx context.Context, o options, stdout, stderr io.Writer) error {
		return compare(ctx, o, os.Stdin, stdout, stderr)
	})
}

// compare plays each task under each policy, and prints the outcomes.
func compare(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) error {
	with, err := settingOf(ctx, o)
	if err != nil {
		return err
	}
	if o.model != offline {
		if err := agree(ctx, o, with, stdin, stderr); err != nil {
			return err
		}
	}
	outcomes := playAll(ctx, o, with)
	if !o.json {
		return cmp.Or(printTable(outcomes, o, stdout), ctx.Err())
	}
	for _, out := range outcomes {
		if err := json.NewEncoder(stdout).Encode(out); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// playAll makes all runs, unless the context ends.
func playAll(ctx context.Context, o options, with setting) (outcomes []outcome) {
	for _, task := range o.tasks {
		for _, policy := range o.policies {
			for i := range o.runs {
				out := play(ctx, task, o.seed+uint64(i), policies.All()[policy], with)
				if ctx.Err() != nil {
					return outcomes
				}
				outcomes = append(outcomes, out)
			}
		}
	}
	return outcomes
}

// errDeclined reports that the user does not want to pay.
var errDeclined = errors.New("nothing was asked of the model, and nothing was spent: answer yes, or set -yes")

// agree prints what the runs will cost, and returns an error unless the user agrees.
func agree(ctx context.Context, o options, with setting, stdin io.Reader, stderr io.Writer) error {
	once := o
	once.runs = 1
	with.model = reader{with.tokenizer}
	var sum outcome
	for _, out := range playAll(ctx, once, with) {
		sum.add(out)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(stderr, "%d runs with %s will take about %d tokens of input (%d%% cached) and %d of output: about $%.2f at published prices.\n"+
		"That is what a script takes, so expect up to twice as much from a model that thinks or errs.\n",
		o.runs*len(o.tasks)*len(o.policies), o.model, o.runs*sum.Input, 100*sum.Cached/max(1, sum.Input), o.runs*sum.Output, float64(o.runs)*sum.Dollars)
	if o.yes {
		return nil
	}
	fmt.Fprint(stderr, "Go on? (yes/no) ")
	if line, _ := bufio.NewReader(stdin).ReadString('\n'); strings.TrimSpace(line) != "yes" {
		return errDeclined
	}
	return nil
}

// settingOf returns the setting that the options ask for.
func settingOf(ctx context.Context, o options) (setting, error) {
	with := setting{name: o.model, tokenizer: tiktoken.O200k(), window: o.window, lookUp: o.lookUp}
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
	with.model, err = modelOf(ctx, o.model, with.tokenizer)
	return with, err
}

// wilson returns the interval of Wilson's score for k of n, at 95%, in percent.
func wilson(k, n int) (low, high float64) {
	p, m, z := float64(k)/float64(n), float64(n), 1.96
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return 100 * (middle - half) / (1 + z*z/m), 100 * (middle + half) / (1 + z*z/m)
}

// printTable prints a line for each task and policy. Outcomes are in the order of [playAll].
func printTable(outcomes []outcome, o options, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "model %s, window %d, look-ups with %s, runs %d\n\n", o.model, o.window, o.lookUp, o.runs)
	fmt.Fprintln(t, "task\tpolicy\tsolved\t95%\tpaired\tshown\tmistakes\tlook-backs\tsteps\tinput\tcached\toutput\tdollars\tcompactions\t")
	base := map[string]bool{} // whether the first policy that tested it solved a task with a seed
	for runs := range slices.Chunk(outcomes, o.runs) {
		sum := outcome{Policy: runs[0].Policy}
		var tested, solved, shown, better, worse int
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		for _, r := range runs {
			sum.add(r)
			if !r.tested() {
				sum.Fate = r.Fate
				continue
			}
			key := fmt.Sprint(r.Task, r.Seed)
			won, paired := base[key]
			if !paired {
				base[key] = r.Solved
			}
			count(&tested, true)
			count(&solved, r.Solved)
			count(&shown, r.Shown)
			count(&better, paired && r.Solved && !won)
			count(&worse, paired && !r.Solved && won)
		}
		dollars := "-"
		if sum.Dollars > 0 {
			dollars = fmt.Sprintf("%.3f", sum.Dollars)
		}
		outcome := fmt.Sprintf("not tested: %s\t\t\t", sum.Fate)
		if tested > 0 {
			low, high := wilson(solved, tested)
			outcome = fmt.Sprintf("%d of %d\t%.0f-%.0f%%\t+%d -%d\t%d", solved, tested, low, high, better, worse, shown)
		}
		if left := len(runs) - tested; tested > 0 && left > 0 {
			sum.Err = fmt.Sprintf("%d not tested: %s. ", left, sum.Fate) + sum.Err
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d%%\t%d\t%s\t%d\t%s\n", runs[0].Task, sum.Policy, outcome,
			sum.Mistakes, sum.LookBacks, sum.Steps, sum.Input, 100*sum.Cached/max(1, sum.Input), sum.Output, dollars, sum.Compactions, sum.Err)
	}
	return t.Flush()
}
