package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Compactor renders prompts that show a session, and compacts the session as its policy says. Set the fields before the
// first use; after that it is safe for concurrent use. Close it after use, because its policy may work in the
// background.
//
// Its decisions do not depend on the process: another compactor with the same session, prompt and policy decides the
// same.
type Compactor struct {
	// Session that the prompt's history elements show. The compactor does not close it.
	Session *history.Session
	// Target is the agent's model and the limits of its prompts. The model is asked for summaries too if the policy
	// names no other.
	Target policy.Target
	// Policy says when and how to compact.
	Policy policy.Policy
	// Models that the policy may ask for summaries, by name.
	Models map[string]policy.Target
	// Options for rendering the prompt, such as a low water mark. Budget and Tokenizer are the target's.
	Options render.Options
	// Hooks are called around compactions. None by default.
	Hooks Hooks
	// Runner runs the plans of compactions in the background. Defaults to a goroutine that the compactor owns.
	Runner Runner
	// Checkpoints is the folder that summaries are written to. None by default.
	Checkpoints *checkpoints.Folder
	// Observers hear of the compactor's work. None by default.
	Observers []Observer

	inner inner
}

// inner is the internal state of a compactor.
type inner struct {
	once       sync.Once
	compacting chan struct{}                     // full while a compaction is made, one at a time
	holder     atomic.Pointer[callback.Activity] // of the call that is compacting
	observers  *observers
	work       work
	noted      sync.Map    // the notes of targets that were said
	warned     atomic.Bool // that what cannot be compacted nears the limit

	mu      sync.Mutex       // guards the fields below
	prompt  elements.Node    // the last that was rendered
	target  *policy.Target   // after a switch of model; nil before
	journal *journal.Journal // of the session
	last    policy.Explanation
	sent    sent
}

// sent is the last prompt that was returned.
type sent struct {
	result     *render.Result
	measuredAt time.Time
	tokens     int    // with its tools
	bytes      int    // of the request's body, about
	newest     string // the newest entry that it showed
	leaf       string // the session's leaf then
}

func (c *Compactor) init() {
	c.inner.once.Do(func() {
		c.inner.compacting = make(chan struct{}, 1)
		c.inner.work.ends = map[*context.CancelCauseFunc]bool{}
		c.inner.work.open, c.inner.work.shut = context.WithCancelCause(context.Background())
		c.inner.observers = newObservers(c.Observers, func(e event.Event) event.Event {
			e.Policy, e.Session = c.Policy.Name, c.Session.Header().ID
			return e
		})
	})
}

// emit passes an event to the observers.
func (c *Compactor) emit(ctx context.Context, e event.Event) {
	if len(c.Observers) > 0 {
		e.Err = c.Session.Redacted(ctx, e.Err)
		c.inner.observers.event(ctx, e)
	}
}

// Render renders a prompt, and compacts the session if the policy says so.
//
// Only offered pieces are pruned: a piece is offered if it, or an element around it, has a priority and neither is
// required. Then the policy decides by the measurement ([policy.Policy.Decide]):
//
//   - A summary that was made in the background is put in place, or thrown away.
//   - Old tool output is cleared, if the policy does so and that suffices or the prompt does not fit, and the prompt is
//     measured again.
//   - The session is compacted before the prompt is returned, or a summary is started in the background.
//   - If the prompt does not fit, Render waits for a summary that is being made.
//
// A compaction has these steps:
//
//  1. Plan: the compactor chooses the cut and the room of the summary, by trying whether the prompt would fit. The plan
//     is an entry of the session ([entry.Plan]).
//  2. Summarise: models are asked, in segments if the history is larger than they take in. A summary that is too long is
//     shortened.
//  3. Place: the prompt is rendered with the summary. If it fits, the compaction is written to the session. How the
//     plan ended is an entry too ([entry.PlanEnd]).
//
// If the prompt still does not fit, the policy's last resort is taken ([policy.Overflow]). By default it is to return a
// [*FailedError], in which errors.AsType finds the [*render.BudgetExceededError]. If the prompt fits, only events
// report a failed compaction, and it is not tried again before a pause is over: after one accepted request after the
// first failure, and twice as many after each further one ([entry.Remembered]), and after ten minutes, or one if the prompt
// does not fit.
//
// If the context ends, the error wraps its cause, and a summary that is being made is still made. If one of the caller's
// functions has not returned, a [*chat.CallbackError] around the cause names it; if Render was waiting for a summary or
// another call, the error says so.
func (c *Compactor) Render(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	w, ctx, err := c.begin(ctx, prompt)
	if err != nil {
		return nil, err
	}
	defer w.release()
	return w.walk(ctx, policy.OnRender)
}

