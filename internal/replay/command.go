// Package replay replays recorded sessions as if they were happening, and shows what each compaction policy would have
// done and what that would have cost. Both `promptree replay` and bench/replay run it. The README of bench/replay says
// how to use it and how to read its output.
package replay

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/program/sessionfile"
	"github.com/promptree-go/promptree/internal/program/visible"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/policy"
)

// name of the program.
const name = "promptree replay"

// The output formats.
const (
	formatText = "text"
	formatJSON = "json"
)

// encoding that tokens are counted in.
const encoding = "o200k_base"

// options holds the parsed command line.
type options struct {
	policies    []policy.Policy
	windows     []int
	modelName   string
	format      string
	page        string
	bundles     string
	minMessages int
	biller      *biller // nil without prices
	recall      bool
	salvage     bool // leave out lines that cannot be read
	unchecked   bool // show dollars although the check failed
	check       bool // check the cost model, request by request, instead of replaying
	sessions    []string
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	program.Usage(flags, `Usage: promptree replay [flags] SESSION…

Replays recorded sessions (- is the standard input) as if they were happening, and shows what each compaction policy would have
done: the tokens it sends, the share that a cache would serve, each compaction. Examples:

	promptree replay -window 64000 session.jsonl
	promptree replay -prices claude-opus-4-5 -policy frugal,stagewise -window 64000,200000 session.jsonl
	promptree replay -recall -window 32000 session.jsonl

The second shows dollars too, and ends with a table of all runs; -check shows how far the dollars can be trusted. The third shows
how much of what answers need again a prompt still shows, and how far away the rest is. The exit code
is 1 if a policy did not reach the end of a session. The flags:
`)
	names := flags.String("policy", all, "policies to compare, separated by commas, or all")
	windows := flags.String("window", strconv.Itoa(sizing.DefaultTokens), "context windows in tokens, separated by commas")
	flags.StringVar(&o.modelName, "model-name", "",
		"name of the answering model, because some policies treat some models differently (default the last that the session names)")
	flags.StringVar(&o.format, "format", formatText, "text, or json (an object for each session, window and policy)")
	flags.StringVar(&o.page, "page", "", "file for a page that shows each step of one session, policy and window")
	flags.StringVar(&o.bundles, "bundles", "", "new or empty folder for the requests made at each compaction")
	flags.IntVar(&o.minMessages, "min-messages", 0, "with -bundles: leave out compactions that cover fewer messages")
	prices := flags.String("prices", "",
		"prices of tokens: the name of a model, or input=5,read=0.5,write=6.25,output=25,least=4096 in dollars a million (default none)")
	summaryPrices := flags.String("summary-prices", "", "the same for the model that writes the summaries (default that of -prices)")
	lifetime := flags.Duration("ttl", 0, "with -prices: lifetime of the provider's cache (default what the recording asked for, else the model's)")
	flags.BoolVar(&o.unchecked, "unchecked", false, "show dollars of sessions whose recorded usage the cost model does not reproduce within 2% too")
	carry := flags.Float64("carry", 0,
		"with -prices: compact once carrying the history has cost this many times what compacting costs, in place of the policies' own triggers")
	losses := flags.String("loss", "",
		"dollars that a compaction's loss is worth to the policy frugal, separated by commas; a run for each (default the policy's own)")
	summary := flags.Int("summary", 0, "maximum tokens of a summary, the same for all policies (default each policy's own)")
	flags.BoolVar(&o.recall, "recall", false, "show where the facts stand that answers need again (with -prices it is always shown)")
	flags.BoolVar(&o.check, "check", false, "with -prices: check the cost model against the recorded usage, request by request, instead of replaying")
	flags.BoolVar(&o.salvage, "salvage", false, sessionfile.SalvageUsage)
	if err := program.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	o.sessions = flags.Args()
	var err error
	if o.biller, err = billerFor(*prices, *summaryPrices, *lifetime); err != nil {
		return o, err
	}
	if o.policies, err = policiesNamed(*names); err != nil {
		return o, err
	}
	if o.policies, err = withLosses(o.policies, *losses); err != nil {
		return o, err
	}
	if o.windows, err = parseWindows(*windows); err != nil {
		return o, err
	}
	for i := range o.policies {
		if *summary != 0 {
			o.policies[i].Replace.Max = *summary
		}
		if *carry != 0 {
			o.policies[i].Trigger = policy.Trigger{{CostFactor: *carry}}
		}
	}
	switch {
	case *summary != 0 && *summary < 100:
		return o, fmt.Errorf("-summary is %d: set 100 tokens or more", *summary)
	case o.format != formatText && o.format != formatJSON:
		return o, fmt.Errorf("-format: unknown format %q: name %s or %s", o.format, formatText, formatJSON)
	case *carry != 0 && o.biller == nil:
		return o, errors.New("-carry needs prices: set -prices")
	case !(*carry >= 0 && *carry <= math.MaxFloat64):
		return o, fmt.Errorf("-carry is %v: set 0 or more", *carry)
	case o.minMessages < 0:
		return o, fmt.Errorf("-min-messages is %d: set 0 or more", o.minMessages)
	case o.minMessages > 0 && o.bundles == "":
		return o, errors.New("-min-messages is set without -bundles: set both")
	case o.bundles != "" && len(o.windows) > 1:
		return o, fmt.Errorf("-bundles takes one window, and -window names %d: name one", len(o.windows))
	case o.page != "" && (len(o.sessions) != 1 || len(o.policies) != 1 || len(o.windows) != 1 || o.check):
		return o, errors.New("-page shows one replay: name one session, one -policy and one -window")
	case o.check && o.biller == nil:
		return o, errors.New("-check needs prices: set -prices")
	case len(o.sessions) == 0:
		return o, errors.New("name a recorded session (-help lists the flags)")
	}
	return o, nil
}

// parseWindows parses the value of -window.
func parseWindows(list string) (windows []int, err error) {
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
// every session, 1 if one did not, 2 if a flag, a file or a folder is invalid, 130 if it was interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	progress := newProgress(stderr)
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		err = program.UsageError{Err: err}
	default:
		err = compare(ctx, o, stdout, stderr, progress)
	}
	return program.Report(ctx, name, err, stderr)
}
