package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/checkpoints"
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
	Target Target
	// Policy says when and how to compact.
	Policy Policy
	// Models that the policy may ask for summaries, by name.
	Models map[string]Target
	// Options for rendering the prompt, such as a low water mark. Budget and Tokenizer are the target's.
	Options render.Options
	// Hooks are called around compactions. None by default.
	Hooks Hooks
	// Runner carries out the plans of compactions in the background. Defaults to a goroutine that the compactor owns.
	Runner Runner
	// Checkpoints is the folder that summaries are written to. None by default.
	Checkpoints *checkpoints.Folder
	// OnEvent is called with each event, one at a time, also from goroutines of the compactor. It must not call the
	// compactor. If a call takes more than 5 seconds, OnEvent is not called again; the Logger and the error of Close
	// say so.
	OnEvent func(Event)
	// Logger logs the events. None by default. If its handler takes more than 5 seconds, it is not called again;
	// OnEvent and the error of Close say so.
	Logger *slog.Logger
	// Tracer follows the compactor's work. None by default. If a call takes more than 5 seconds, it is not called
	// again; OnEvent, the Logger and the error of Close say so.
	Tracer Tracer

	inner inner
}

// inner is the internal state of a compactor.
type inner struct {
	once         sync.Once
	compacting   chan struct{}                     // full while a compaction is made, one at a time
	holder       atomic.Pointer[callback.Activity] // of the call that is compacting
	eventMu      sync.Mutex                        // held while listeners are called
	unresponsive map[string]bool                   // the listeners that did not return, by name; guarded by eventMu
	listenerErrs error                             // their errors, for Close; guarded by eventMu
	work         work

	mu         sync.Mutex     // guards the fields below
	prompt     elements.Node  // the last that was rendered
	target     *Target        // after a switch of model; nil before
	ledger     *ledger.Ledger // the last that was read
	last       Explanation
	refused    int    // tokens of a prompt that the model refused without words, if the last one is smaller for that
	sentTokens int    // tokens of the last prompt that was returned, with its tools
	sentNewest string // the newest entry that it showed
	rendered   *render.Result
	renderedAt time.Time // when it was measured
}

func (c *Compactor) init() {
	c.inner.once.Do(func() {
		c.inner.compacting = make(chan struct{}, 1)
		c.inner.work.init()
	})
}

// Render renders a prompt, and compacts the session if the policy says so.
//
// Only offered pieces are pruned: a piece is offered if it, or an element around it, has a priority and neither is
// required. Then the policy decides by the measurement ([Policy.Decide]):
//
//   - A summary that was made in the background is put in place, or thrown away.
//   - Old tool output is cleared, if the policy does so, and the prompt is measured again.
//   - The session is compacted before the prompt is returned, or a summary is started in the background.
//   - If the prompt does not fit, Render waits for a summary that is being made.
//
// A compaction has these steps:
//
//  1. Plan: the compactor chooses the cut and the room of the summary, by trying whether the prompt would fit. The plan
//     is an entry of the session ([entry.Plan]).
//  2. Summarise: models are asked, in pieces if the history is larger than they take in. A summary that is too long is
//     shortened.
//  3. Place: the prompt is rendered with the summary. If it fits, the compaction is written to the session. How the
//     plan ended is an entry too ([entry.PlanEnd]).
//
// If the prompt still does not fit, the policy's last resort is taken ([Overflow]). By default it is to return a
// [*FailedError], in which errors.AsType finds the [*render.BudgetExceededError]. If the prompt fits, only events
// report a failed compaction, and it is not tried again before a pause is over ([Policy.RetryAfter]).
//
// If the context is cancelled, the error is its cause. If one of the caller's functions has not returned, a
// [*CallbackError] around the cause names it; if Render was waiting for another call, the error says so.
func (c *Compactor) Render(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	w, err := c.begin(ctx, prompt)
	if err != nil {
		return nil, err
	}
	defer w.release()
	return w.walk(OnRender)
}

// begin checks the fields and records the prompt.
func (c *Compactor) begin(ctx context.Context, prompt elements.Node) (*walker, error) {
	if c.Session == nil {
		return nil, errors.New("summarize: Compactor.Session is not set: set the session that the prompt shows")
	}
	c.init()
	target := c.Current()
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	if err := errors.Join(target.check(), c.Policy.Validate()); err != nil {
		return nil, err
	}
	if c.inner.work.isClosed() {
		return nil, ErrClosed
	}
	if prompt != nil {
		c.inner.prompt = prompt
	}
	ctx, running := callback.WithActivity(ctx)
	return &walker{c: c, ctx: ctx, activity: running, prompt: prompt, target: target, policy: c.Policy.withDefaults()}, nil
}

