package summarize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/checkpoints"
)

var errBadData = errors.New("summarize: Intervention.Data is not JSON, and is left out")

// errSaidMeanwhile reports that a compaction did not suffice for what was said while it was made.
var errSaidMeanwhile = errors.New("summarize: the session was compacted, and what was said meanwhile does not fit")

// errSentElsewhere reports that a request cannot go on from the prompt's.
var errSentElsewhere = errors.New("summarize: the plan is carried out where its prompt was not sent: the summary is asked for by a request of its own")

// errRunnerGone ends a plan that nobody carries out any more.
var errRunnerGone = errors.New("summarize: whoever carried the plan out is gone")

// writePlan plans a compaction and writes the plan to the session. It returns the id of the plan's entry.
func (w *walker) writePlan(s *measured, d Decision) (string, error) {
	if w.c.Session.ReadOnly() {
		return "", fmt.Errorf("%w: %w", ErrUnwritten, storage.ErrReadOnly)
	}
	m, err := w.measurer()
	if err != nil {
		return "", err
	}
	p := planner{m}
	plan, err := p.plan(w.ctx, w.prompt, s, d, w.instructions)
	if err != nil {
		if s.Fits && w.ctx.Err() == nil && s.Occasion != OnDemand { // which is not tried again at once
			end := history.PlanEnd{Outcome: history.PlanFailed, Error: err.Error(), ErrorType: ErrorType(err)}
			if _, addErr := w.c.Session.Add(w.ctx, history.Entry{Body: end}); addErr != nil {
				err = errors.Join(err, addErr)
			}
		}
		return "", err
	}
	if l := m.ledger; l.End.ErrorType == "nobody_to_ask" && l.Ended.FirstKept == plan.FirstKept && l.Steps == l.FailedAt && s.Occasion != OnDemand {
		return "", fmt.Errorf("%w: nothing has changed since", ErrNobodyToAsk) // and nothing new is written
	}
	var entries []history.Entry
	if gone := m.ledger.Pending; gone != nil {
		entries = append(entries, history.Entry{Body: history.PlanEnd{
			Plan: gone.ID, Outcome: history.PlanDropped, Error: errRunnerGone.Error(), ErrorType: "runner_gone",
		}})
	}
	if plan.preamble != nil {
		entries = append(entries, history.Entry{Body: *plan.preamble})
	}
	entries = append(entries, history.Entry{Body: plan.Plan})
	added, err := w.c.Session.Add(w.ctx, entries...)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	id := added[len(added)-1].ID
	w.c.tell(w.ctx, Event{
		Kind: EventStarted, Plan: id, Reason: s.Occasion, Why: d.Why, Background: plan.Background, WillRetry: w.retries, Covered: plan.covered,
		Kept: plan.kept, Over: plan.over, MessagesBefore: len(s.messages()), TokensBefore: s.tokens(), Base: s.Base,
		Breakdown: w.breakdown(s.messages(), s.tools(w.target)),
	})
	return id, nil
}

// errReady is what keeps a draft, and the claim of its plan, for a later render.
var errReady = errors.New("summarize: the summary is ready")

// carrier carries plans out: it has them summarised, and puts the compactions in place.
type carrier struct {
	session     *history.Session
	models      map[string]Target
	options     render.Options
	hooks       Hooks
	checkpoints *checkpoints.Folder
	tell        func(context.Context, Event)
	trace       func(context.Context, Work) (context.Context, func(*render.Result, error))
	read        func(context.Context) (*ledger.Ledger, error)
	own         func(func(context.Context)) bool
}

func (c *Compactor) carrier() *carrier {
	return &carrier{c.Session, c.Models, c.Options, c.Hooks, c.Checkpoints, c.tell, c.trace, c.read, c.inner.work.own}
}

// order is a plan to be carried out.
type order struct {
	id      string         // of the plan's entry
	policy  Policy         // with its defaults
	agent   Target         // whose model is asked if the policy names nobody else
	target  Target         // that the prompt is for
	sent    []chat.Message // the agent's request, for a fork of its cached prefix
	retries bool           // the agent's request is sent again afterwards

	cold      bool             // the cache has nothing of what was sent
	elsewhere bool             // than where the prompt was sent
	again     func(error) bool // reports whether there will be another attempt; nil is never
}

