package compare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/promptree-go/promptree/cmd/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/record"
	"github.com/promptree-go/promptree/summarize/replay"
)

// recorded is the policy's name in the run of the session as its own agent compacted it.
const recorded = "recorded"

// Run is one policy on one session.
type Run struct {
	Session string           `json:"session"`
	Format  importer.Program `json:"format"`
	*replay.Result

	charged float64 // what the recorded usage costs, 0 if unknown
}

// errEnded is the error of a policy that could not continue. Its run says why.
var errEnded = errors.New("a policy did not reach the end of its session")

// comparison replays sessions under policies.
type comparison struct {
	options  options
	page     *record.Recorder // nil without -page
	account  []inspect.Charge // of the run on the page
	progress *progress
	stderr   io.Writer
	out      *printer
}

// leftOut says that a file that was found in a folder is none to replay.
func leftOut(stderr io.Writer, file string, err error) {
	fmt.Fprintf(stderr, "%s: left out: %s\n", file, strings.TrimPrefix(worded.Line(err), file+": "))
}

// compare runs what the options ask for on each session. It reads all sessions before it replays the first, so that a
// wrong name is reported at once.
func compare(ctx context.Context, o options, stdout, stderr io.Writer, progress *progress) (err error) {
	var sources []source
	var left []error
	for _, path := range o.sessions {
		files, err := sessionfile.Files(path)
		if err != nil {
			return err
		}
		for _, file := range files {
			s, without, err := open(ctx, file, o, stderr)
			if s.found = file != path; s.found && ctx.Err() == nil && (err != nil || s.requests == 0) {
				leftOut(stderr, file, cmp.Or(err, errors.New("no model answers in it")))
				continue
			}
			if err != nil {
				return err
			}
			sources, left = append(sources, s), append(left, without)
		}
	}
	defer func() { err = cmp.Or(err, errors.Join(left...)) }()
	if o.check {
		return checkAll(ctx, sources, o, stdout)
	}
	c := &comparison{options: o, progress: progress, stderr: stderr, out: &printer{options: o, to: stdout}}
	progress.expect(sources, o)
	if o.page.Path() == "" {
		return c.all(ctx, sources)
	}
	return c.withPage(stdout, func() error { return c.all(ctx, sources) })
}

// withPage calls replay, and writes a page of the steps that it made, if any.
func (c *comparison) withPage(stdout io.Writer, replay func() error) error {
	to := c.options.page
	if err := to.Check(c.options.sessions...); err != nil {
		return err
	}
	c.page = new(record.Recorder)
	err := replay()
	title := fmt.Sprintf("%s under %s", filepath.Base(c.options.sessions[0]), c.options.policies[0].Name)
	write := func(w io.Writer) error { return c.page.Write(w, inspect.Options{Title: title, Account: c.account}) }
	if writeErr := to.Write(stdout, c.options.sessions, write); !errors.Is(writeErr, inspect.ErrNoPrompts) {
		err = errors.Join(err, writeErr)
	}
	return err
}

