package summarize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/checkpoints"
)

var errBadData = errors.New("summarize: Intervention.Data is not JSON, and is left out")

// errSaidMeanwhile reports that the prompt does not fit after a compaction because of messages that were appended while
// it was made.
var errSaidMeanwhile = errors.New("summarize: the session was compacted, but the messages said meanwhile do not fit")

// errSentElsewhere reports that a fork is not possible because another process sent the prompt.
var errSentElsewhere = errors.New("summarize: another process sent the prompt, so the summary is asked for without its cache")

// errRunnerGone ends a plan that nobody carries out any more.
var errRunnerGone = errors.New("summarize: nobody carries the plan out any more")

// writePlan plans a compaction and writes the plan to the session. It returns the id of the plan's entry.
func (w *walker) writePlan(s *measured, d Decision) (id string, err error) {
	defer func() {
		if err != nil && w.ctx.Err() == nil {
			w.c.emit(w.ctx, Event{Kind: EventFailed, Reason: s.Occasion, Background: d.Do == ActStart, TokensBefore: s.tokens(), Base: s.Base, Err: err})
		}
	}()
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
		if s.Sendable && w.ctx.Err() == nil && s.Occasion != OnDemand { // start a pause
			end := entry.PlanEnd{Outcome: entry.PlanFailed, Error: err.Error(), ErrorType: ErrorType(err)}
			if _, addErr := w.c.Session.Add(w.ctx, entry.Entry{Body: end}); addErr != nil {
				err = errors.Join(err, addErr)
			}
		}
		return "", err
	}
	var entries []entry.Entry
	if gone := m.ledger.Pending; gone != nil {
		entries = append(entries, entry.Entry{Body: entry.PlanEnd{
			Plan: gone.ID, Outcome: entry.PlanDropped, Error: errRunnerGone.Error(), ErrorType: "runner_gone",
		}})
	}
	if plan.preamble != nil {
		entries = append(entries, entry.Entry{Body: *plan.preamble})
	}
	entries = append(entries, entry.Entry{Body: plan.Plan})
	added, err := w.c.Session.Add(w.ctx, entries...)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	id = added[len(added)-1].ID
	w.c.emit(w.ctx, Event{
		Kind: EventStarted, Plan: id, Reason: s.Occasion, Why: d.Why, Background: plan.Background, WillRetry: w.willRetry, Covered: plan.covered,
		Kept: plan.kept, Over: plan.over, MessagesBefore: len(s.messages()), TokensBefore: s.tokens(), Base: s.Base,
		Breakdown: w.breakdown(s.messages(), s.tools(w.target)),
	})
	return id, nil
}

// errReady tells run to keep the draft, and the claim of its plan, for a later render.
var errReady = errors.New("summarize: the summary is ready")

// carrier carries plans out: it has the summaries written, and puts the compactions in place.
type carrier struct {
	session     *history.Session
	models      map[string]Target
	options     render.Options
	hooks       Hooks
	checkpoints *checkpoints.Folder
	emit        func(context.Context, Event)
	read        func(context.Context) (*ledger.Ledger, error)
	spawn       func(func(context.Context)) bool
}

func (c *Compactor) carrier() *carrier {
	return &carrier{c.Session, c.Models, c.Options, c.Hooks, c.Checkpoints, c.emit, c.read, c.inner.work.spawn}
}

// order is a plan to carry out.
type order struct {
	id        string         // the plan's entry
	policy    Policy         // with defaults
	agent     Target         // its model is asked if the policy names no other
	target    Target         // the prompt is for it
	sent      []chat.Message // the agent's request, for a fork of its cached prefix
	willRetry bool           // the agent's request is sent again afterwards

	background   bool             // no prompt waits for it
	cold         bool             // the cache holds nothing of the prompt
	otherProcess bool             // another process sent the prompt
	retry        func(error) bool // reports whether there will be another attempt; nil means no
}