// begin checks the fields and records the prompt. It returns the context of the call.
func (c *Compactor) begin(ctx context.Context, prompt elements.Node) (*walker, context.Context, error) {
	if c.Session == nil {
		return nil, nil, errNoSession
	}
	c.init()
	target := c.Current()
	c.noted(ctx, target)
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	if err := errors.Join(checkTarget(target), c.Policy.Validate()); err != nil {
		return nil, nil, err
	}
	if c.inner.work.open.Err() != nil {
		return nil, nil, ErrCompactorClosed
	}
	if prompt != nil {
		c.inner.prompt = prompt
	}
	ctx, running := callback.WithActivity(ctx)
	return &walker{c: c, activity: running, prompt: prompt, target: target, policy: plan.Complete(c.Policy)}, ctx, nil
}

// Current returns the target that prompts are made for: [Compactor.Target], or that of the newest switch.
func (c *Compactor) Current() policy.Target {
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	if c.inner.target != nil {
		return *c.inner.target
	}
	return c.Target
}

// journal returns the journal of the session.
func (c *Compactor) journal() *journal.Journal {
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	if j := c.inner.journal; j == nil || j.Session != c.Session {
		c.inner.journal = &journal.Journal{Session: c.Session}
	}
	return c.inner.journal
}

var errNoSession = errors.New("summarize: Compactor.Session is not set: set the session that the prompt shows")

// read returns what the session says about compaction.
func (c *Compactor) read(ctx context.Context) (*journal.Ledger, error) {
	if c.Session == nil {
		return nil, errNoSession
	}
	return c.journal().Read(ctx)
}

// walker takes one call of the compactor through its steps.
type walker struct {
	c            *Compactor
	activity     *callback.Activity // of the call
	prompt       elements.Node
	target       policy.Target
	policy       policy.Policy // with defaults
	acquired     bool          // whether this call is the one that may compact
	afterTurn    bool          // nobody sends the prompt: this is AfterTurn
	alone        bool          // the prompt is the history alone, and nobody sends it
	running      bool          // a task, when the ledger was read
	spare        int           // tokens that what stands beside the history needs, 0 if that is not known; only if alone
	most         int           // tokens of the prompt and its tools, 0 for no bound but the budget
	mostBytes    int           // of the request's body, 0 for no bound but what is known
	willRetry    bool          // the request is sent again afterwards
	instructions string
	summarizer   *policy.Target // the model to ask for summaries; nil for the target's
	progress
}

// progress records what a walk has done so far.
type progress struct {
	owns      bool          // the compaction ends with this call
	waited    bool          // for the pending compaction
	until     time.Time     // when to stop waiting; zero before the first wait
	patient   time.Duration // how long to wait in all
	explained bool          // a decision was explained
	tried     bool          // to compact, with or without success
	parted    bool          // to put a part of a summary in place
	again     bool          // to compact anew after an erasure
	succeeded bool          // the session was compacted
	failure   error         // of the newest attempt to compact
}

// acquire waits for the compaction that another call makes, if there is one, and keeps other calls from compacting
// until release.
func (w *walker) acquire(ctx context.Context) error {
	if w.acquired || w.tryAcquire() {
		return nil
	}
	select {
	case w.c.inner.compacting <- struct{}{}:
		w.setAcquired()
		return nil
	case <-ctx.Done():
		return guard.WaitError(ctx, w.c.inner.holder.Load(), "the compaction that another call makes")
	}
}

// tryAcquire acquires without waiting, and reports whether it succeeded: it does not if another call is compacting.
func (w *walker) tryAcquire() bool {
	select {
	case w.c.inner.compacting <- struct{}{}:
		w.setAcquired()
		return true
	default:
		return false
	}
}

