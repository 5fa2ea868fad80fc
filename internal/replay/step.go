package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/program/sessionfile"
	"github.com/promptree-go/promptree/internal/replay/prefix"
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/record"
)

// recorded is the policy's name in the run of the session as its own agent compacted it.
const recorded = "recorded"

// source is a session to replay.
type source struct {
	number    int // on the command line, from 1
	path      string
	recording *importer.Recording
	requests  int
}

// open reads a recorded session.
func open(number int, path string) (source, error) {
	r, err := sessionfile.Read(path, importer.Options{})
	if bad, ok := errors.AsType[*importer.LineError](err); ok && bad.Line > 1 {
		err = program.UsageError{Err: fmt.Errorf("%w (-salvage leaves out unreadable lines)", err)}
	}
	if err != nil {
		return source{}, err
	}
	return source{number: number, path: path, recording: r, requests: stepping.Requests(r)}, nil
}

// salvage reads a recorded session without the lines that cannot be read, which it prints. left is an error that says how
// many they are, nil if there are none.
func salvage(ctx context.Context, number int, path string, stderr io.Writer) (s source, left, err error) {
	var copies program.Folders
	loaded, err := sessionfile.Load(ctx, path, true, &copies)
	if err != nil {
		return source{}, nil, err
	}
	loaded.Note(stderr, true)
	r, err := loaded.Recording(ctx)
	if left = loaded.Close(); err != nil {
		return source{}, nil, err
	}
	return source{number: number, path: path, recording: r, requests: stepping.Requests(r)}, left, nil
}

// modelName returns the name of the last model that the session names, "" if it names none.
func (s source) modelName() string {
	name := ""
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if c, ok := rec.Body.(entry.ModelChange); ok {
			name = c.Model
		}
	}
	return name
}

// compacted reports whether the session's own agent compacted it.
func (s source) compacted() bool {
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if rec.Type() == entry.TypeCompaction {
			return true
		}
	}
	return false
}

// replayer replays sessions under policies.
type replayer struct {
	tokenizer   chat.Tokenizer
	policies    []policy.Policy
	modelName   string   // of the model that answers, "" for the recorded one
	wholeWindow int      // the window that was asked for
	window      int      // wholeWindow without the tokens that the recording does not have
	budget      int      // of the messages in the window
	bundles     *bundles // nil without -bundles
	progress    *progress
	biller      *biller          // nil without prices
	recall      bool             // measure recall without prices too
	unchecked   bool             // show dollars although the check failed
	never       *Bill            // of the session if nothing is compacted, nil without prices
	page        *record.Recorder // nil without -page
	recordedRun *Run             // made in another window, nil if there is none yet
}

// answeredBy returns the name of the answering model that a policy is given.
func (r *replayer) answeredBy(s source) string {
	if r.modelName != "" {
		return r.modelName
	}
	return s.modelName()
}

// replay replays a session under a policy.
func (r *replayer) replay(ctx context.Context, s source, p policy.Policy) (run *Run, err error) {
	run = r.begin(s, p.Name)
	run.Model, run.AnsweredBy = modelOffline, r.answeredBy(s)
	clock := numbered.NewClock(s.recording.Header.Time)
	session := numbered.Replay(clock)
	m := r.meter()
	l := newLive(p, session, stepping.Prompt(session), m, run.AnsweredBy, r.budget, r.window)
	l.page = r.page
	if r.biller != nil {
		l.compactor.Target.Prices = r.biller.planning()
		if prices := r.biller.summarizer(); prices != (sizing.Prices{}) { // whatever the name of the model that the policy asks
			l.compactor.Models = map[string]policy.Target{}
			names := p.Ask.Names
			if p.Ask.Cheapest {
				names = []string{"summarizer"}
			}
			for _, name := range names {
				l.compactor.Models[name] = policy.Target{Model: m, Prices: prices}
			}
		}
	}
	defer func() {
		err = errors.Join(err, l.compactor.Close())
		run.Calls, run.Events = m.total(), l.heard()
		if run.Bill != nil {
			r.biller.calls(run.Bill, run.Calls)
		}
	}()
	return run, r.steps(ctx, s, run, session, clock, measuring{meter: m, taken: l.taken}, l, stepping.Options{})
}

// replayRecorded replays the session with its own compactions, in an unlimited window.
func (r *replayer) replayRecorded(ctx context.Context, s source) (*Run, error) {
	run := r.begin(s, recorded)
	if r.recordedRun != nil && r.recordedRun.Policy == recorded {
		again := *r.recordedRun
		again.Window, again.Budget = run.Window, run.Budget
		return &again, nil
	}
	if r.biller != nil {
		run.Check = r.biller.check
	}
	clock := numbered.NewClock(s.recording.Header.Time)
	session := numbered.Replay(clock)
	a := unlimited{r.tokenizer, stepping.Prompt(session)}
	measure := measuring{meter: r.meter(), taken: func() []finished { return nil }}
	err := r.steps(ctx, s, run, session, clock, measure, a, stepping.Options{Compactions: true})
	return run, err
}