// run carries a plan out: it has the summary written and calls take, which puts the draft in place, or keeps it and
// returns [errReady]. It holds the claim on the plan meanwhile. If the plan fails, it writes that to the session.
func (c *carrier) run(ctx context.Context, o order, take func(context.Context, *job, *writer, draft) error) error {
	most := o.policy.Ask.TimeLimit
	claimed, claimErr := c.session.Claim(ctx, o.id, most)
	if !claimed && claimErr == nil {
		return ErrBusy
	}
	keep := false
	defer func() {
		if claimed && !keep {
			c.session.Release(o.id)
		}
	}()
	limited, cancel := context.WithTimeoutCause(ctx, most, &TimeoutError{Name: "the compaction", After: most})
	defer cancel()
	var j *job
	var w *writer
	var d draft
	var reasons []error
	err := callback.Do(context.WithoutCancel(ctx), func(context.Context) error {
		if claimErr != nil {
			reasons = []error{claimErr}
			return nil
		}
		j, w, d, reasons = c.draft(limited, o)
		return nil
	})
	if err != nil { // code of ours panicked
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
	again := o.retry != nil && (ctx.Err() != nil || mayPass(reasons)) && o.retry(why)
	c.conclude(ctx, o.id, j, w, draft{}, why, again)
	return why
}

// mayPass reports whether another attempt at a plan may succeed: a model may answer then, or the session may be read
// and written.
func mayPass(reasons []error) bool {
	passes := false
	for _, err := range reasons {
		_, refused := errors.AsType[*SummaryError](err)
		_, wrong := errors.AsType[*CallbackError](err)
		_, transient := errors.AsType[*chat.TransientError](err)
		_, large := ContextLimit(err)
		switch {
		case boundaryGone(err), errors.Is(err, ErrPlanEnded), errors.Is(err, ErrVetoed):
			return false
		case refused, wrong, large, errors.Is(err, ErrNobodyToAsk), refusal.Status(err)/100 == 4 && !transient:
		default:
			passes = true
		}
	}
	return passes
}

// draft opens the job of a plan, calls its hooks and has the summary written.
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
	j.material.Sent, j.willRetry = o.sent, o.willRetry
	candidates, err := c.candidates(ctx, o.agent, o.policy, l)
	if err != nil {
		return j, nil, draft{}, []error{err}
	}
	if o.policy.Ask.Cheapest {
		forks := len(o.sent) > 0 && o.policy.Ask.Prompts[0].Forks && (j.plan.Background || !o.policy.Ask.Prompts[0].Background)
		sortByPrice(candidates, o.policy.prices(o.agent), sizing.Carry{Input: j.plan.TokensBefore, Summary: j.plan.Room, Cold: o.cold}, forks)
	}
	w := &writer{
		job: j, candidates: candidates, otherProcess: o.otherProcess, finishedBefore: l.Finished,
		splits: min(maxShrinks, max(0, l.Unusable-1)), session: c.session,
		emit: func(kind EventKind, change func(*Event)) {
			e := j.event(kind)
			e.Calls, e.Usage = 0, chat.Usage{}
			change(&e)
			c.emit(ctx, e)
		},
	}
	if err := c.runBefore(ctx, j); err != nil {
		return j, w, draft{}, []error{err}
	}
	if j.intervention.Summary != nil {
		if err := c.checkFirstKept(ctx, j, m.sizing()); err != nil {
			return j, w, draft{}, []error{err}
		}
		d := draft{prompt: Prompt{Mode: ModeSupplied}}
		if d.text, err = suppliedText(j.intervention); err == nil {
			m := j.whole()
			m.Summary = d.text
			d.messages, err = j.replacement(ctx, m)
		}
		if err != nil {
			err = within("the summary of a hook", err)
			return j, w, draft{}, []error{err}
		}
		return j, w, d, nil
	}
	prompts := slices.DeleteFunc(o.policy.Ask.prompts(Occasion(j.plan.Occasion), j.plan.Background), func(p Prompt) bool { return !Mode(j.plan.Mode).allows(p) })
	if len(j.intervention.Prompts) > 0 {
		prompts = j.intervention.Prompts
	}
	d, reasons := w.write(ctx, prompts)
	return j, w, d, reasons
}

