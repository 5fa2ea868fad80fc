// Package replay steps recorded sessions as if they were happening and shows what each policy of compaction would have done
// with them, and what that would have cost. It is what `promptree replay` and bench/replay run; the latter's README says how
// to use it and how to read what it prints.
package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/visible"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = program.ExitInterrupted
)

// encoding that tokens are counted in.
const encoding = "o200k_base"

// usageError is what the user can mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// options are what the command line asks for.
type options struct {
	policies    []summarize.Policy
	window      int
	model       string
	modelName   string
	json        bool
	bundles     string
	minMessages int
	biller      *biller // nil without prices
	regret      bool
	synthetic   int
	seed        uint64
	sessions    []string
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	program.Usage(flags, "Usage: replay [flags] SESSION…")
	names := flags.String("policy", all, "policies to compare, with commas between them, or all")
	flags.IntVar(&o.window, "window", sizing.DefaultTokens, "context window in tokens")
	flags.StringVar(&o.model, "model", modelOffline, "what writes the summaries: offline (a digest) or script (the session's recorded summaries)")
	flags.StringVar(&o.modelName, "model-name", "", "name of the model that answers, for what policies do for models of some names (default the last that the session names)")
	flags.BoolVar(&o.json, "json", false, "print one JSON object for each policy and session")
	flags.StringVar(&o.bundles, "bundles", "", "folder, new or empty, to write what is asked at each compaction into")
	flags.IntVar(&o.minMessages, "min-messages", 0, "with -bundles: leave out compactions that cover fewer messages")
	prices := flags.String("prices", "", "what tokens cost: the name of a model, or input=5,read=0.5,write=6.25,output=25,least=4096 in dollars a million (default tokens alone)")
	summaryPrices := flags.String("summary-prices", "", "the same for the model that writes the summaries (default that of -prices)")
	lifetime := flags.Duration("ttl", 0, "with -prices: lifetime of the provider's cache (default the model's)")
	carry := flags.Float64("carry", 0, "with -prices: compact once carrying the history has cost so many times what compacting costs, whatever the policies' own conditions")
	dials := flags.String("loss", "", "what a compaction's loss is worth to the policy frugal, in dollars; several with commas between them (default the policy's own)")
	flags.BoolVar(&o.regret, "regret", false, "with -prices: say what rules of compaction cost over the best compactions, in place of replays")
	flags.IntVar(&o.synthetic, "synthetic", 0, "with -regret: go through so many synthetic sessions too")
	flags.Uint64Var(&o.seed, "seed", 1, "with -synthetic: what they are made by")
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
	for i := range o.policies {
		if *carry != 0 {
			o.policies[i].Trigger = summarize.Trigger{{Carry: *carry}}
		}
	}
	switch {
	case *carry != 0 && o.biller == nil:
		return o, errors.New("-carry is in dollars: set -prices")
	case !(*carry >= 0 && *carry <= math.MaxFloat64):
		return o, fmt.Errorf("-carry is %v: it is 0 or more", *carry)
	case o.window <= tiktoken.ReplyPriming:
		return o, fmt.Errorf("-window is %d: it is a number of tokens, %d or more", o.window, tiktoken.ReplyPriming+1)
	case o.model != modelOffline && o.model != modelScript:
		return o, fmt.Errorf("-model: there is no model %q: it is %s or %s", o.model, modelOffline, modelScript)
	case o.minMessages < 0:
		return o, fmt.Errorf("-min-messages is %d: it is 0 or more", o.minMessages)
	case o.minMessages > 0 && o.bundles == "":
		return o, errors.New("-min-messages says which -bundles are written, and there is none")
	case o.regret && o.biller == nil:
		return o, errors.New("-regret is in dollars: set -prices")
	case o.synthetic < 0:
		return o, fmt.Errorf("-synthetic is %d: it is 0 or more", o.synthetic)
	case o.synthetic > 0 && !o.regret:
		return o, errors.New("-synthetic says of how many sessions -regret is, and that is not set")
	case len(o.sessions) == 0 && o.synthetic == 0:
		return o, errors.New("name a recorded session (-help lists the flags)")
	}
	return o, nil
}

// Main replays what the arguments name, and returns the exit code: 0 if every policy came to the end of every session, 1 if one
// did not, 2 if a flag, a file or a folder is invalid, 130 if it was interrupted.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	progress := newProgress(stderr)
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		err = usageError{err}
	default:
		err = compare(ctx, o, stdout, progress)
	}
	if err == nil {
		return exitOK
	}
	_, usage := errors.AsType[usageError](err)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "replay: interrupted")
		return exitInterrupted
	case usage:
		fmt.Fprintf(stderr, "replay: %s\n", oneLine(err))
		return exitUsage
	default:
		fmt.Fprintf(stderr, "replay: %s\n", oneLine(err))
		return exitFailed
	}
}

// compare replays each session under each policy. All sessions are read before the first is replayed, so that a mistake
// in a name comes to light at once.
func compare(ctx context.Context, o options, stdout io.Writer, progress *progress) error {
	tokenizer, err := tiktoken.New(encoding)
	if err != nil {
		return err
	}
	window := sizing.Window{Tokens: o.window, Answer: tiktoken.ReplyPriming}
	budget, err := window.Budget(0)
	if err != nil {
		return usageError{err}
	}
	sources := make([]source, len(o.sessions))
	for i, path := range o.sessions {
		if sources[i], err = open(i+1, path); err != nil {
			return err
		}
	}
	r := &replayer{tokenizer: tokenizer, policies: o.policies, model: o.model, modelName: o.modelName, window: o.window, budget: budget, progress: progress, biller: o.biller}
	if o.regret {
		return regrets(ctx, r, sources, o, stdout)
	}
	if r.bundles, err = newBundles(o.bundles, o.minMessages); err != nil {
		return usageError{err}
	}
	defer progress.clear()
	var failed error
	for i, s := range sources {
		runs, err := r.session(ctx, s)
		progress.clear()
		if printErr := print(stdout, runs, o.json, i > 0); printErr != nil {
			return printErr
		}
		if errors.Is(err, errEnded) {
			failed, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	return failed
}

// session replays one session under each policy. The error is errEnded where a policy did not come to its end; the others
// did their runs all the same.
func (r *replayer) session(ctx context.Context, s source) ([]Run, error) {
	if r.biller != nil {
		var err error
		if r, err = r.priced(ctx, s); err != nil {
			return nil, err
		}
	}
	var runs []Run
	var failed error
	if s.compacted() || r.biller != nil {
		run, err := r.replayRecorded(ctx, s)
		runs = append(runs, run)
		if failed = err; err != nil && !errors.Is(err, errEnded) {
			return runs, err
		}
	}
	for _, p := range r.policies {
		run, err := r.replay(ctx, s, p)
		runs = append(runs, run)
		if err != nil {
			failed = err
		}
		if err != nil && !errors.Is(err, errEnded) {
			return runs, err
		}
	}
	return runs, failed
}

// print writes the runs of a session, in one piece.
func print(stdout io.Writer, runs []Run, asJSON, further bool) error {
	var b bytes.Buffer
	if asJSON {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for _, run := range runs {
			if err := enc.Encode(run); err != nil {
				return err
			}
		}
	} else {
		if further {
			b.WriteByte('\n')
		}
		b.WriteString(text(runs))
	}
	_, err := stdout.Write(b.Bytes())
	return err
}