func (w *walker) setAcquired() {
	w.acquired = true
	w.c.inner.holder.Store(w.activity)
}

func (w *walker) release() {
	if w.acquired {
		w.acquired = false
		w.c.inner.holder.Store(nil)
		<-w.c.inner.compacting
	}
}

// planner returns a planner of the session as it is now.
func (w *walker) planner(ctx context.Context) (*plan.Planner, error) {
	t, _ := w.c.inner.work.current()
	w.running = t != nil
	l, err := w.c.read(ctx)
	if err != nil {
		return nil, err
	}
	now, err := w.c.Session.Now(ctx)
	if err != nil {
		return nil, err
	}
	target := w.target
	target.Prices = plan.PricesFor(w.policy, target)
	p := &plan.Planner{
		Session: w.c.Session, Target: target, Policy: w.policy, Options: w.c.Options, Ledger: l, Now: now, Most: w.most, MostBytes: w.mostBytes, Models: w.c.Models,
	}
	if w.alone {
		p.Spare = cmp.Or(w.spare, target.Budget/2)
	}
	return p, nil
}

func (w *walker) measure(ctx context.Context, on policy.Occasion) (*plan.Rendered, error) {
	m, err := w.planner(ctx)
	if err != nil {
		return nil, err
	}
	return w.measureBy(ctx, m, on)
}

func (w *walker) measureBy(ctx context.Context, m *plan.Planner, on policy.Occasion) (*plan.Rendered, error) {
	s, err := m.Measure(ctx, w.prompt, on)
	if err != nil {
		return nil, err
	}
	if s.Pending, s.Tried = w.c.pending(ctx, m.Ledger), w.tried; w.running && s.Pending == policy.PendingNone {
		s.Pending = policy.PendingRunning // it ended since, and the ledger lacks what it answered
	}
	if w.parted {
		s.Part = 0
	}
	moves := m.Ledger.Pending != nil && m.Ledger.Pending.Moves // and each render waits for it
	t, _ := w.c.inner.work.current()
	s.Waited = w.waited || s.Sendable && !moves && t != nil && t.waited.Load()
	return s, nil
}

// decide measures the prompt and decides. A clearing that a condition asks for is made if no condition holds after it.
// Otherwise the decision is that after it, and a compaction writes the clearing too.
func (w *walker) decide(ctx context.Context, on policy.Occasion) (*plan.Rendered, policy.Decision, error) {
	m, err := w.planner(ctx)
	if err != nil {
		return nil, policy.Decision{}, err
	}
	s, err := w.measureBy(ctx, m, on)
	if err != nil {
		return nil, policy.Decision{}, err
	}
	d := w.policy.Decide(s.Measurement)
	if c := w.policy.Clear; d.Do != policy.ActClear || !s.Fits || c.Always || c.CostFactor > 0 {
		return s, d, nil
	}
	if s.Clearing, err = m.Clearing(ctx, s); err != nil {
		return nil, policy.Decision{}, err
	}
	m.Clear = s.Clearing
	after, err := w.measureBy(ctx, m, on)
	if err != nil {
		return nil, policy.Decision{}, err
	}
	if then := w.policy.Decide(after.Measurement); then.Held >= 0 {
		s.Cleared, d = after, then
	}
	return s, d, nil
}

