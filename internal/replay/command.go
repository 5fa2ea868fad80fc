// Package replay steps recorded sessions as if they were happening and shows what each policy of compaction would have done
// with them, and what that would have cost. It is what `promptree replay` and bench/replay run; the latter's README says how
// to use it and how to read what it prints.
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
	"github.com/promptree-go/promptree/internal/visible"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
)

// name of the program.
const name = "promptree replay"

// encoding that tokens are counted in.
const encoding = "o200k_base"

// options are what the command line asks for.
type options struct {
	policies    []summarize.Policy
	windows     []int
	model       string
	modelName   string
	format      string
	page        string
	bundles     string
	minMessages int
	biller      *biller // nil without prices
	mode        mode
	synthetic   synthetic
	sessions    []string
}

// mode is what is printed.
type mode int

const (
	modeReplay mode = iota
	modeCheck       // the model of costs, request by request
	modeRegret      // rules, and not replays
)

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	program.Usage(flags, `Usage: promptree replay [flags] SESSION…

Steps recorded sessions, - for the standard input, as if they were happening, and shows what each policy of compaction would
have done with them: what is sent, which share of it a cache would serve, each compaction. Such as

	promptree replay -window 64000 session.jsonl
	promptree replay -prices claude-opus-4-5 -policy frugal,stagewise -window 64000,200000 session.jsonl

in dollars, with a table of all runs at the end; -check says first how far the dollars can be trusted. The exit code is 1 if a
policy could not go on to the end. The flags:
`)
	names := flags.String("policy", all, "policies to compare, with commas between them, or all")
	windows := flags.String("window", strconv.Itoa(sizing.DefaultTokens), "context window in tokens; several with commas between them")
	flags.StringVar(&o.model, "model", modelOffline, "what writes the summaries: offline (a digest) or script (the session's recorded summaries)")
	flags.StringVar(&o.modelName, "model-name", "", "name of the model that answers, for what policies do for models of some names (default the last that the session names)")
	flags.StringVar(&o.format, "format", formatText, "text, json (an object for each session, window and policy) or csv (a row for each)")
	flags.StringVar(&o.page, "page", "", "file for a page that shows each step, of one session, policy and window")
	flags.StringVar(&o.bundles, "bundles", "", "folder, new or empty, to write what is asked at each compaction into")
	flags.IntVar(&o.minMessages, "min-messages", 0, "with -bundles: leave out compactions that cover fewer messages")
	prices := flags.String("prices", "", "what tokens cost: the name of a model, or input=5,read=0.5,write=6.25,output=25,least=4096 in dollars a million (default tokens alone)")
	summaryPrices := flags.String("summary-prices", "", "the same for the model that writes the summaries (default that of -prices)")
	lifetime := flags.Duration("ttl", 0, "with -prices: lifetime of the provider's cache (default the model's)")
	carry := flags.Float64("carry", 0, "with -prices: compact once carrying the history has cost so many times what compacting costs, whatever the policies' own conditions")
	dials := flags.String("loss", "", "what a compaction's loss is worth to the policy frugal, in dollars; several with commas between them (default the policy's own)")
	summary := flags.Int("summary", 0, "most tokens of a summary, the same for all policies (default each policy's own)")
	checked := flags.Bool("check", false, "with -prices: hold the model of costs against the recorded usage, request by request, in place of replays")
	regret := flags.Bool("regret", false, "with -prices: say what rules of compaction cost over the best compactions, in place of replays")
	flags.IntVar(&o.synthetic.sessions, "synthetic", 0, "with -prices: go through so many synthetic sessions too")
	shapes := flags.String("shape", all, "with -synthetic: how they grow, several with commas between them")
	flags.Uint64Var(&o.synthetic.seed, "seed", 1, "with -synthetic: what they are made by")
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
	if o.policies, err = atDials(o.policies, *dials); err != nil {
		return o, err
	}
	if o.windows, err = windowsListed(*windows); err != nil {
		return o, err
	}
	if o.synthetic.shapes, err = shapesNamed(*shapes); err != nil {
		return o, err
	}
	for i := range o.policies {
		if *summary != 0 {
			o.policies[i].Place.Max = *summary
		}
		if *carry != 0 {
			o.policies[i].Trigger = summarize.Trigger{{Carry: *carry}}
		}
	}
	if *checked {
		o.mode = modeCheck
	} else if *regret {
		o.mode = modeRegret
	}
	switch {
	case *summary != 0 && *summary < 100:
		return o, fmt.Errorf("-summary is %d: it is a number of tokens, 100 or more", *summary)
	case o.format != formatText && o.format != formatJSON && o.format != formatCSV:
		return o, fmt.Errorf("-format: there is no format %q: it is %s, %s or %s", o.format, formatText, formatJSON, formatCSV)
	case *checked && *regret:
		return o, errors.New("-check and -regret print different things: set one of them")
	case *carry != 0 && o.biller == nil:
		return o, errors.New("-carry is in dollars: set -prices")
	case !(*carry >= 0 && *carry <= math.MaxFloat64):
		return o, fmt.Errorf("-carry is %v: it is 0 or more", *carry)
	case o.model != modelOffline && o.model != modelScript:
		return o, fmt.Errorf("-model: there is no model %q: it is %s or %s", o.model, modelOffline, modelScript)
	case o.minMessages < 0:
		return o, fmt.Errorf("-min-messages is %d: it is 0 or more", o.minMessages)
	case o.minMessages > 0 && o.bundles == "":
		return o, errors.New("-min-messages says which -bundles are written, and there is none")
	case o.bundles != "" && len(o.windows) > 1:
		return o, errors.New("-bundles are of one -window")
	case o.page != "" && (len(o.sessions) != 1 || len(o.policies) != 1 || len(o.windows) != 1 || o.synthetic.sessions > 0 || *checked || *regret):
		return o, errors.New("-page is of one replay: name one session, one -policy and one -window")
	case (*checked || *regret) && o.biller == nil:
		return o, errors.New("-check and -regret are in dollars: set -prices")
	case o.synthetic.sessions < 0:
		return o, fmt.Errorf("-synthetic is %d: it is 0 or more", o.synthetic.sessions)
	case o.synthetic.sessions > 0 && (o.biller == nil || *checked):
		return o, errors.New("-synthetic sessions are for what is in dollars, and have no usage to check: set -prices and leave -check out")
	case len(o.sessions) == 0 && o.synthetic.sessions == 0:
		return o, errors.New("name a recorded session (-help lists the flags)")
	}
	return o, nil
}

// windowsListed returns the windows that a flag lists.
func windowsListed(list string) (windows []int, err error) {
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n <= tiktoken.ReplyPriming {
			return nil, fmt.Errorf("-window is %s: it is a number of tokens, %d or more", word, tiktoken.ReplyPriming+1)
		}
		windows = append(windows, n)
	}
	return windows, nil
}

// Main replays what the arguments name, and returns the exit code: 0 if every policy came to the end of every session, 1 if one
// did not, 2 if a flag, a file or a folder is invalid, 130 if it was interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	progress := newProgress(stderr)
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		err = program.UsageError{Err: err}
	default:
		err = compare(ctx, o, stdout, progress)
	}
	return program.Report(ctx, name, err, stderr)
}