// checkFirstKept returns an error if a hook's FirstKept is after the plan's cut, so that entries would be neither kept
// nor summarised.
func (c *carrier) checkFirstKept(ctx context.Context, j *job, by elements.Sizing) error {
	if j.intervention.FirstKept == "" {
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
	theirs, err := j.policy.cutAt(ctx, view, j.intervention.FirstKept, by)
	if err != nil || theirs.At > own.At {
		return fmt.Errorf("summarize: Intervention.FirstKept is %q: it must be an entry of the view, and not after %q, where the plan cuts", j.intervention.FirstKept, j.plan.FirstKept)
	}
	return nil
}

// event returns an event about the job.
func (j *job) event(kind EventKind) Event {
	e := Event{
		Kind: kind, Plan: j.id, Reason: Occasion(j.plan.Occasion), Background: j.plan.Background, Base: j.plan.Base,
		TokensBefore: j.plan.TokensBefore, Covered: len(j.covered), Kept: j.kept, WillRetry: j.willRetry,
	}
	e.Duration = time.Since(j.begun)
	e.Calls, e.Usage = j.meter.read()
	return e
}

// isPending reports whether a plan has not ended, or the session cannot be read.
func (c *carrier) isPending(ctx context.Context, id string) bool {
	l, err := c.read(ctx)
	return err != nil || l.Pending != nil && l.Pending.ID == id
}

// onOtherBranch reports whether the session has left the branch of a plan. The end of the plan is written to the log all
// the same.
func (c *carrier) onOtherBranch(ctx context.Context, id string) bool {
	common, err := c.session.Ancestor(ctx, id, c.session.Leaf())
	return err == nil && common != id
}

// conclude writes to the session how a plan failed, and emits the event. If there will be another attempt, it writes
// the answers and refusals of this one for it. The job and the writer are nil if the attempt failed before they
// existed.
func (c *carrier) conclude(ctx context.Context, id string, j *job, w *writer, d draft, failed *FailedError, again bool) {
	why := errors.Join(failed.Reasons...)
	end := entry.PlanEnd{Plan: id, Outcome: entry.PlanFailed, ErrorType: ErrorType(why), Error: unprefixed(failed)}
	kind := EventFailed
	switch {
	case again:
		end.Outcome, kind = entry.PlanRetried, EventPostponed
	case ctx.Err() != nil:
		why = endCause(ctx, why)
		end.Outcome, end.Error, end.ErrorType, kind = entry.PlanDropped, why.Error(), ErrorType(ctx.Err()), EventCancelled
	case errors.Is(why, ErrVetoed):
		end.Outcome, kind = entry.PlanVetoed, EventVetoed
	case boundaryGone(why), errors.Is(why, ErrPlanEnded):
		end.Outcome, kind = entry.PlanDropped, EventDropped
	}
	if w != nil {
		end.Finished = w.finished
	}
	if w != nil && !again {
		end.NotBefore = w.notBefore()
	}
	c.record(ctx, end, kind, j, w, d, why)
}

// record writes to the session how a plan ended and what the models' refusals teach, and emits the event.
func (c *carrier) record(ctx context.Context, end entry.PlanEnd, kind EventKind, j *job, w *writer, d draft, why error) {
	entries := w.refusalEntries()
	says := end.Outcome != entry.PlanRetried || len(end.Finished) > 0
	write, done := callback.Outlive(ctx) // even if ctx has ended
	defer done()
	if says && (c.isPending(write, end.Plan) || c.onOtherBranch(write, end.Plan)) {
		entries = append(entries, entry.Entry{Body: end})
	}
	if _, err := c.session.Add(write, entries...); err != nil {
		why = errors.Join(why, fmt.Errorf("%w: %w", ErrUnwritten, err))
	}
	e := Event{Kind: kind, Plan: end.Plan}
	if j != nil {
		e = j.event(kind)
	}
	e.Mode, e.Model, e.Err = d.prompt.Mode, d.model, why
	c.emit(ctx, e)
}

// refusalEntries returns entries for what the models' refusals teach.
func (w *writer) refusalEntries() []entry.Entry {
	if w == nil {
		return nil
	}
	var list []entry.Entry
	for _, c := range w.candidates {
		for _, r := range c.taught() {
			list = append(list, entry.Entry{Body: r})
		}
	}
	return list
}

// place appends the compaction of a draft, which ends its plan. If at is not nil, the prompt must render with the
// summary, and fit if at says so. The error is a [*entry.BoundaryError] if the entries to replace are gone.
func (c *carrier) place(ctx context.Context, j *job, w *writer, d draft, at *placement) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m := j.whole()
	compaction := entry.Compaction{
		Plan: j.id, Messages: d.messages, FirstKept: j.plan.FirstKept, Thinking: j.plan.Thinking, TokensBefore: j.plan.TokensBefore,
		Mode: string(d.prompt.Mode), Model: d.model, Answers: d.answers, Asked: d.asked, Unseen: d.unseen, Title: plaintext.Title(d.text), Summary: entry.Summary{Text: d.text, Files: m.Files, Data: j.intervention.Data},
	}
	if h := j.intervention; h.Summary != nil {
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
			layout, _, err := at.measurer.layOut(ctx, at.prompt, view, at.budget, at.newest)
			if err != nil {
				return nil, err
			}
			return layout.Fit(ctx, at.budget)
		})
		if err != nil && (at.mustFit || !tooLarge(err)) {
			return within("the prompt does not render with the summary", err)
		}
		if result != nil {
			compaction.TokensAfter = result.Tokens
		}
	}
	entries := append(w.refusalEntries(), entry.Entry{Body: compaction})
	added, err := c.session.Add(ctx, entries...)
	if err != nil && boundaryGone(err) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", ErrUnwritten, err)
	}
	found := added[len(added)-1]
	e := j.event(EventDone)
	placed := found.Compaction() // as written: the session may have redacted it
	e.Mode, e.Model, e.Summary, e.Title, e.Mended, e.Entry, e.Unseen = d.prompt.Mode, d.model, placed.Text, placed.Title, d.mended, found.ID, d.unseen
	e.TokensAfter = compaction.TokensAfter
	if result != nil {
		e.MessagesBefore, e.MessagesAfter = at.messages, len(result.Messages)
	}
	if c.checkpoints != nil && j.policy.Place.Checkpoints {
		point, err := call(context.WithoutCancel(ctx), "Checkpoints", c.hooks.timeout(), func(ctx context.Context) (checkpoints.Checkpoint, error) {
			return c.checkpoints.Add(ctx, c.session, found.ID, placed.Title, placed.Text)
		})
		if err != nil { // the session has the compaction in any case
			c.emit(ctx, Event{Kind: EventHookFailed, Reason: e.Reason, Hook: "Checkpoints", Err: within("writing the checkpoint", err)})
		}
		e.Checkpoint = point
	}
	c.emit(ctx, e)
	c.afterwards(ctx, j, d, found, compaction)
	return nil
}