// walk repeats the steps until the prompt can be returned.
func (w *walker) walk(ctx context.Context, on policy.Occasion) (result *render.Result, err error) {
	ctx, end := w.c.inner.observers.start(ctx, Work{Kind: WorkRender, Reason: on})
	defer func() { err = w.c.Session.Redacted(ctx, err); end(result, err) }()
	if err := w.preview(ctx, on); err != nil {
		return nil, err
	}
	for {
		s, d, err := w.decide(ctx, on)
		if err != nil {
			return nil, err
		}
		if d.Do == policy.ActStart || d.Do == policy.ActCompact { // nobody pays for a summary that is not shown
			if err := s.Shown.CheckSummaries(); err != nil {
				return nil, err
			}
		}
		if d.Do == policy.ActStart {
			w.start(ctx, s, d)
			return w.finish(ctx, s, s.Failure())
		}
		if d.Do != policy.ActNothing && !w.acquired { // another call may change what was measured
			if err := w.acquire(ctx); err != nil {
				return nil, err
			}
			continue
		}
		switch d.Do {
		case policy.ActPlace, policy.ActDiscard:
			placed, err := w.settle(ctx, s, d.Do == policy.ActPlace, false)
			outcome := outcomeDiscarded
			if placed {
				outcome, w.succeeded = outcomePlaced, true
			}
			w.explain(ctx, d, outcome, err)
		case policy.ActClear:
			if err := w.clear(ctx, s, d.Why); err != nil {
				w.explain(ctx, d, outcomeFailed, err)
				w.policy.Clear = policy.Clear{} // go on without clearing
				continue
			}
			w.explain(ctx, d, outcomeCleared, nil)
		case policy.ActWait:
			w.explain(ctx, d, outcomeWaiting, nil)
			err := w.wait(ctx, s, d)
			if err != nil && (ctx.Err() != nil || errors.Is(err, ErrAborted) || errors.Is(err, ErrCompactorClosed)) {
				return nil, err
			}
			if w.failure = err; errors.Is(err, failure.ErrPart) {
				w.failure, w.waited = nil, false
			}
		case policy.ActCompact, policy.ActPart:
			err := w.compact(ctx, s, d)
			if w.afterTurn { // it waits for one summary
				w.until = time.Now()
			}
			if err != nil && (ctx.Err() != nil || !s.Fits && (errors.Is(err, ErrAborted) || errors.Is(err, ErrCompactorClosed))) {
				return nil, err
			}
			if errors.Is(err, failure.ErrPart) { // it goes on from the part
				continue
			}
			if errors.Is(err, ErrPlanEnded) && !w.again { // something was erased
				w.again = true
				continue
			}
			part := d.Do == policy.ActPart
			if w.tried, w.waited = w.tried || !part, true; err != nil {
				w.failure, w.parted = err, w.parted || part
				w.explain(ctx, d, outcomeOfError(err), err)
				continue
			}
			w.succeeded = true
			w.explain(ctx, d, outcomePlaced, nil)
		default:
			if !w.explained { // an earlier action explains more than nothing does
				w.explain(ctx, d, outcomeNothing, nil)
			}
			return w.finish(ctx, s, w.why(s, d))
		}
	}
}

// why returns the error of a prompt for which nothing more is done: why no compaction made it fit, nil if it fits and none
// failed.
func (w *walker) why(s *plan.Rendered, d policy.Decision) error {
	failed := func(reason error) error { return &FailedError{Budget: s.Over, Reasons: []error{reason}} }
	switch {
	case w.failure != nil:
		return w.failure
	case s.Fits:
	case !s.Sendable && s.Pause.Active(s.Time):
		return failed(fmt.Errorf("summarize: compaction is %v", s.Pause))
	case s.ReadOnly && !w.policy.Off:
		return failed(fmt.Errorf("%w: %w", failure.ErrUnwritten, storage.ErrReadOnly))
	case w.succeeded && w.tried:
		return failed(errSaidMeanwhile)
	case d.Held < 0 && w.policy.Trigger.AtLimit(s.Measurement) && !w.policy.Off:
		return failed(ErrNothingToCompact)
	}
	return s.Failure()
}

// finish returns the prompt, or the result of the last resort if it does not fit. Why is the error to return if that
// fails.
func (w *walker) finish(ctx context.Context, s *plan.Rendered, why error) (result *render.Result, err error) {
	if s.Over != nil {
		if w.afterTurn {
			return nil, why
		}
		if s.Result, err = w.resort(ctx, s, why); err != nil {
			return nil, err
		}
	}
	if s.Fits && !plan.FromUser(s.Result.Messages) && len(s.Result.Report().Dropped()) > 0 {
		return nil, ErrNoUserMessage
	}
	return w.recordSent(ctx, s), nil
}

func outcomeOfError(err error) string {
	if _, pending := errors.AsType[*PendingError](err); pending {
		return outcomeWaiting
	}
	if errors.Is(err, ErrVetoed) {
		return outcomeVetoed
	}
	return outcomeFailed
}

