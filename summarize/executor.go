package summarize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/internal/place"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/internal/write"
	"github.com/promptree-go/promptree/summarize/policy"
)

// errSaidMeanwhile reports that the prompt does not fit after a compaction because of messages that were appended while
// it was made.
var errSaidMeanwhile = errors.New("summarize: the session was compacted, but the messages said meanwhile do not fit")

// writePlan plans a compaction and writes the plan to the session. It returns the id of the plan's entry.
func (w *walker) writePlan(ctx context.Context, s *plan.Rendered, d policy.Decision) (id string, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			w.c.emit(ctx, event.Event{
				Kind: event.Failed, Reason: s.Occasion, Background: d.Do == policy.ActStart,
				Size: event.Size{TokensBefore: s.PromptTokens(), Base: s.Base}, Err: err,
			})
		}
	}()
	if w.c.Session.ReadOnly() {
		return "", fmt.Errorf("%w: %w", failure.ErrUnwritten, storage.ErrReadOnly)
	}
	m, err := w.planner(ctx)
	if err != nil {
		return "", err
	}
	at := s
	if s.Cleared != nil {
		at, m.Clear = s.Cleared, s.Clearing
	}
	planned, err := m.Plan(ctx, w.prompt, at, d, w.instructions)
	planned.Used, planned.TokensBefore = s.Used, s.PromptTokens()
	if err != nil {
		if s.Sendable && ctx.Err() == nil && s.Occasion != policy.OnDemand {
			_, unwritten := w.c.journal().Write(ctx, entry.PlanEnd{
				Outcome: entry.PlanFailed, Error: err.Error(), ErrorType: failure.Type(err), Model: w.target.Name, Server: plan.Server(w.target), Used: s.Used,
			})
			err = errors.Join(err, unwritten)
		}
		return "", err
	}
	if id, err = w.c.journal().Plan(ctx, m.Ledger.Pending, planned.Preamble, planned.Plan); err != nil {
		return "", err
	}
	w.c.emit(ctx, event.Event{
		Kind: event.Started, Plan: id, Reason: s.Occasion, Why: d.Why, Background: planned.Background, WillRetry: w.willRetry,
		Coverage: event.Coverage{Covered: planned.Covered, Kept: planned.Kept, Over: planned.Over},
		Size: event.Size{
			MessagesBefore: len(s.PromptMessages()), TokensBefore: s.PromptTokens(), Base: s.Base,
			Breakdown: s.Breakdown(ctx, w.target),
		},
	})
	return id, nil
}

// placer returns what puts summaries in place.
func (c *Compactor) placer() *place.Placer {
	return &place.Placer{Journal: c.journal(), Checkpoints: c.Checkpoints, Timeout: c.Hooks.timeout(), Emit: c.emit}
}

// order is a plan to run.
type order struct {
	id        string         // the plan's entry
	policy    policy.Policy  // with defaults
	agent     policy.Target  // its model is asked if the policy names no other
	target    policy.Target  // the prompt is for it
	sent      []chat.Message // the agent's request, for a fork of its cached prefix
	willRetry bool           // the agent's request is sent again afterwards

	late         *atomic.Bool                // a prompt waited for it in vain, so it ends with its next part, to put that in place; nil if it never does
	background   bool                        // no prompt waits for it
	otherProcess bool                        // another process sent the prompt
	cold         bool                        // the cache holds nothing of the prompt
	retry        func(error, time.Time) bool // reports whether there will be another attempt; nil means no
}

// claimLimit is the longest time that a plan is claimed for; a claim ends with its work.
const claimLimit = 24 * time.Hour

// longestRequest is the longest time limit of a request for a summary without which nothing can be sent.
const longestRequest = 30 * time.Minute