// priced returns a replayer that prices the requests of one session. If the session has recorded usage, tokens are
// those of the recorded model, and the tokens that the recording does not have, such as those of the system prompt and
// the tools, are estimated from the usage.
func (r *replayer) priced(ctx context.Context, s source) (*replayer, error) {
	p, b := *r, *r.biller
	p.biller = &b
	var counted, reported []float64
	session := numbered.Replay(numbered.NewClock(s.recording.Header.Time))
	a := unlimited{r.tokenizer, stepping.Prompt(session)}
	for step, err := range stepping.Steps(ctx, s.recording, session, stepping.Options{Compactions: true}) {
		if err != nil {
			return nil, program.UsageError{Err: fmt.Errorf("%s: %w", s.path, err)}
		}
		if step.Usage.Input == 0 {
			continue
		}
		rendered, err := a.request(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", s.path, step.Line, err)
		}
		counted, reported = append(counted, float64(rendered.Tokens)), append(reported, float64(step.Usage.Input))
	}
	if len(reported) == 0 {
		return &p, nil
	}
	b.check = check(s.recording, b.prices)
	if fixed, factor, ok := fit(counted, reported); ok {
		b.fixed = int(fixed)
		p.tokenizer = scaled{r.tokenizer, factor}
		b.check.Fixed, b.check.Factor = b.fixed, factor
	}
	return &p, nil
}

// uncompacted returns the cost of a session of which nothing is compacted or cleared, in an unlimited window.
func (r *replayer) uncompacted(ctx context.Context, s source) (*Bill, error) {
	run := &Run{Policy: "uncompacted", RequestsIn: s.requests, Bill: &Bill{}}
	clock := numbered.NewClock(s.recording.Header.Time)
	session := numbered.Replay(clock)
	measure := measuring{meter: r.meter(), taken: func() []finished { return nil }}
	err := r.steps(ctx, s, run, session, clock, measure, unlimited{r.tokenizer, stepping.Prompt(session)}, stepping.Options{})
	return run.Bill, err
}

// inWindow returns a replayer with a window. The tokens that the recording does not have count against the window.
func (r *replayer) inWindow(window int, s source) (*replayer, error) {
	p := *r
	p.wholeWindow, p.window = window, window
	if r.biller != nil {
		p.window -= r.biller.fixed
	}
	p.budget = p.window - tiktoken.ReplyPriming
	if p.budget < 1 {
		return nil, program.UsageError{
			Err: fmt.Errorf("-window is %d: the system prompt and the tools of %s take %d tokens: set a larger one", window, s.path, r.biller.fixed),
		}
	}
	return &p, nil
}

func (r *replayer) meter() *meter {
	return &meter{Model: models.Offline{Tokenizer: r.tokenizer}, tokenizer: r.tokenizer, prefix: prefix.Prefix{Tokenizer: r.tokenizer}}
}

func (r *replayer) begin(s source, policy string) *Run {
	run := &Run{
		Session: s.path, Format: s.recording.Format, Policy: policy, Window: r.wholeWindow, Budget: r.budget,
		RequestsIn: s.requests, Compactions: []Compaction{},
	}
	if r.biller != nil {
		run.Bill = &Bill{}
	}
	if r.recall || r.biller != nil {
		run.Recall = &Recall{}
	}
	return run
}

// errEnded is the error of a policy that could not continue. Run.Ended says why.
var errEnded = errors.New("a policy did not reach the end of its session")

// steps makes and measures each request of a session, at its recorded time.
func (r *replayer) steps(ctx context.Context, s source, run *Run, session *history.Session, clock *numbered.Clock, measure measuring, a agent, opts stepping.Options) error {
	measure.session, measure.tokenizer, measure.run = session, r.tokenizer, run
	if r.biller != nil {
		biller := *r.biller
		measure.biller = &biller
	}
	if run.Recall != nil {
		measure.recall = newRecallFinder(r.tokenizer, measure.biller, session, recall.Tools{Session: session, MaxTokens: r.budget / 8, Tokenizer: r.tokenizer}.Answer)
	}
	var failed error // from the agent, not from the session
	opts.TurnOver = func() error {
		failed = a.turnOver(ctx)
		return failed
	}
	line := 0
	ended := func(number int, err error) error {
		run.Ended = fmt.Sprintf("at request %d, line %d: %s", number, line, program.OneLine(err))
		return errEnded
	}
	for step, err := range stepping.Steps(ctx, s.recording, session, opts) {
		switch {
		case ctx.Err() != nil:
			return r.interrupted(ctx, run)
		case failed != nil:
			return ended(run.Requests, failed)
		case err != nil:
			return program.UsageError{Err: fmt.Errorf("%s: %w", s.path, err)}
		}
		line = step.Line
		r.progress.at(run, step.Number)
		clock.Set(step.Time)
		rendered, err := a.request(ctx)
		if err == nil {
			err = chat.Validate(rendered.Messages)
		}
		if ctx.Err() != nil {
			return r.interrupted(ctx, run)
		}
		if err != nil {
			return ended(step.Number, err)
		}
		made, usage, err := measure.request(ctx, step, rendered)
		a.reported(rendered, chat.Response{Message: step.Answer, Usage: usage})
		if err == nil {
			err = r.writeBundles(ctx, s, run, session, made)
		}
		if err == nil {
			err = a.answered(ctx)
		}
		if ctx.Err() != nil {
			return r.interrupted(ctx, run)
		}
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return r.interrupted(ctx, run)
	}
	made, err := measure.newCompactions(ctx, run.Requests+1, 0, 0)
	if err != nil {
		return err
	}
	return r.writeBundles(ctx, s, run, session, made)
}

func (r *replayer) interrupted(ctx context.Context, run *Run) error {
	run.Ended = fmt.Sprintf("interrupted after request %d of %d", run.Requests, run.RequestsIn)
	return context.Cause(ctx)
}