// checkAll compares the cost model with the usage that each session recorded.
func checkAll(ctx context.Context, sources []source, o options, stdout io.Writer) error {
	var b bytes.Buffer
	for i, s := range sources {
		if err := s.priced(ctx, o); err != nil {
			return err
		}
		c, err := s.session.Check(ctx)
		if err != nil {
			return s.wrong(ctx, err)
		}
		if c == nil {
			return program.UsageError{Err: fmt.Errorf("%s: -check needs recorded usage, and the session has none", s.path)}
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(program.Wrap(fmt.Sprintf("%s: %s\n%s", s.path, checkText(c), checkTable(c).text(o.width)), o.width))
	}
	_, err := stdout.Write(b.Bytes())
	return err
}

// all replays the sessions in each window under each policy, and prints each session once it is replayed.
func (c *comparison) all(ctx context.Context, sources []source) error {
	var all []*Run
	var failed error
	for i := range sources {
		s := &sources[i]
		var runs []*Run
		err := s.priced(ctx, c.options)
		if err == nil {
			runs, err = c.session(ctx, s)
		}
		if s.found && err != nil && !errors.Is(err, errEnded) && ctx.Err() == nil {
			leftOut(c.stderr, s.path, err)
			continue
		}
		all = append(all, runs...)
		if printErr := c.out.session(runs); printErr != nil {
			return printErr
		}
		if errors.Is(err, errEnded) {
			failed, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	if len(sources) > 1 && c.options.format == formatText {
		if err := c.out.text(sumsText(len(sources), all, c.options.width)); err != nil {
			return err
		}
	}
	return failed
}

// session replays one session in each window. The error is errEnded if a policy did not reach the end of the session;
// the others still run.
func (c *comparison) session(ctx context.Context, s *source) (runs []*Run, failed error) {
	windows := c.options.windows
	if len(windows) == 0 {
		windows = []int{s.window}
	}
	var own *Run
	for _, window := range windows {
		first := len(runs)
		add := func(run *Run, err error) error {
			if run != nil {
				runs = append(runs, run)
			}
			if err == nil && run.Ended != "" {
				failed = errEnded
			}
			return err
		}
		var err error
		if own != nil {
			again, result := *own, *own.Result
			again.Result, result.ContextWindow = &result, window
			err = add(&again, nil)
		} else if s.compacted() || s.session.Prices != (sizing.Prices{}) {
			own, err = c.run(ctx, s, recorded, window, func(o replay.Options) (*replay.Result, error) { return s.session.Recorded(ctx, o) })
			err = add(own, err)
		}
		for _, p := range c.options.policies {
			if err == nil {
				err = add(c.run(ctx, s, p.Name, window, func(o replay.Options) (*replay.Result, error) { return replay.Run(ctx, s.session, p, o) }))
			}
		}
		c.progress.clear()
		if printErr := c.out.window(s, runs[first:]); printErr != nil {
			return runs, printErr
		}
		if err != nil {
			return runs, err
		}
	}
	return runs, failed
}

// run replays a session under a policy, or as it was recorded, by a function.
func (c *comparison) run(ctx context.Context, s *source, policy string, window int, replayed func(replay.Options) (*replay.Result, error)) (*Run, error) {
	c.progress.at(policy, 0, s.requests)
	o := replay.Options{ContextWindow: window, AnsweredBy: c.options.modelName, Recall: c.options.recall, Unchecked: c.options.unchecked}
	o.Step = func(ctx context.Context, step replay.Step) error {
		c.progress.at(policy, step.Number, s.requests)
		if c.page == nil || step.Rendered == nil || step.Compactor == nil {
			return nil
		}
		return c.page.Step(ctx, step.Compactor, step.Rendered, step.Response, func(to *inspect.Step) { complete(to, step) })
	}
	if c.page != nil {
		o.Observers = append(o.Observers, c.page)
	}
	result, err := replayed(o)
	if result == nil { // there are no figures
		return nil, s.wrong(ctx, err)
	}
	run := &Run{Session: s.path, Format: s.recording.Format, Result: result}
	if policy != recorded {
		c.account = run.account()
	}
	if check, failed := s.session.Check(context.WithoutCancel(ctx)); failed == nil && check != nil && !check.NoCache {
		run.charged = check.Recorded
	}
	return run, s.wrong(ctx, err)
}

// complete adds to a step of a page what only the replay knows.
func complete(to *inspect.Step, step replay.Step) {
	to.Apart, to.Dollars = step.Fixed, 0
	to.Breakdown.Instructions += step.Fixed
	cost := step.Cost
	if cost == nil {
		to.Prices, to.Usage = sizing.Prices{}, chat.Usage{}
		return
	}
	to.Dollars = cost.Dollars
	if lost := cost.Lost; lost.Tokens > 0 {
		to.Lost = &inspect.StepCacheBreak{Tokens: lost.Tokens, Dollars: lost.Dollars, Why: "The recorded request read nothing: the system prompt or the tools changed, or the agent was restarted"}
		if lost.Expired {
			to.Lost.Why = fmt.Sprintf("The request before was sent %v earlier, longer than the cache lasts", lost.After.Round(time.Second))
		}
	}
	if len(cost.Missed) > 0 || cost.LookBack > 0 {
		to.LookBack = &inspect.LookBack{Facts: cost.Missed, Dollars: cost.LookBack}
	}
}

// printer prints runs in a format, as soon as they are made.
type printer struct {
	options
	to    io.Writer
	begun bool // something was printed
}

// window prints the runs in one window, in the text format only.
func (p *printer) window(s *source, runs []*Run) error {
	if p.format != formatText || len(runs) == 0 {
		return nil
	}
	if err := p.text(words(s, runs)); err != nil || !p.details {
		return err
	}
	return p.text(details(runs, p.width))
}

// session prints the runs of a session in all windows, in JSON only.
func (p *printer) session(runs []*Run) error {
	if p.format != formatJSON {
		return nil
	}
	enc := json.NewEncoder(p.to)
	enc.SetEscapeHTML(false)
	for _, run := range runs {
		if err := enc.Encode(run); err != nil {
			return err
		}
	}
	return nil
}

// text prints a piece of text, with an empty line before all but the first.
func (p *printer) text(piece string) error {
	text := program.Wrap(piece, p.width)
	if p.begun {
		text = "\n" + text
	}
	p.begun = true
	_, err := io.WriteString(p.to, text)
	return err
}