// run carries a plan out: it summarises, and gives the draft to take, which puts it in place or keeps it ([errReady]). How a
// plan fails is written to the session. The plan is claimed for the time.
func (c *carrier) run(ctx context.Context, o order, take func(context.Context, *job, *writer, draft) error) (failed error) {
	if !c.session.Claim(o.id) {
		return ErrBusy
	}
	ctx, end := c.trace(ctx, Work{Kind: WorkCompaction, Plan: o.id})
	defer func() { end(nil, failed) }()
	keep := false
	defer func() {
		if !keep {
			c.session.Release(o.id)
		}
	}()
	most := o.policy.Ask.TimeLimit
	limited, cancel := context.WithTimeoutCause(ctx, most, &TimeoutError{Name: "the compaction", After: most})
	defer cancel()
	var j *job
	var w *writer
	var d draft
	var reasons []error
	err := callback.Do(context.WithoutCancel(ctx), func(context.Context) error {
		j, w, d, reasons = c.draft(limited, o)
		return nil
	})
	if err != nil { // which is nobody's in particular
		reasons = []error{&CallbackError{"the compaction", err}}
	}
	if len(reasons) == 0 {
		err := take(ctx, j, w, d)
		if keep = errors.Is(err, errReady); err == nil || keep {
			return nil
		}
		reasons = []error{err}
	}
	if cause := context.Cause(limited); cause != nil && ctx.Err() == nil && !errors.Is(errors.Join(reasons...), cause) {
		reasons = append(reasons, cause)
	}
	why := &FailedError{Reasons: reasons}
	again := o.again != nil && (ctx.Err() != nil || mayPass(reasons)) && o.again(why)
	c.conclude(ctx, o.id, j, w, why, again)
	return why
}

// mayPass reports whether what a plan failed for may be otherwise when it is tried again: a model may answer, the session may be
// read and written.
func mayPass(reasons []error) bool {
	passes := false
	for _, err := range reasons {
		_, refused := errors.AsType[*SummaryError](err)
		_, wrong := errors.AsType[*CallbackError](err)
		_, transient := errors.AsType[*chat.TransientError](err)
		_, large := ContextLimit(err)
		switch {
		case gone(err), errors.Is(err, ErrPlanEnded), errors.Is(err, ErrVetoed):
			return false
		case refused, wrong, large, errors.Is(err, ErrNobodyToAsk), status(err)/100 == 4 && !transient:
		default:
			passes = true
		}
	}
	return passes
}

// draft opens the job of a plan, hears its hooks and has the summary written.
func (c *carrier) draft(ctx context.Context, o order) (*job, *writer, draft, []error) {
	l, err := c.read(ctx)
	if err != nil {
		return nil, nil, draft{}, []error{err}
	}
	m := measurer{session: c.session, target: o.target, policy: o.policy, options: c.options, ledger: l}
	j, err := openJob(ctx, c.session, o.id, l, o.policy, o.target, m.sizing())
	if err != nil {
		return nil, nil, draft{}, []error{err}
	}
	j.material.Sent, j.retries = o.sent, o.retries
	refused := l.Refused
	if j.plan.Occasion == string(OnDemand) {
		refused = nil // whoever asks again wants it tried again
	}
	candidates, err := c.candidates(ctx, o.agent, o.policy, l)
	if err != nil {
		return j, nil, draft{}, []error{err}
	}
	if o.policy.Ask.Cheapest {
		forks := len(o.sent) > 0 && o.policy.Ask.Prompts[0].Forks && (j.plan.Background || !o.policy.Ask.Prompts[0].Background)
		sortByPrice(candidates, o.policy.prices(o.agent), sizing.Carry{Input: j.plan.TokensBefore, Summary: j.plan.Room, Cold: o.cold}, forks)
	}
	w := &writer{
		job: j, candidates: candidates, elsewhere: o.elsewhere, refusedBefore: refused, finishedBefore: l.Finished,
		tell: func(kind EventKind, change func(*Event)) {
			e := j.event(kind)
			e.Calls, e.Usage = 0, chat.Usage{}
			change(&e)
			c.tell(ctx, e)
		},
	}
	if err := c.before(ctx, j); err != nil {
		return j, w, draft{}, []error{err}
	}
	if j.hooked.Summary != nil {
		if err := c.keepsEnough(ctx, j, m.sizing()); err != nil {
			return j, w, draft{}, []error{err}
		}
		d := draft{prompt: Prompt{Mode: ModeSupplied}}
		if d.text, err = supplied(j.hooked); err == nil {
			m := j.whole()
			m.Summary = d.text
			d.messages, err = j.replacement(ctx, m)
		}
		if err != nil {
			err = fmt.Errorf("summarize: the summary of a hook: %w", err)
			return j, w, draft{}, []error{err}
		}
		return j, w, d, nil
	}
	prompts := slices.DeleteFunc(o.policy.Ask.prompts(j.plan.Background), func(p Prompt) bool { return !Mode(j.plan.Mode).allows(p) })
	if len(j.hooked.Prompts) > 0 {
		prompts = j.hooked.Prompts
	}
	d, reasons := w.write(ctx, prompts)
	return j, w, d, reasons
}