// run has the summary of a plan written. The claim on the plan is held until [Compactor.failed], or the caller, releases
// it.
func (c *Compactor) run(ctx context.Context, o order) (d write.Written, err error) {
	claimed, err := c.Session.Claim(ctx, o.id, claimLimit)
	if err != nil {
		return d, c.failed(ctx, o, d, err)
	} else if !claimed {
		return d, ErrBusy
	}
	watched, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var reasons []error
	err = callback.Do(context.WithoutCancel(ctx), func(context.Context) error {
		d, reasons = c.summarise(watched, stop, o)
		return nil
	})
	if err != nil { // code of ours panicked
		reasons = []error{guard.Failed("the compaction", err)}
	}
	if len(reasons) == 0 {
		return d, nil
	}
	if cause := context.Cause(watched); cause != nil && ctx.Err() == nil && !errors.Is(errors.Join(reasons...), cause) {
		reasons = append(reasons, cause)
	}
	return d, c.failed(ctx, o, write.Written{Attempt: d.Attempt, Writer: d.Writer}, reasons...)
}

// failed ends an attempt at a plan that made no compaction, and returns why.
func (c *Compactor) failed(ctx context.Context, o order, d write.Written, reasons ...error) error {
	why := &FailedError{Reasons: reasons}
	again := false
	if o.retry != nil && (ctx.Err() != nil || mayPass(reasons)) {
		var until time.Time // zero if it is not pending
		if l, err := c.read(context.WithoutCancel(ctx)); err == nil && l.Pending != nil && l.Pending.ID == o.id {
			until = l.Pending.Until
		}
		again = o.retry(why, until)
	}
	c.placer().Conclude(ctx, o.id, d, reasons, again)
	c.Session.Release(o.id)
	return why
}

// mayPass reports whether another attempt at a plan may succeed: a model may answer then, or the session may be read
// and written.
func mayPass(reasons []error) bool {
	passes := false
	for _, err := range reasons {
		_, refused := errors.AsType[*policy.SummaryError](err)
		_, wrong := errors.AsType[*chat.CallbackError](err)
		_, transient := errors.AsType[*chat.TransientError](err)
		_, large := ContextLimit(err)
		switch {
		case failure.BoundaryGone(err), errors.Is(err, ErrPlanEnded), errors.Is(err, ErrVetoed):
			return false
		case refused, wrong, large, errors.Is(err, failure.ErrNobodyToAsk), refusal.Status(err)/100 == 4 && !transient:
		default:
			passes = true
		}
	}
	return passes
}

// summarise opens an attempt at a plan, calls its hooks and has the summary written. It stops the context if no request
// ends within twice its time limit.
func (c *Compactor) summarise(ctx context.Context, stop context.CancelCauseFunc, o order) (d write.Written, reasons []error) {
	most := 2 * o.policy.Ask.Timeout
	watch := time.AfterFunc(most, func() { stop(&policy.TimeoutError{Name: "the compaction", After: most}) })
	defer watch.Stop()
	l, err := c.read(ctx)
	if err != nil {
		return write.Written{}, []error{err}
	}
	m := plan.Planner{Session: c.Session, Target: o.target, Policy: o.policy, Options: c.Options, Ledger: l}
	j, err := write.Open(ctx, c.Session, o.id, l, o.policy, o.target, m.Sizing())
	if err != nil {
		return write.Written{}, []error{err}
	}
	if j.WillRetry = o.willRetry; !o.agent.Shape.Forces() { // else a request that continues the agent's is answered in its form
		j.Material.Sent = o.sent
	}
	w, err := c.writer(ctx, o, l, j)
	if err != nil {
		return write.Written{Attempt: j}, []error{err}
	}
	goesOn := l.Pending != nil && l.Pending.Moves // prompts wait for its next part too
	parts := o.late != nil && plan.PlacesParts(o.policy, policy.Occasion(j.Plan.Occasion))
	w.Keep = func(ctx context.Context, a entry.SummaryAnswer) error {
		err := c.journal().Keep(ctx, o.id, a)
		if err == nil && parts && a.From == "" && (o.late.Load() || goesOn) {
			err = failure.ErrPart
		}
		if errors.Is(err, failure.ErrPart) || errors.Is(err, failure.ErrPlanEnded) || failure.BoundaryGone(err) {
			stop(err)
		}
		return err
	}
	most = 2 * w.Last
	watch.Reset(most)
	w.Ended = func() { watch.Reset(most) }
	got, err := c.runBefore(ctx, j)
	if err != nil {
		return write.Written{Attempt: j, Writer: w}, []error{err}
	}
	prompts := write.PromptsOf(o.policy.Ask.Prompts, j.Plan)
	if len(got.Prompts) > 0 {
		prompts = got.Prompts
	}
	if got.Summary == nil {
		d, reasons = w.Write(ctx, prompts)
	} else {
		by := entry.Compaction{Summary: *got.Summary, FirstKept: got.FirstKept, Title: got.Title, TokensBefore: max(0, got.TokensBefore)}
		if d, err = j.UseSupplied(ctx, by); err != nil {
			reasons = []error{err}
		}
	}
	d.Attempt, d.Writer = j, w
	return d, reasons
}