// recordSent reports the size of a prompt to observers and records the prompt as the last one.
func (w *walker) recordSent(ctx context.Context, s *plan.Rendered) *render.Result {
	if !w.afterTurn && !w.alone {
		w.c.inner.mu.Lock()
		w.c.inner.sent = sent{result: s.Result, measuredAt: s.Time, tokens: s.Result.Tokens + s.Size.Tools, bytes: s.Bytes, newest: s.View.Newest(), leaf: s.View.Leaf()}
		w.c.inner.mu.Unlock()
		if s.Broken != (event.CacheBreak{}) && s.Fits && w.target.Prices != (sizing.Prices{}) {
			w.c.emit(ctx, event.Event{Kind: event.CacheBroken, Reason: s.Occasion, Why: s.Broken.Why(), Break: s.Broken})
		}
	}
	if len(w.c.Observers) > 0 {
		b := plan.Breakdown(ctx, w.target, s.Result)
		w.warn(ctx, s, b)
		w.c.emit(ctx, event.Event{
			Kind: event.Usage, Reason: s.Occasion,
			Size: event.Size{
				Compacted: len(s.View.Compacted) > 0, Breakdown: b,
				MessagesAfter: len(s.Result.Messages), TokensAfter: s.Result.Tokens, Base: s.Base, Bytes: s.Bytes, MaxBytes: s.MaxBytes,
			},
		})
	}
	return s.Result
}

// Breakdown returns where the tokens of the last prompt are, with the tools that are declared beside it: what fills the
// window of the running session. It is zero before the first prompt, and if the tokenizer fails. [render.Result.Report]
// lists the pieces, each with its category. The bytes of the request are in [Compactor.Explain] and in [event.Usage].
func (c *Compactor) Breakdown(ctx context.Context) render.Breakdown {
	last := c.lastSent().result
	if last == nil {
		return render.Breakdown{}
	}
	return plan.Breakdown(ctx, c.Current(), last)
}

// The outcomes of decisions ([policy.Explanation]).
const (
	outcomeNothing   = "nothing"
	outcomeCleared   = "cleared"
	outcomeStarted   = "started"
	outcomeWaiting   = "waiting"
	outcomePlaced    = "placed"
	outcomeFailed    = "failed"
	outcomeVetoed    = "vetoed"
	outcomeDiscarded = "discarded"
)

// explain records a decision with its outcome for [Compactor.Explain].
func (w *walker) explain(ctx context.Context, d policy.Decision, o string, err error) {
	w.explained = true
	e := policy.Explanation{Decision: d, Outcome: o}
	if err = w.c.Session.Redacted(ctx, err); err != nil {
		e.Err = err.Error()
	}
	w.c.inner.mu.Lock()
	defer w.c.inner.mu.Unlock()
	w.c.inner.last = e
}

// clear writes a clearing of old tool output to the session, for a reason in words.
func (w *walker) clear(ctx context.Context, s *plan.Rendered, why string) error {
	m, err := w.planner(ctx)
	if err != nil {
		return err
	}
	clearing, err := m.Clearing(ctx, s)
	if err != nil || len(clearing.Results)+len(clearing.Arguments) == 0 {
		return err
	}
	return w.writeClearing(ctx, clearing, s.Occasion, why, event.Size{
		TokensBefore: s.PromptTokens(), TokensAfter: s.PromptTokens() - clearing.Saved,
		MessagesBefore: len(s.PromptMessages()), MessagesAfter: len(s.PromptMessages()), Base: s.Base,
	})
}

func (w *walker) writeClearing(ctx context.Context, c entry.Clearing, on policy.Occasion, why string, size event.Size) error {
	e, err := w.c.journal().Write(ctx, c)
	if err != nil {
		w.c.emit(ctx, event.Event{Kind: event.Failed, Reason: on, Err: err})
		return err
	}
	w.c.emit(ctx, event.Event{Kind: event.Cleared, Reason: on, Why: why, Written: event.Written{Entry: e.ID}, Size: size})
	return nil
}