// keepsEnough reports by an error that a hook's FirstKept leaves something out that the plan keeps: nobody summarised it.
func (c *carrier) keepsEnough(ctx context.Context, j *job, by elements.Sizing) error {
	if j.hooked.FirstKept == "" {
		return nil
	}
	view, err := c.session.ViewAt(ctx, j.id)
	if err != nil {
		return err
	}
	own, err := j.policy.cutAt(ctx, view, j.plan.FirstKept, by)
	if err != nil {
		return err
	}
	theirs, err := j.policy.cutAt(ctx, view, j.hooked.FirstKept, by)
	if err != nil || theirs.At > own.At {
		return fmt.Errorf("summarize: Intervention.FirstKept is %q: it is an entry of the view, and not after %q, where the plan cuts", j.hooked.FirstKept, j.plan.FirstKept)
	}
	return nil
}

// event returns an event about a job.
func (j *job) event(kind EventKind) Event {
	e := Event{
		Kind: kind, Plan: j.id, Reason: Occasion(j.plan.Occasion), Background: j.plan.Background, Base: j.plan.Base,
		TokensBefore: j.plan.TokensBefore, Covered: len(j.covered), Kept: j.kept, WillRetry: j.retries,
	}
	e.Duration = time.Since(j.begun)
	e.Calls, e.Usage = j.meter.read()
	return e
}

// isPending reports whether a plan has not ended as far as can be read.
func (c *carrier) isPending(ctx context.Context, id string) bool {
	l, err := c.read(ctx)
	return err != nil || l.Pending != nil && l.Pending.ID == id
}

// conclude writes to the session that a plan came to nothing, and tells of it; or, if there is to be another attempt, what this one
// leaves to it. The job and the writer are nil if it did not come so far.
func (c *carrier) conclude(ctx context.Context, id string, j *job, w *writer, failed *FailedError, again bool) {
	why := errors.Join(failed.Reasons...)
	end := history.PlanEnd{Plan: id, Outcome: history.PlanFailed, ErrorType: ErrorType(why), Error: strings.TrimPrefix(failed.Error(), "summarize: ")}
	kind := EventFailed
	switch {
	case again:
		end.Outcome, kind = history.PlanRetried, EventPostponed
	case ctx.Err() != nil:
		why = ended(ctx, why)
		end.Outcome, end.Error, end.ErrorType, kind = history.PlanDropped, why.Error(), ErrorType(ctx.Err()), EventCancelled
	case errors.Is(why, ErrVetoed):
		end.Outcome, kind = history.PlanVetoed, EventVetoed
	case gone(why), errors.Is(why, ErrPlanEnded):
		end.Outcome, kind = history.PlanDropped, EventDropped
	}
	entries := w.learnings()
	if w != nil {
		end.Refused, end.Finished = w.refused, w.finished
	}
	if w != nil && !again {
		end.NotBefore = w.notBefore()
	}
	says := !again || len(end.Refused)+len(end.Finished) > 0
	write, done := callback.Outlive(ctx) // how it ended is written in any case
	defer done()
	if says && c.isPending(write, id) { // else it has ended, or is on another branch
		entries = append(entries, history.Entry{Body: end})
	}
	if _, err := c.session.Add(write, entries...); err != nil {
		why = errors.Join(why, fmt.Errorf("%w: %w", ErrUnwritten, err))
	}
	e := Event{Kind: kind, Plan: id}
	if j != nil {
		e = j.event(kind)
	}
	e.Err = why
	c.tell(ctx, e)
}

// learnings returns entries of what models said of their limits.
func (w *writer) learnings() []history.Entry {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []history.Entry
	for _, r := range w.learnt {
		list = append(list, history.Entry{Body: r})
	}
	return list
}