// writer returns what asks for the summary of an attempt: whom it asks, and how far the attempts before it came.
func (c *Compactor) writer(ctx context.Context, o order, l *journal.Ledger, j *write.Attempt) (*write.Writer, error) {
	candidates, err := write.Candidates(ctx, c.Models, o.agent, o.policy, l, c.emit)
	if err != nil {
		return nil, err
	}
	if o.policy.Ask.Cheapest {
		forks := len(j.Material.Sent) > 0 && o.policy.Ask.Prompts[0].Forks && (j.Plan.Background || !o.policy.Ask.Prompts[0].Background)
		write.SortByPrice(candidates, plan.PricesFor(o.policy, o.agent), sizing.Carry{Input: j.Plan.TokensBefore, Summary: j.Plan.Room, Cold: o.cold}, forks)
	}
	failed := l.Of(j.Plan.Model, j.Plan.Server).Failed
	w := &write.Writer{
		Attempt: j, Candidates: candidates, OtherProcess: o.otherProcess, Parts: l.Parts(j.Plan.Instructions), Last: o.policy.Ask.Timeout,
		Halved: min(write.MaxHalved, failed.Halved), Failures: failed.Failures(), OneWay: failed.Tokens > 0, Session: c.Session,
		Emit: func(kind event.Kind, change func(*event.Event)) {
			e := j.Event(kind)
			e.Calls, e.Usage = 0, chat.Usage{}
			change(&e)
			c.emit(ctx, e)
		},
	}
	if o.policy.Overflow.LastResort == policy.ResortError && j.Plan.Occasion == string(policy.OnBudgetExceeded) {
		w.Last = max(w.Last, min(longestRequest, w.Last<<min(10, w.Failures)))
	}
	return w, nil
}

// place puts a summary in place, for a prompt unless at is nil, and releases the claim on its plan.
func (c *Compactor) place(ctx context.Context, d write.Written, at *place.Prompt, spawn func(func(context.Context)) bool) error {
	e, err := c.placer().Place(ctx, d, at)
	if err == nil {
		c.afterwards(ctx, d, e, spawn)
		c.Session.Release(d.Attempt.ID)
	}
	return err
}

// atOnce returns what runs a function before it returns.
func atOnce(ctx context.Context) func(func(context.Context)) bool {
	return func(f func(context.Context)) bool { f(ctx); return true }
}

// afterwards calls AfterCompact and asks for the title. The title delays nothing; AfterCompact delays nothing if the
// compaction was made in the background: spawn runs what may take a while.
func (c *Compactor) afterwards(ctx context.Context, d write.Written, e entry.Entry, spawn func(func(context.Context)) bool) {
	after := func(ctx context.Context) {
		if c.Hooks.AfterCompact != nil {
			hook(ctx, c, "AfterCompact", noResult(func(ctx context.Context) error { return c.Hooks.AfterCompact(ctx, e) }))
		}
	}
	if !d.Attempt.Plan.Background {
		after(ctx)
		after = func(context.Context) {}
	}
	spawn(func(ctx context.Context) {
		after(ctx)
		if d.Prompt.Title == nil {
			return
		}
		err := c.title(ctx, d, e.ID)
		if wrong, ok := errors.AsType[*chat.CallbackError](err); ok {
			c.emit(ctx, event.Event{Kind: event.HookFailed, Plan: d.Attempt.ID, Function: "Prompt.Title", Err: wrong})
		}
	})
}

