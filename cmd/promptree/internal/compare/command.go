// Package compare is the command `promptree replay`: the flags and the text around package summarize/replay.
// docs/replay.md says how to use it and how to read its output.
package compare

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/cmd/promptree/internal/output"
	"github.com/promptree-go/promptree/cmd/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/visible"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// The output formats.
const (
	formatText = "text"
	formatJSON = "json"
)

// all stands for every policy in a flag.
const all = "all"

// options holds the parsed command line.
type options struct {
	policies  []policy.Policy
	windows   []int
	modelName string
	format    string
	page      output.File
	prices    pricing
	details   bool
	recall    bool
	salvage   bool // leave out lines that cannot be read
	unchecked bool // show dollars although the check failed
	check     bool // check the cost model, request by request, instead of replaying
	sessions  []string
	width     int // of the terminal, 0 for no limit
	folders   *program.Folders
}

// parse reads the flags, and then what they name; what they exclude of each other is looked at last.
func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	program.Usage(flags, `Usage: promptree replay [flags] SESSION…

Replays recorded sessions (- is the standard input, a folder stands for all recordings in it) as if they were happening, and says for
each compaction policy what the session would have cost and what of what its answers needed again its prompts would still have shown.
Of several sessions, a table has the sums. Examples:

	promptree replay session.jsonl
	promptree replay ~/.claude/projects
	promptree replay -window 64000,200000 -policy frugal,stagewise session.jsonl
	promptree replay -prices input=3,read=0.3,write=3.75,output=15 -details session.jsonl
	promptree replay -prices none -recall session.jsonl

-details adds tables of all figures, with a legend for each column; -check shows how far the dollars can be trusted. The exit
code is 1 if a policy did not reach the end of a session. The flags:
`)
	names := flags.String("policy", all, "policies to compare, separated by commas, or all")
	windows := flags.String("window", "", "context windows in tokens, separated by commas (default that of the session's own model)")
	flags.BoolVar(&o.details, "details", false, "add tables of all figures, with legends")
	flags.StringVar(&o.modelName, "model-name", "",
		"name of the answering model, because some policies treat some models differently (default the last that the session names)")
	flags.StringVar(&o.format, "format", formatText, "text, or json (an object for each session, window and policy)")
	o.page = output.Flag(flags, "page", "", "new file for a page that shows each step of one session, policy and window")
	flags.StringVar(&o.prices.agent, "prices", "",
		"prices of tokens: the name of a model, a list such as input=5,read=0.5,write=6.25,output=25,least=4096 in dollars a million (read and write cost what input does by default), or none (default those of the session's model)")
	flags.StringVar(&o.prices.summaries, "summary-prices", "", "the same for the model that writes the summaries (default that of -prices)")
	catalogue := flags.String("models", "", sessionfile.ModelsUsage)
	flags.DurationVar(&o.prices.lifetime, "ttl", 0, "lifetime of the provider's cache (default what the recording asked for, else the model's)")
	flags.BoolVar(&o.unchecked, "unchecked", false, "show dollars of sessions whose recorded usage the cost model does not reproduce within 5% too")
	flags.BoolVar(&o.recall, "recall", false, "measure without prices too what prompts show of what answers need again")
	flags.BoolVar(&o.check, "check", false, "check the cost model against the recorded usage, request by request, instead of replaying")
	flags.BoolVar(&o.salvage, "salvage", false, sessionfile.SalvageUsage)
	if err := program.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	o.sessions = flags.Args()
	var err error
	if o.prices.table, err = sessionfile.Models(*catalogue); err != nil {
		return o, err
	}
	if err := o.prices.complete(map[string]bool{
		"-check": o.check, "-summary-prices": o.prices.summaries != "", "-ttl": o.prices.lifetime != 0,
	}); err != nil {
		return o, err
	}
	if o.policies, err = policiesNamed(*names); err != nil {
		return o, err
	}
	if o.windows, err = parseWindows(*windows); err != nil {
		return o, err
	}
	switch {
	case o.format != formatText && o.format != formatJSON:
		return o, fmt.Errorf("-format: unknown format %q: name %s or %s", o.format, formatText, formatJSON)
	case o.page.Path() != "" && (len(o.sessions) != 1 || len(o.policies) != 1 || len(o.windows) > 1):
		return o, errors.New("-page shows one replay: name one session, one -policy and one -window")
	case len(o.sessions) == 0:
		return o, errors.New("name a recorded session (-help lists the flags)")
	}
	flags.Visit(func(f *flag.Flag) {
		if o.check && !slices.Contains([]string{"check", "prices", "models", "ttl", "salvage"}, f.Name) {
			err = fmt.Errorf("-check replays nothing: leave out -%s", f.Name)
		}
	})
	return o, err
}

// policiesNamed returns the policies that a flag names, separated by commas, or all of them in the order of their
// names.
func policiesNamed(names string) (list []policy.Policy, err error) {
	wanted := policies.Names()
	if names != all {
		wanted = strings.Split(names, ",")
	}
	for _, name := range wanted {
		p, err := policies.Named(name)
		if err != nil {
			return nil, fmt.Errorf("-policy: unknown policy %q: name some of %s, or %s", name, strings.Join(policies.Names(), ", "), all)
		}
		list = append(list, p)
	}
	return list, nil
}

// parseWindows parses the value of -window. There are none if it is not set.
func parseWindows(list string) (windows []int, err error) {
	if list == "" {
		return nil, nil
	}
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n <= tiktoken.ReplyPriming {
			return nil, fmt.Errorf("-window: %q is not a number of tokens, %d or more", word, tiktoken.ReplyPriming+1)
		}
		windows = append(windows, n)
	}
	return windows, nil
}

// Main replays the sessions that the arguments name, and returns the exit code: 0 if every policy reached the end of
// every session, 1 if one did not, 2 if a flag, a file or a folder is invalid, 130 if it was interrupted. The caller removes the
// folders then.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, folders *program.Folders) int {
	progress := newProgress(stderr)
	o, err := parse(args, stdout)
	o.width, o.folders = program.Width(stdout), folders
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		err = program.UsageError{Err: err}
	default:
		err = compare(ctx, o, stdout, stderr, progress)
	}
	return program.Report(ctx, "promptree replay", err, stderr)
}