// place puts a draft in place: the compaction, which ends its plan. If the prompt is at hand it must render with it, and
// must fit if that is asked for. The error is a [*history.BoundaryError] if the place is gone.
func (c *carrier) place(ctx context.Context, j *job, w *writer, d draft, at *placing) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m := j.whole()
	compaction := history.Compaction{
		Plan: j.id, Messages: d.messages, FirstKept: j.plan.FirstKept, Thinking: j.plan.Thinking, TokensBefore: j.plan.TokensBefore,
		Mode: string(d.prompt.Mode), Title: titleOf(d.text), Summary: history.Summary{Text: d.text, Files: m.Files, Data: j.hooked.Data},
	}
	if h := j.hooked; h.Summary != nil {
		compaction.Summary = *h.Summary
		compaction.Text = d.text
		compaction.Extension = true
		if h.FirstKept != "" {
			compaction.FirstKept = h.FirstKept
		}
		if h.Title != "" {
			compaction.Title = h.Title
		}
		if h.TokensBefore > 0 {
			compaction.TokensBefore = h.TokensBefore
		}
	}
	view, err := c.session.ViewWith(ctx, compaction)
	if err != nil {
		return err
	}
	if l, err := c.read(ctx); err != nil {
		return err
	} else if l.Pending == nil || l.Pending.ID != j.id {
		return ErrPlanEnded
	}
	var result *render.Result
	if at != nil {
		result, err = call(ctx, namePrompt, 0, func(ctx context.Context) (*render.Result, error) {
			layout, err := at.measurer.lay(ctx, at.prompt, view, at.budget)
			if err != nil {
				return nil, err
			}
			return layout.Fit(ctx, at.budget)
		})
		if _, over := errors.AsType[*render.BudgetExceededError](err); err != nil && (at.mustFit || !over) {
			return fmt.Errorf("summarize: with the summary the prompt still does not render: %w", err)
		}
		if result != nil {
			compaction.TokensAfter = result.Tokens
		}
	}
	entries := append(w.learnings(), history.Entry{Body: compaction})
	added, err := c.session.Add(ctx, entries...)
	if err != nil && gone(err) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	entry := added[len(added)-1]
	e := j.event(EventDone)
	placed := entry.Compaction() // as it was written, which may be redacted
	e.Mode, e.Model, e.Summary, e.Title, e.Mended, e.Entry = d.prompt.Mode, d.model, placed.Text, placed.Title, d.mended, entry.ID
	e.TokensAfter = compaction.TokensAfter
	if result != nil {
		e.MessagesBefore, e.MessagesAfter = at.messages, len(result.Messages)
	}
	if c.checkpoints != nil && j.policy.Place.Checkpoints {
		point, err := call(context.WithoutCancel(ctx), "Checkpoints", c.hooks.timeout(), func(ctx context.Context) (checkpoints.Checkpoint, error) {
			return c.checkpoints.Add(ctx, c.session, entry.ID, placed.Title, placed.Text)
		})
		if err != nil { // the session has it all the same
			c.tell(ctx, Event{Kind: EventHookFailed, Reason: e.Reason, Hook: "Checkpoints", Err: fmt.Errorf("summarize: writing the checkpoint: %w", err)})
		}
		e.Checkpoint = point
	}
	c.tell(ctx, e)
	c.afterwards(ctx, j, d, entry, compaction)
	return nil
}

// placing is what a compaction is put in place for.
type placing struct {
	measurer *measurer
	prompt   elements.Node
	budget   int
	messages int // of the prompt before
	mustFit  bool
}

// afterwards calls the hook after a compaction and asks for its title. Neither holds anything up if the compaction was made in
// the background, and the title never does.
func (c *carrier) afterwards(ctx context.Context, j *job, d draft, entry history.Entry, m history.Compaction) {
	after := func(ctx context.Context) {
		if c.hooks.AfterCompact != nil {
			hook(ctx, c.hooks, c.tell, "AfterCompact", none(func(ctx context.Context) error { return c.hooks.AfterCompact(ctx, entry) }))
		}
	}
	if !j.plan.Background {
		after(ctx)
		if d.prompt.Title == nil {
			return
		}
	} else if c.hooks.AfterCompact == nil && d.prompt.Title == nil {
		return
	}
	c.own(func(ctx context.Context) {
		if j.plan.Background {
			after(ctx)
		}
		if d.prompt.Title == nil {
			return
		}
		err := c.title(ctx, j, d, entry.ID)
		if wrong, ok := errors.AsType[*CallbackError](err); ok {
			c.tell(ctx, Event{Kind: EventHookFailed, Plan: j.id, Hook: "Prompt.Title", Err: wrong})
		}
	})
}