// Current returns the target that prompts are made for: [Compactor.Target], or that of the newest switch.
func (c *Compactor) Current() Target {
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	if c.inner.target != nil {
		return *c.inner.target
	}
	return c.Target
}

// read returns what the session says about compaction.
func (c *Compactor) read(ctx context.Context) (*ledger.Ledger, error) {
	c.inner.mu.Lock()
	known := c.inner.ledger
	c.inner.mu.Unlock()
	l, err := known.Read(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	c.inner.ledger = l
	return l, nil
}

// walker carries one call of the compactor through its steps.
type walker struct {
	c            *Compactor
	ctx          context.Context
	activity     *callback.Activity // of ctx
	prompt       elements.Node
	target       Target
	policy       Policy // with defaults
	acquired     bool   // whether this call is the one that may compact
	afterTurn    bool   // nobody sends the prompt: this is AfterTurn
	most         int    // of the prompt and its tools, 0 for no bound but the budget
	willRetry    bool   // the request is sent again afterwards
	instructions string
	summarizer   *Target // the model to ask for summaries; nil for the target's
	progress
}

// progress records what a walk has done so far.
type progress struct {
	waited    bool      // for the pending compaction
	until     time.Time // when to stop waiting; zero before the first wait
	explained bool      // a decision was explained
	tried     bool      // to compact, with or without success
	succeeded bool      // the session was compacted
	failure   error     // of the newest attempt to compact
}

// acquire waits for the compaction that another call makes, if there is one, and keeps other calls from compacting
// until release.
func (w *walker) acquire() error {
	if w.acquired || w.tryAcquire() {
		return nil
	}
	select {
	case w.c.inner.compacting <- struct{}{}:
		w.setAcquired()
		return nil
	case <-w.ctx.Done():
		return waitError(w.ctx, w.c.inner.holder.Load(), "the compaction that another call makes")
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

// measurer returns a measurer of the session as it is now.
func (w *walker) measurer() (*measurer, error) {
	l, err := w.c.read(w.ctx)
	if err != nil {
		return nil, err
	}
	now, err := w.c.Session.Now(w.ctx)
	if err != nil {
		return nil, err
	}
	t := w.target
	t.Prices = w.policy.prices(t)
	return &measurer{w.c.Session, t, w.policy, w.c.Options, l, now, w.most, w.writerPrices()}, nil
}

// writerPrices returns the prices of the models that may be asked for a summary first: of one, or of all if the
// cheapest is asked. The zero value means the agent's model, reading its own cache. A model without prices gets the
// agent's.
func (w *walker) writerPrices() []sizing.Prices {
	own := w.policy.prices(w.target)
	var list []sizing.Prices
	for _, name := range w.policy.Ask.route(w.target.Name) {
		if other := w.c.Models[name]; other.Model != nil && name != w.target.Name {
			list = append(list, cmp.Or(other.Prices, own))
		}
	}
	if w.policy.Ask.Cheapest {
		for _, other := range w.policy.Ask.priced(w.c.Models, w.target.Name) {
			list = append(list, other.Prices)
		}
	}
	if prompts := w.policy.Ask.Prompts; len(prompts) > 0 && prompts[0].Forks {
		list = append(list, sizing.Prices{})
	} else {
		list = append(list, own)
	}
	if !w.policy.Ask.Cheapest {
		list = list[:1]
	}
	return list
}

func (w *walker) measure(on Occasion) (*measured, error) {
	m, err := w.measurer()
	if err != nil {
		return nil, err
	}
	s, err := m.measure(w.ctx, w.prompt, on)
	if err != nil {
		return nil, err
	}
	s.Pending, s.Tried = w.c.pending(w.ctx, m.ledger), w.tried
	s.Waited = w.waited || s.Sendable && w.c.inner.work.hasWaited()
	return s, nil
}

// walk repeats the steps until the prompt can be returned.
func (w *walker) walk(on Occasion) (result *render.Result, err error) {
	ctx, end := w.c.trace(w.ctx, Work{Kind: WorkRender, Reason: on})
	defer func() { err = w.c.Session.Redacted(ctx, err); end(result, err) }()
	w.ctx = ctx
	for {
		s, err := w.measure(on)
		if err != nil {
			return nil, err
		}
		d := w.policy.Decide(s.Measurement)
		if d.Do == ActStart {
			w.start(s, d)
			return w.finish(s, s.failure())
		}
		if d.Do != ActNothing && !w.acquired { // another call may change what was measured
			if err := w.acquire(); err != nil {
				return nil, err
			}
			continue
		}
		switch d.Do {
		case ActPlace, ActDiscard:
			placed, err := w.settle(s, d.Do == ActPlace, false)
			w.succeeded = w.succeeded || placed
			w.explain(d, outcomeOf(placed), err)
		case ActClear:
			if err := w.clear(s); err != nil {
				w.explain(d, OutcomeFailed, err)
				w.policy.Clear = Clear{} // go on without clearing
				continue
			}
			w.explain(d, OutcomeCleared, nil)
		case ActWait:
			w.explain(d, OutcomeWaiting, nil)
			if err := w.wait(s, d); err != nil {
				return nil, err
			}
		case ActCompact:
			w.tried, w.waited = true, true
			if err := w.compact(s, d, w.patience()); err != nil {
				if w.ctx.Err() != nil {
					return nil, endCause(w.ctx, err)
				}
				if !s.Fits && (errors.Is(err, ErrAborted) || errors.Is(err, ErrClosed)) {
					return nil, err
				}
				w.failure = err
				w.explain(d, outcomeOfError(err), err)
				continue
			}
			w.succeeded = true
			w.explain(d, OutcomePlaced, nil)
		default:
			if !w.explained { // an earlier action explains more than nothing does
				w.explain(d, OutcomeNothing, nil)
			}
			why := w.failure
			if why == nil {
				why = s.failure()
			}
			switch {
			case s.Fits, w.failure != nil:
			case s.ReadOnly && !w.policy.Off:
				why = &FailedError{Budget: s.over, Reasons: []error{fmt.Errorf("%w: %w", ErrUnwritten, storage.ErrReadOnly)}}
			case w.succeeded && w.tried:
				why = &FailedError{Budget: s.over, Reasons: []error{errSaidMeanwhile}}
			case d.Held < 0 && w.policy.Trigger.anyAtLimit(s.Measurement) && !w.policy.Off:
				why = &FailedError{Budget: s.over, Reasons: []error{ErrNothingToCompact}}
			}
			return w.finish(s, why)
		}
	}
}

// finish returns the prompt, or the result of the last resort if it does not fit. Why is the error to return if that
// fails.
func (w *walker) finish(s *measured, why error) (result *render.Result, err error) {
	if !s.Fits {
		if w.afterTurn {
			return nil, why
		}
		if s.result, err = w.resort(s, why); err != nil {
			return nil, err
		}
	}
	if s.Fits && !fromUser(s.result.Messages) && len(s.result.Report().Dropped()) > 0 {
		return nil, ErrNoUserMessage
	}
	return w.recordSent(s), nil
}

// fromUser reports whether a message is the user's.
func fromUser(messages []chat.Message) bool {
	return slices.ContainsFunc(messages, func(m chat.Message) bool { return m.Role == chat.RoleUser })
}

func outcomeOfError(err error) Outcome {
	if _, pending := errors.AsType[*PendingError](err); pending {
		return OutcomeWaiting
	}
	if errors.Is(err, ErrVetoed) {
		return OutcomeVetoed
	}
	return OutcomeFailed
}

func outcomeOf(placed bool) Outcome {
	if placed {
		return OutcomePlaced
	}
	return OutcomeDiscarded
}

// recordSent tells listeners the size of a prompt and remembers the prompt as the last one.
func (w *walker) recordSent(s *measured) *render.Result {
	if !w.afterTurn {
		w.c.inner.mu.Lock()
		w.c.inner.sentTokens, w.c.inner.sentNewest = s.result.Tokens+s.size.tools, s.view.Newest()
		w.c.inner.rendered, w.c.inner.renderedAt, w.c.inner.refused = s.result, s.Time, 0
		w.c.inner.mu.Unlock()
		if s.broken != (CacheBreak{}) && s.Fits && w.target.Prices != (sizing.Prices{}) {
			w.c.emit(w.ctx, Event{Kind: EventCacheBreak, Reason: s.Occasion, Why: s.broken.why(), Break: s.broken})
		}
	}
	if w.c.listening() {
		w.c.emit(w.ctx, Event{
			Kind: EventUsage, Reason: s.Occasion, Compacted: len(s.view.Compacted) > 0, Breakdown: w.breakdown(s.result.Messages, w.target.declared(s.result.Tools)),
			Base: s.Base, MessagesAfter: len(s.result.Messages), TokensAfter: s.result.Tokens,
		})
	}
	return s.result
}

// explain records a decision with its outcome for [Compactor.Explain].
func (w *walker) explain(d Decision, o Outcome, err error) {
	w.explained = true
	e := Explanation{Decision: d, Outcome: o}
	if err = w.c.Session.Redacted(w.ctx, err); err != nil {
		e.Err = err.Error()
	}
	w.c.inner.mu.Lock()
	defer w.c.inner.mu.Unlock()
	w.c.inner.last = e
}

// clear writes a clearing of old tool output to the session.
func (w *walker) clear(s *measured) error {
	m, err := w.measurer()
	if err != nil {
		return err
	}
	clearing, err := m.clearing(w.ctx, s)
	if err != nil || len(clearing.Results)+len(clearing.Arguments) == 0 {
		return err
	}
	added, err := w.c.Session.Add(w.ctx, entry.Entry{Body: clearing})
	if err != nil {
		err = fmt.Errorf("%w: clearing old output: %w", ErrUnwritten, err)
		w.c.emit(w.ctx, Event{Kind: EventFailed, Reason: s.Occasion, Err: err})
		return err
	}
	w.c.emit(w.ctx, Event{
		Kind: EventCleared, Reason: s.Occasion, Entry: added[0].ID, TokensBefore: s.tokens(), TokensAfter: s.tokens() - clearing.Saved,
		MessagesBefore: len(s.messages()), MessagesAfter: len(s.messages()), Base: s.Base,
	})
	return nil
}

// Explain returns the last decision with its outcome and every number that led to it. If this compactor has not decided
// anything yet, the explanation is of the plan that ended last in the session.
func (c *Compactor) Explain(ctx context.Context) Explanation {
	c.init()
	c.inner.mu.Lock()
	last := c.inner.last
	c.inner.mu.Unlock()
	if last.Measurement.Occasion != "" || c.Session == nil {
		return last
	}
	l, err := c.read(ctx)
	if err != nil || l.End.Plan == "" {
		return last
	}
	e := Explanation{Outcome: Outcome(l.End.Outcome), Err: l.End.Error}
	if l.End.Outcome == entry.PlanDropped {
		e.Outcome = OutcomeDiscarded
	}
	e.Held, e.Why = -1, "the plan that ended last"
	e.Measurement = Measurement{Occasion: Occasion(l.Ended.Occasion), Used: l.Ended.Used, Base: l.Ended.Base, Count: l.Ended.TokensBefore, Ratio: 1}
	return e
}

// Usage returns a usage entry for a request: result is the prompt that was sent, response the model's response, and
// answer the id of the answer's entry. Append it with the answer; later measurements use it. If the tokenizer fails,
// the entry's Counted is 0. If the target has prices, the entry holds the request's cost and digests of it.
func (c *Compactor) Usage(result *render.Result, response chat.Response, answer string) entry.Usage {
	target := c.Current()
	u := entry.Usage{Of: answer, Model: target.Name, Usage: response.Usage}
	c.inner.mu.Lock()
	if c.inner.rendered == result {
		u.Refused = c.inner.refused
	}
	c.inner.mu.Unlock()
	if tools, err := call(context.Background(), nameTokenizer, listenTime, func(context.Context) (int, error) { return target.tools(), nil }); err == nil {
		u.Counted = clamp.Sum(result.Tokens, tools)
	}
	if c.Policy.prices(target) == (sizing.Prices{}) || u.Usage == (chat.Usage{}) {
		return u
	}
	u.Cost = target.Prices.Of(u.Usage).Total()
	if at, err := c.renderTime(result); err == nil {
		u.Sent, _ = call(context.Background(), nameTokenizer, listenTime, func(context.Context) (sizing.Sent, error) {
			return sizing.NewSent(at, target.Tokenizer, result.Messages, target.declared(result.Tools)), nil
		})
	}
	return u
}

// toolsSent returns the tools of the last prompt, nil for none.
func (c *Compactor) toolsSent() []chat.Tool {
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	if c.inner.rendered == nil {
		return nil
	}
	return c.inner.rendered.Tools
}

// renderTime returns the time at which a prompt was rendered, or the current time if it is not the last prompt.
func (c *Compactor) renderTime(result *render.Result) (time.Time, error) {
	c.inner.mu.Lock()
	rendered, at := c.inner.rendered, c.inner.renderedAt
	c.inner.mu.Unlock()
	if rendered == result {
		return at.UTC(), nil
	}
	return c.Session.Now(context.Background())
}

// Abort ends every compaction that is being made, in the background too. What the session shows stays unchanged, and
// callers that wait for the compaction get [ErrAborted].
func (c *Compactor) Abort() {
	c.init()
	c.inner.work.abort(ErrAborted)
}

// Close ends the work in the background, waits for it and throws its result away. The session stays open. The error
// names listeners that are not called any more because they did not return. Closing twice does nothing.
func (c *Compactor) Close() error {
	c.init()
	c.inner.work.close()
	err := c.carrier().abandon(context.Background(), &c.inner.work) // a summary that is ready
	c.inner.eventMu.Lock()
	defer c.inner.eventMu.Unlock()
	err, c.inner.listenerErrs = errors.Join(err, c.inner.listenerErrs), nil
	return err
}