// preview writes previews of large new tool output to the session. If that fails, the prompt shows the output.
func (w *walker) preview(ctx context.Context, on policy.Occasion) error {
	rule := w.policy.Clear.Preview
	if rule.Above <= 0 || w.policy.Off || w.c.Session.ReadOnly() {
		return nil
	}
	for {
		view, err := w.c.Session.View(ctx)
		if err != nil {
			return err
		}
		c, err := guard.Value(ctx, guard.NameTokenizer, func() entry.Clearing {
			c, _ := rule.Find(view, w.target.Tokenizer)
			return c
		})
		if err != nil || len(c.Results) == 0 {
			return err
		}
		if w.acquired {
			_ = w.writeClearing(ctx, c, on, "", event.Size{TokensBefore: c.Saved})
			return nil
		}
		if err := w.acquire(ctx); err != nil { // another call may have written them
			return err
		}
	}
}

// Explain returns the last decision with its outcome and every number that led to it. If this compactor has not decided
// anything yet, the explanation is of the plan that ended last in the session.
func (c *Compactor) Explain(ctx context.Context) policy.Explanation {
	c.init()
	c.inner.mu.Lock()
	last := c.inner.last
	c.inner.mu.Unlock()
	if last.Measurement.Occasion != "" {
		return last
	}
	l, err := c.read(ctx)
	if err != nil || l.End.Plan == "" {
		return last
	}
	e := policy.Explanation{Outcome: string(l.End.Outcome), Err: l.End.Error}
	if l.End.Outcome == entry.PlanDropped {
		e.Outcome = outcomeDiscarded
	}
	e.Held, e.Why = -1, "the plan that ended last"
	e.Measurement = policy.Measurement{Occasion: policy.Occasion(l.Ended.Occasion), Used: l.Ended.Used, Base: l.Ended.Base, Count: l.Ended.TokensBefore, Ratio: 1}
	return e
}

// usageLimit is how long the tokenizer may take to count a request for a usage entry.
const usageLimit = 5 * time.Second

// Usage returns a usage entry for a request: result is the prompt that was sent, response the model's response, and
// answer the id of the answer's entry. Append it with the answer; later measurements use it. If the tokenizer fails,
// the entry's Counted is 0. If the target has prices and the response reports its input, the entry holds digests of the
// request, and its cost if the output is reported too.
func (c *Compactor) Usage(result *render.Result, response chat.Response, answer string) entry.Usage {
	target := c.Current()
	u := entry.Usage{Body: response.RequestBytes, Of: answer, Model: target.Name, Server: plan.Server(target), Usage: response.Usage}
	u.Bytes = plan.Bytes(result.Messages, plan.Declared(target, result.Tools))
	last := c.lastSent()
	if last.result != result { // when it was rendered is not known
		last.measuredAt, _ = c.Session.Now(context.Background())
	}
	if tools, err := guard.Call(context.Background(), guard.NameTokenizer, usageLimit, func(context.Context) (int, error) { return plan.ToolTokens(target), nil }); err == nil {
		u.Counted = clamp.Sum(result.Tokens, tools)
	}
	said := len(response.Message.Content)+len(response.Message.ToolCalls) > 0
	if plan.PricesFor(c.Policy, target) == (sizing.Prices{}) || u.Input <= 0 {
		return u
	}
	if u.Output > 0 || !said { // else the provider did not report the output
		u.Cost = target.Prices.Of(u.Usage).Total()
	}
	if at := last.measuredAt.UTC(); !at.IsZero() {
		u.Sent, _ = guard.Call(context.Background(), guard.NameTokenizer, usageLimit, func(context.Context) (sizing.Sent, error) {
			return sizing.NewSent(at, target.Tokenizer, result.Messages, plan.Declared(target, result.Tools)), nil
		})
	}
	return u
}

// lastSent returns the last prompt that was returned.
func (c *Compactor) lastSent() sent {
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	return c.inner.sent
}

// Abort ends every compaction that is being made, in the background too. What the session shows stays unchanged, and
// callers that wait for the compaction get [ErrAborted].
func (c *Compactor) Abort() {
	c.init()
	c.inner.work.abort(ErrAborted)
}

// Close ends the work in the background and waits for it. A summary that is ready is put in place; one that is still being
// made is thrown away, although it was asked for: call [Compactor.Wait] before. The session stays open. The error names
// observers that are not called any more. Closing twice does nothing.
func (c *Compactor) Close() error {
	c.init()
	c.inner.work.close()
	c.keepReady()
	return c.inner.observers.close()
}
