package compare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
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

// costs returns the dollars of a run including its look-backs.
func (r *Run) costs() float64 { return r.Bill.Kept + r.lookBacks() }

// lookBacks returns the dollars of a run's look-backs. The recorded agent made those that it made.
func (r *Run) lookBacks() float64 {
	if r.Policy == recorded {
		return 0
	}
	return r.Recall.Dollars
}

// account returns the parts of what a run costs, and their sum, nil without dollars.
func (r *Run) account() []inspect.Charge {
	if r.Bill == nil {
		return nil
	}
	return []inspect.Charge{
		{Name: "reads from the cache", Dollars: r.Bill.Read}, {Name: "writes to it", Dollars: r.Bill.Written}, {Name: "other input", Dollars: r.Bill.Input},
		{Name: "answers", Dollars: r.Bill.Output}, {Name: "summaries", Dollars: r.Bill.Summaries}, {Name: "look-backs", Dollars: r.lookBacks()},
		{Name: "total", Dollars: r.costs()},
	}
}

// rank returns the dollars by which a run is placed. One without dollars, or whose policy did not reach the end of the session,
// comes last.
func (r *Run) rank() float64 {
	if r.Bill == nil || r.Policy == recorded || r.Ended != "" {
		return math.Inf(1)
	}
	return r.costs()
}

// errEnded is the error of a policy that could not continue. Its run says why.
var errEnded = errors.New("a policy did not reach the end of its session")

// comparison replays sessions under policies, and prints the runs in a format as soon as they are made.
type comparison struct {
	options
	recorder       *record.Recorder // nil without -page
	account        []inspect.Charge // of the run on the page
	progress       *progress
	stdout, stderr io.Writer
	begun          bool // something was printed
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
	c := &comparison{options: o, progress: progress, stdout: stdout, stderr: stderr}
	if o.check {
		return c.checkAll(ctx, sources)
	}
	progress.expect(sources, o)
	if o.page.Path() == "" {
		return c.all(ctx, sources)
	}
	return c.withPage(ctx, sources)
}

// withPage replays the sessions, and writes a page of the steps, if there are any.
func (c *comparison) withPage(ctx context.Context, sources []source) error {
	if err := c.page.Check(c.sessions...); err != nil {
		return err
	}
	c.recorder = new(record.Recorder)
	err := c.all(ctx, sources)
	title := fmt.Sprintf("%s under %s", filepath.Base(c.sessions[0]), c.policies[0].Name)
	write := func(w io.Writer) error { return c.recorder.Write(w, inspect.Options{Title: title, Account: c.account}) }
	if writeErr := c.page.Write(c.stdout, c.sessions, write); !errors.Is(writeErr, inspect.ErrNoPrompts) {
		err = errors.Join(err, writeErr)
	}
	return err
}

// checkAll compares the cost model with the usage that each session recorded.
func (c *comparison) checkAll(ctx context.Context, sources []source) error {
	var b bytes.Buffer
	for i, s := range sources {
		if err := s.priced(ctx, c.options); err != nil {
			return err
		}
		check, err := s.session.Check(ctx)
		if err != nil {
			return s.wrong(ctx, err)
		}
		if check == nil {
			return program.UsageError{Err: fmt.Errorf("%s: -check needs recorded usage, and the session has none", s.path)}
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(program.Wrap(fmt.Sprintf("%s: %s\n%s", s.path, checkText(check), checkTable(check).text(c.width)), c.width))
	}
	_, err := c.stdout.Write(b.Bytes())
	return err
}

// all replays the sessions in each window under each policy, and prints each session once it is replayed. The error is
// errEnded if a policy did not reach the end of a session; the others still run.
func (c *comparison) all(ctx context.Context, sources []source) error {
	var all []*Run
	for i := range sources {
		s := &sources[i]
		var runs []*Run
		err := s.priced(ctx, c.options)
		if err == nil {
			runs, err = c.replay(ctx, s)
		}
		if s.found && err != nil && ctx.Err() == nil {
			leftOut(c.stderr, s.path, err)
			continue
		}
		all = append(all, runs...)
		if printErr := c.printSession(runs); printErr != nil {
			return printErr
		}
		if err != nil {
			return err
		}
	}
	if len(sources) > 1 && c.format == formatText {
		if err := c.print(sumsText(len(sources), all, c.width)); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(all, func(r *Run) bool { return r.Ended != "" }) {
		return errEnded
	}
	return nil
}

// replay replays one session in each window.
func (c *comparison) replay(ctx context.Context, s *source) (runs []*Run, err error) {
	windows := c.windows
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
			return err
		}
		if own != nil {
			again, result := *own, *own.Result
			again.Result, result.ContextWindow = &result, window
			err = add(&again, nil)
		} else if s.compacted() || s.session.Prices != (sizing.Prices{}) {
			own, err = c.run(ctx, s, recorded, window, func(o replay.Options) (*replay.Result, error) { return s.session.Recorded(ctx, o) })
			err = add(own, err)
		}
		for _, p := range c.policies {
			if err == nil {
				err = add(c.run(ctx, s, p.Name, window, func(o replay.Options) (*replay.Result, error) { return replay.Run(ctx, s.session, p, o) }))
			}
		}
		c.progress.clear()
		if printErr := c.printWindow(s, runs[first:]); printErr != nil {
			return runs, printErr
		}
		if err != nil {
			return runs, err
		}
	}
	return runs, nil
}

// run replays a session under a policy, or as it was recorded, by a function.
func (c *comparison) run(ctx context.Context, s *source, policy string, window int, replayed func(replay.Options) (*replay.Result, error)) (*Run, error) {
	c.progress.at(policy, 0, s.requests)
	o := replay.Options{ContextWindow: window, AnsweredBy: c.modelName, Recall: c.recall, Unchecked: c.unchecked}
	o.Step = func(ctx context.Context, step replay.Step) error {
		c.progress.at(policy, step.Number, s.requests)
		if c.recorder == nil || step.Rendered == nil || step.Compactor == nil {
			return nil
		}
		return c.recorder.Step(ctx, step.Compactor, step.Rendered, step.Response, func(to *inspect.Step) { complete(to, step) })
	}
	if c.recorder != nil {
		o.Observers = append(o.Observers, c.recorder)
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

// printWindow prints the runs in one window, in the text format only.
func (c *comparison) printWindow(s *source, runs []*Run) error {
	if c.format != formatText || len(runs) == 0 {
		return nil
	}
	if err := c.print(words(s, runs)); err != nil || !c.details {
		return err
	}
	return c.print(details(runs, c.width))
}

// printSession prints the runs of a session in all windows, in JSON only.
func (c *comparison) printSession(runs []*Run) error {
	if c.format != formatJSON {
		return nil
	}
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	for _, run := range runs {
		if err := enc.Encode(run); err != nil {
			return err
		}
	}
	return nil
}

// print prints a piece of text, with an empty line before all but the first.
func (c *comparison) print(piece string) error {
	text := program.Wrap(piece, c.width)
	if c.begun {
		text = "\n" + text
	}
	c.begun = true
	_, err := io.WriteString(c.stdout, text)
	return err
}
