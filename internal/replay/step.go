package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/prefix"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/internal/stepping"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/record"
)

// recorded is the name of the run that shows the session as its own agent compacted it.
const recorded = "recorded"

// source is a session that is replayed.
type source struct {
	number    int // on the command line, from 1
	path      string
	recording *importer.Recording
	requests  int
	head      int // tokens of each request that are not in the recording, if they are known without its usage
}

// open reads a recorded session.
func open(number int, path string) (source, error) {
	r, err := sessionfile.Read(path, importer.Options{})
	if bad, ok := errors.AsType[*importer.LineError](err); ok && bad.Line > 1 {
		err = program.UsageError{Err: fmt.Errorf("%w (promptree import -salvage leaves out lines that cannot be read)", err)}
	}
	if err != nil {
		return source{}, err
	}
	return newSource(number, path, r), nil
}

func newSource(number int, path string, r *importer.Recording) source {
	return source{number: number, path: path, recording: r, requests: stepping.Requests(r)}
}

// modelName is that of the model that the session named last, "" where it names none.
func (s source) modelName() string {
	name := ""
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if c, ok := rec.Body.(history.ModelChange); ok {
			name = c.Model
		}
	}
	return name
}

// compacted tells whether the session's own agent compacted it.
func (s source) compacted() bool {
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if rec.Type() == history.TypeCompaction {
			return true
		}
	}
	return false
}

// replayer steps sessions under a policy.
type replayer struct {
	tokenizer      chat.Tokenizer
	policies       []summarize.Policy
	model          string   // by its name
	modelName      string   // of the one that answers, "" for the recorded one
	asked          int      // window
	window, budget int      // of it, without what the recording does not have
	bundles        *bundles // nil where none are written
	progress       *progress
	biller         *biller          // nil without prices
	check          *Check           // of the recording, nil if it has no usage
	page           *record.Recorder // nil if there is to be none
	known          *Run             // of the recorded compactions, if it was made in another window
}

// answeredBy names the model that a policy is told answers.
func (r *replayer) answeredBy(s source) string {
	if r.modelName != "" {
		return r.modelName
	}
	return s.modelName()
}

// replay puts a session through a policy.
func (r *replayer) replay(ctx context.Context, s source, p summarize.Policy) (run *Run, err error) {
	model, err := modelNamed(r.model, s.recording, r.tokenizer)
	if err != nil {
		return nil, err
	}
	run = r.begin(s, p.Name)
	run.Model, run.AnsweredBy = r.model, r.answeredBy(s)
	clock := numbered.NewClock(s.recording.Header.Time)
	session := numbered.Replay(clock)
	m := r.meter(model)
	l := newLive(p, session, stepping.Prompt(session), m, run.AnsweredBy, r.budget, r.window)
	l.page = r.page
	if r.biller != nil {
		l.compactor.Target.Prices = r.biller.prices
		if prices := r.biller.writer(); prices != (sizing.Prices{}) { // whomever the policy asks
			l.compactor.Models = map[string]summarize.Target{}
			names := p.Ask.Names
			if p.Ask.Cheapest {
				names = []string{"summarizer"}
			}
			for _, name := range names {
				l.compactor.Models[name] = summarize.Target{Model: m, Prices: prices}
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

// replayRecorded shows the session with its own compactions, in a window without end.
func (r *replayer) replayRecorded(ctx context.Context, s source) (*Run, error) {
	run := r.begin(s, recorded)
	if r.known != nil && r.known.Policy == recorded {
		known := *r.known
		known.Window, known.Budget = run.Window, run.Budget
		return &known, nil
	}
	run.Check = r.check
	clock := numbered.NewClock(s.recording.Header.Time)
	session := numbered.Replay(clock)
	a := unlimited{r.tokenizer, stepping.Prompt(session)}
	measure := measuring{meter: r.meter(nil), taken: func() []finished { return nil }}
	err := r.steps(ctx, s, run, session, clock, measure, a, stepping.Options{Compactions: true})
	return run, err
}

// priced returns a replayer for one session whose requests are priced. If the session's usage was recorded, tokens are those of
// the model that was recorded, and what the recording does not have, such as the system prompt and the tools, is told from the usage.
func (r *replayer) priced(ctx context.Context, s source) (*replayer, error) {
	p, b := *r, *r.biller
	p.biller = &b
	b.fixed = s.head
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
	p.check = check(s.recording, b.prices)
	b.restarts, b.usage = p.check.restarts, true
	if fixed, factor, ok := fit(counted, reported); ok {
		b.fixed = int(fixed)
		p.tokenizer = scaled{r.tokenizer, factor}
		p.check.Fixed, p.check.Factor = b.fixed, factor
	}
	return &p, nil
}

// in returns a replayer with a window, which holds what the recording does not have too.
func (r *replayer) in(window int, s source) (*replayer, error) {
	p := *r
	p.asked, p.window = window, window
	if r.biller != nil {
		p.window -= r.biller.fixed
	}
	p.budget = p.window - tiktoken.ReplyPriming
	if p.budget < 1 {
		return nil, program.UsageError{Err: fmt.Errorf("-window is %d: the system prompt and the tools of %s take %d of it alone", window, s.path, r.biller.fixed)}
	}
	return &p, nil
}

func (r *replayer) meter(m chat.Model) *meter {
	return &meter{Model: m, tokenizer: r.tokenizer, prefix: prefix.Prefix{Tokenizer: r.tokenizer}}
}

func (r *replayer) begin(s source, policy string) *Run {
	run := &Run{
		Session: s.path, Format: s.recording.Format, Policy: policy, Window: r.asked, Budget: r.budget,
		RequestsIn: s.requests, Compactions: []Compaction{},
	}
	if r.biller != nil {
		run.Bill, run.Lookbacks = &Bill{}, &Lookbacks{}
	}
	return run
}

// errEnded tells that a policy could not go on; the run says why.
var errEnded = errors.New("a policy did not come to the end of its session")

// steps makes each request of a session, at the time at which it was recorded, and measures it.
func (r *replayer) steps(ctx context.Context, s source, run *Run, session *history.Session, clock *numbered.Clock, measure measuring, a agent, opts stepping.Options) error {
	measure.session, measure.tokenizer, measure.run = session, r.tokenizer, run
	if r.biller != nil {
		biller := *r.biller
		measure.biller, measure.looker = &biller, newLooker(r.tokenizer, &biller)
	}
	var failed error // of the agent, and not of the session
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
			err = r.gather(ctx, s, run, session, made)
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
	made, err := measure.made(ctx, run.Requests+1, 0, 0)
	if err != nil {
		return err
	}
	return r.gather(ctx, s, run, session, made)
}

func (r *replayer) interrupted(ctx context.Context, run *Run) error {
	run.Ended = fmt.Sprintf("interrupted after request %d of %d", run.Requests, run.RequestsIn)
	return context.Cause(ctx)
}