// placement is the prompt that a compaction is put in place for.
type placement struct {
	measurer *measurer
	prompt   elements.Node
	budget   int
	newest   int // most tokens of the newest round's results, 0 for no bound
	messages int // number of messages before
	mustFit  bool
}

// afterwards calls AfterCompact and asks for the title. The title delays nothing; AfterCompact delays nothing if the
// compaction was made in the background.
func (c *carrier) afterwards(ctx context.Context, j *job, d draft, e entry.Entry, m entry.Compaction) {
	after := func(ctx context.Context) {
		if c.hooks.AfterCompact != nil {
			hook(ctx, c.hooks, c.emit, "AfterCompact", noResult(func(ctx context.Context) error { return c.hooks.AfterCompact(ctx, e) }))
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
	c.spawn(func(ctx context.Context) {
		if j.plan.Background {
			after(ctx)
		}
		if d.prompt.Title == nil {
			return
		}
		err := c.title(ctx, j, d, e.ID)
		if wrong, ok := errors.AsType[*CallbackError](err); ok {
			c.emit(ctx, Event{Kind: EventHookFailed, Plan: j.id, Hook: "Prompt.Title", Err: wrong})
		}
	})
}

// title asks for the title of a compaction, and labels the compaction with it.
func (c *carrier) title(ctx context.Context, j *job, d draft, id string) error {
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
	w := &writer{job: j, session: c.session, candidates: candidates, emit: func(EventKind, func(*Event)) {}}
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
		if _, err := c.session.Add(ctx, entry.Entry{Body: entry.Label{Target: id, Text: text}}); err != nil {
			return err
		}
		e := j.event(EventTitled)
		e.Title, e.Entry = text, id
		c.emit(ctx, e)
		return nil
	}
	return nil
}

// compact makes a compaction before the prompt is returned, for which it waits up to a limit.
func (w *walker) compact(s *measured, d Decision, limit time.Duration) error {
	c := w.c.carrier()
	if err := c.abandon(w.ctx, &w.c.inner.work); err != nil {
		return err
	}
	id, err := w.writePlan(s, d)
	if err != nil {
		return &FailedError{Budget: s.over, Reasons: []error{err}}
	}
	o := order{id: id, policy: w.policy, agent: w.target, target: w.target, willRetry: w.willRetry, cold: s.Cold}
	if s.Pause.active(s.Time) && s.Occasion != OnDemand { // nothing can be sent without a summary
		o.policy.Ask.Attempts = 1
	}
	if w.summarizer != nil {
		o.agent = *w.summarizer
	}
	if err = w.await(s, w.launch(o), limit); err == nil {
		_, err = w.settle(s, true, true)
	}
	if failed, ok := errors.AsType[*FailedError](err); ok {
		failed.Budget = s.over
	}
	return err
}

// CarryOut carries out a plan of the session, made by this compactor or another: it asks models and puts the compaction
// in place. It is for your own [Runner]. It returns once the hook after the compaction and the request for its title
// have ended. The error is [ErrPlanEnded] if the plan is not pending, and [ErrBusy] if it is being carried out already,
// by this process or by one with a lease ([history.Session.Claim]). Any other error says how the plan failed, which the
// session records too.
//
// If the context ends, or an attempt fails for a reason that may pass, retry reports whether there will be another
// attempt, here or elsewhere. If so, the plan stays pending, and the session keeps the summaries of pieces, and the
// limits that refusals taught, for the next attempt. If retry is nil, there is no other attempt.
func (c *Compactor) CarryOut(ctx context.Context, plan string, retry func(err error) bool) error {
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
	carrier.spawn = func(f func(context.Context)) bool { f(ctx); return true } // in this goroutine
	ctx, end := c.trace(ctx, Work{Kind: WorkCompaction, Plan: plan})
	err = carrier.run(ctx, order{id: plan, policy: w.policy, agent: w.target, target: w.target, otherProcess: true, retry: retry}, func(ctx context.Context, j *job, wr *writer, d draft) error {
		if err := c.Session.Refresh(ctx); err != nil { // another process may have ended the plan
			return err
		}
		return carrier.place(ctx, j, wr, d, nil)
	})
	end(nil, err)
	return err
}
