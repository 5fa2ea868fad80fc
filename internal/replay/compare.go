package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/record"
)

// compare runs what the options ask for on each session. It reads all sessions before it replays the first, so that a
// wrong name is reported at once.
func compare(ctx context.Context, o options, stdout, stderr io.Writer, progress *progress) (err error) {
	tokenizer, err := tiktoken.New(encoding)
	if err != nil {
		return err
	}
	sources := make([]source, len(o.sessions))
	var left []error
	for i, path := range o.sessions {
		if o.salvage {
			var without error
			sources[i], without, err = salvage(ctx, i+1, path, stderr)
			left = append(left, without)
		} else {
			sources[i], err = open(i+1, path)
		}
		if err != nil {
			return err
		}
	}
	defer func() { err = cmp.Or(err, errors.Join(left...)) }()
	r := &replayer{tokenizer: tokenizer, policies: o.policies, modelName: o.modelName, progress: progress, biller: o.biller, recall: o.recall, unchecked: o.unchecked}
	if o.check {
		b, err := checkAll(sources, o)
		if err == nil {
			_, err = stdout.Write(b.Bytes())
		}
		return err
	}
	if r.bundles, err = newBundles(o.bundles, o.minMessages); err != nil {
		return program.UsageError{Err: err}
	}
	if o.page == "" {
		return replayAll(ctx, r, sources, o, stdout)
	}
	return withPage(o, r, func() error { return replayAll(ctx, r, sources, o, stdout) })
}

// withPage calls replay, and writes a page of the steps that it made, if any.
func withPage(o options, r *replayer, replay func() error) error {
	page, err := os.Create(o.page)
	if err != nil {
		return program.UsageError{Err: err}
	}
	r.page = new(record.Recorder)
	err = replay()
	title := fmt.Sprintf("%s under %s in a window of %d tokens", filepath.Base(o.sessions[0]), o.policies[0].Name, o.windows[0])
	if writeErr := r.page.Write(page, inspect.Options{Title: title}); !errors.Is(writeErr, inspect.ErrNoPrompts) {
		err = errors.Join(err, writeErr)
	}
	return errors.Join(err, page.Close())
}