// title asks the model of a compaction for its title, without what the request for the summary left out, and labels the
// compaction with it.
func (c *Compactor) title(ctx context.Context, d write.Written, id string) error {
	j := d.Attempt
	w := &write.Writer{Attempt: j, Session: c.Session, Candidates: d.Writer.Candidates, Emit: func(event.Kind, func(*event.Event)) {}}
	at := slices.IndexFunc(w.Candidates, func(one *write.Candidate) bool { return one.Name == d.Model })
	if at < 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(j.Policy.Ask.Timeout, 30*time.Second))
	defer cancel()
	text, err := w.Title(ctx, w.Candidates[at], d.Prompt, d.Text)
	if text = plaintext.OneLine(text, 200); err != nil || text == "" {
		return err
	}
	if written, err := c.journal().Label(ctx, entry.Label{Target: id, Text: text}); !written {
		return err
	}
	e := j.Event(event.Titled)
	e.Title, e.Entry = text, id
	c.emit(ctx, e)
	return nil
}

// compact makes a compaction before the prompt is returned: it starts one, and waits for it as long as the prompt may.
func (w *walker) compact(ctx context.Context, s *plan.Rendered, d policy.Decision) error {
	if err := w.c.abandon(ctx); err != nil {
		return err
	}
	id, err := w.writePlan(ctx, s, d)
	if err != nil {
		return &FailedError{Budget: s.Over, Reasons: []error{err}}
	}
	o := order{id: id, policy: w.policy, agent: w.target, target: w.target, willRetry: w.willRetry, cold: s.Cold}
	if w.summarizer != nil {
		o.agent = *w.summarizer
	}
	if err = w.await(ctx, s, w.launch(ctx, o)); err == nil {
		_, err = w.settle(ctx, s, true, d.Do != policy.ActPart)
	}
	if failed, ok := errors.AsType[*FailedError](err); ok {
		failed.Budget = s.Over
	}
	return err
}

// RunPlan runs a plan of the session, made by this compactor or another: it asks models and puts the compaction in
// place. It is for your own [Runner]. It returns once the hook after the compaction and the request for its title have
// ended. The error is [ErrPlanEnded] if the plan is not pending, and [ErrBusy] if it is running already, by this
// process or by one with a lease ([history.Session.Claim]). Any other error says how the plan failed, which the session
// records too.
//
// If the context ends, or an attempt fails for a reason that may pass, retry reports whether there will be another
// attempt, here or elsewhere. It is told when the plan expires: each answer for a part extends that. If so, the plan
// stays pending, and the session keeps the summaries of segments, and the limits that refusals taught, for the next
// attempt. If retry is nil, there is no other attempt.
func (c *Compactor) RunPlan(ctx context.Context, plan string, retry func(err error, until time.Time) bool) error {
	w, ctx, err := c.begin(ctx, nil)
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
	ctx, end := c.inner.observers.start(ctx, Work{Kind: WorkCompaction, Plan: plan})
	o := order{id: plan, policy: w.policy, agent: w.target, target: w.target, otherProcess: true, retry: retry}
	d, err := c.run(ctx, o)
	if err == nil {
		if err = c.Session.Refresh(ctx); err == nil { // another process may have ended the plan
			err = c.place(ctx, d, nil, atOnce(ctx))
		}
		if err != nil {
			err = c.failed(ctx, o, d, err)
		}
	}
	end(nil, err)
	return err
}