// title asks for a line for people, and labels the compaction with it.
func (c *carrier) title(ctx context.Context, j *job, d draft, entry string) error {
	l, err := c.read(ctx)
	if err != nil {
		return err
	}
	candidates, err := c.candidates(ctx, j.target, j.policy, l)
	if err != nil {
		return err
	}
	m := j.whole()
	m.Summary = d.text
	w := &writer{job: j, candidates: candidates, tell: func(EventKind, func(*Event)) {}}
	for _, candidate := range w.candidates {
		if candidate.Name != d.model {
			continue
		}
		limit := j.policy.Ask.Timeout
		if limit == 0 {
			limit = 30 * time.Second
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		text, err := w.ask(ctx, candidate, Prompt{Mode: d.prompt.Mode, Request: d.prompt.Title, function: "Prompt.Title"}, m)
		if text = plaintext.OneLine(text, 200); err != nil || text == "" {
			return err
		}
		if _, err := c.session.Add(ctx, history.Entry{Body: history.Label{Target: entry, Text: text}}); err != nil {
			return err
		}
		e := j.event(EventTitled)
		e.Title, e.Entry = text, entry
		c.tell(ctx, e)
		return nil
	}
	return nil
}

// titleOf returns a summary's title for people: its first heading of the first level, or else its first line, at most 80 bytes.
func titleOf(summary string) string {
	first := ""
	for line := range strings.Lines(summary) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok && strings.TrimSpace(heading) != "" {
			return plaintext.OneLine(heading, 80)
		}
		if first == "" {
			first = strings.TrimSpace(strings.TrimLeft(line, "#*-0123456789. \t"))
		}
	}
	return plaintext.OneLine(first, 80)
}

// compact makes a compaction before the prompt is returned.
func (w *walker) compact(s *measured, d Decision) error {
	ctx, done := w.c.inner.work.abortable(w.ctx)
	defer done()
	c := w.c.carrier()
	if err := c.abandon(ctx, &w.c.inner.work); err != nil {
		return err
	}
	id, err := w.writePlan(s, d)
	if err != nil {
		if w.ctx.Err() == nil {
			c.tell(ctx, Event{Kind: EventFailed, Reason: s.Occasion, TokensBefore: s.tokens(), Base: s.Base, Err: err})
		}
		return &FailedError{Budget: s.over, Reasons: []error{err}}
	}
	o := order{id: id, policy: w.policy, agent: w.target, target: w.target, retries: w.retries, cold: s.Cold}
	if w.asks != nil {
		o.agent = *w.asks
	}
	err = c.run(ctx, o, func(ctx context.Context, j *job, wr *writer, d draft) error {
		m, err := w.measurer()
		if err != nil {
			return err
		}
		return c.place(ctx, j, wr, d, &placing{m, w.prompt, s.Budget, len(s.messages()), true})
	})
	if failed, ok := errors.AsType[*FailedError](err); ok {
		failed.Budget = s.over
	}
	if err != nil && ctx.Err() != nil {
		return ended(ctx, err) // aborted
	}
	return err
}

// CarryOut carries out a plan that was written to the session, by this compactor or another: models are asked, and the
// compaction is put in place. It is for a [Runner] of one's own. It returns once the hook after the compaction and the request for
// its title have too. A plan that is not pending is [ErrPlanEnded], one that is being carried out in this process [ErrBusy]; any
// other error is how it failed, which the session says too.
//
// If the context ends, or an attempt fails in a way that may pass, again is asked whether there will be another attempt, here or
// elsewhere. Then the plan stays pending, and the session has what this attempt leaves to the next: summaries of parts, and what
// models refused. Nil is never.
func (c *Compactor) CarryOut(ctx context.Context, plan string, again func(err error) bool) error {
	w, err := c.begin(ctx, nil)
	if err != nil {
		return err
	}
	l, err := c.read(ctx)
	if err != nil {
		return err
	}
	if l.Pending == nil || l.Pending.ID != plan {
		return ErrPlanEnded
	}
	ctx, done := c.inner.work.abortable(ctx)
	defer done()
	carrier := c.carrier()
	carrier.own = func(f func(context.Context)) bool { f(ctx); return true } // nobody waits for it
	return carrier.run(ctx, order{id: plan, policy: w.policy, agent: w.target, target: w.target, elsewhere: true, again: again}, func(ctx context.Context, j *job, wr *writer, d draft) error {
		if err := c.Session.Refresh(ctx); err != nil { // others may have ended the plan
			return err
		}
		return carrier.place(ctx, j, wr, d, nil)
	})
}