// checkAll compares the cost model with the usage that each session recorded.
func checkAll(sources []source, o options) (*bytes.Buffer, error) {
	var b bytes.Buffer
	for i, s := range sources {
		c := check(s.recording, o.biller.prices)
		if len(c.checked) == 0 {
			return nil, program.UsageError{Err: fmt.Errorf("%s: -check needs recorded usage, and the session has none", s.path)}
		}
		if o.format == formatJSON {
			enc := json.NewEncoder(&b)
			for _, row := range c.rows(s.path) {
				if err := enc.Encode(row); err != nil {
					return nil, err
				}
			}
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s\n", s.path, c.text())
		c.table().write(&b)
	}
	return &b, nil
}

// replayAll replays the sessions in each window under each policy, and prints each session once it is replayed.
func replayAll(ctx context.Context, r *replayer, sources []source, o options, stdout io.Writer) error {
	defer r.progress.clear()
	out := &printer{format: o.format, to: stdout}
	var all []*Run
	var failed error
	for _, s := range sources {
		runs, err := r.windows(ctx, s, o.windows, out)
		r.progress.clear()
		all = append(all, runs...)
		if printErr := out.session(runs); printErr != nil {
			return printErr
		}
		if errors.Is(err, errEnded) {
			failed, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	if len(sources) > 1 {
		if err := out.sums(len(sources), all); err != nil {
			return err
		}
	}
	return failed
}

// windows replays one session in each window. The error is errEnded if a policy did not reach the end of the session.
func (r *replayer) windows(ctx context.Context, s source, windows []int, out *printer) (runs []*Run, failed error) {
	if r.biller != nil {
		var err error
		if r, err = r.priced(ctx, s); err != nil {
			return nil, err
		}
		if r.never, err = r.uncompacted(ctx, s); err != nil && !errors.Is(err, errEnded) {
			return nil, err
		}
	}
	replayers := make([]*replayer, len(windows))
	for i, window := range windows {
		var err error
		if replayers[i], err = r.inWindow(window, s); err != nil {
			return nil, err
		}
	}
	for i, r := range replayers {
		if i > 0 {
			r.recordedRun = runs[0]
		}
		inWindow, err := r.session(ctx, s)
		runs = append(runs, inWindow...)
		r.progress.clear()
		if printErr := out.window(inWindow); printErr != nil {
			return runs, printErr
		}
		if failed == nil || err != nil && !errors.Is(err, errEnded) {
			failed = err
		}
		if err != nil && !errors.Is(err, errEnded) {
			break
		}
	}
	markFront(runs)
	return runs, failed
}

// session replays one session under each policy. The error is errEnded if a policy did not reach the end of the
// session; the other policies still run.
func (r *replayer) session(ctx context.Context, s source) (runs []*Run, failed error) {
	defer func() {
		if r.biller != nil && r.biller.check != nil && r.biller.check.Failed != "" && !r.unchecked {
			for _, run := range runs {
				run.withoutDollars()
			}
		}
	}()
	if s.compacted() || r.biller != nil {
		run, err := r.replayRecorded(ctx, s)
		runs = append(runs, run)
		if failed = err; err != nil && !errors.Is(err, errEnded) {
			return runs, err
		}
		r.setUncompacted(run)
		if run.Check != nil && run.Bill != nil && err == nil {
			run.Check.Replayed = run.Bill.Kept
			run.Check.judge(run.Bill.Kept)
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
		r.setUncompacted(run)
	}
	return runs, failed
}

// printer prints runs in a format, as soon as they are made.
type printer struct {
	format string
	to     io.Writer
	begun  bool // something was printed
}

// window prints the runs in one window, in the text format only.
func (p *printer) window(runs []*Run) error {
	if p.format != formatText {
		return nil
	}
	return p.text(text(runs))
}

// session prints the runs of a session in all windows.
func (p *printer) session(runs []*Run) error {
	switch {
	case p.format == formatJSON:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for _, run := range runs {
			if err := enc.Encode(run); err != nil {
				return err
			}
		}
		return p.write(&b)
	case len(runs) > 0:
		return p.front(runs[0].Session, runs)
	}
	return nil
}

// sums prints the sums over all sessions, except in JSON, in which each object is a run.
func (p *printer) sums(sessions int, runs []*Run) error {
	if p.format != formatText {
		return nil
	}
	title := fmt.Sprintf("all %s sessions", number(sessions))
	if err := p.text(recallText(title, sumOf(runs), true)); err != nil {
		return err
	}
	var priced []*Run
	names := map[string]bool{}
	for _, r := range runs {
		if r.Bill != nil {
			priced = append(priced, r)
			names[r.Session] = true
		}
	}
	if len(names) < sessions {
		title = fmt.Sprintf("the %s of %s sessions with dollars", number(len(names)), number(sessions))
	}
	return p.front(title, sumOf(priced))
}

// front prints a table that compares runs, if there are at least two to compare.
func (p *printer) front(title string, runs []*Run) error {
	n := 0
	for _, r := range runs {
		if ranked(r) {
			n++
		}
	}
	if n < 2 {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: dollars with look-backs; * none is as cheap with as few edit look-backs\n\n", title)
	frontTable(runs).write(&b)
	return p.text(b.String())
}

// text prints a piece of text, with an empty line before all but the first.
func (p *printer) text(piece string) error {
	if piece == "" {
		return nil
	}
	var b bytes.Buffer
	if p.begun {
		b.WriteByte('\n')
	}
	b.WriteString(piece)
	return p.write(&b)
}

func (p *printer) write(b *bytes.Buffer) error {
	p.begun = true
	_, err := p.to.Write(b.Bytes())
	return err
}
