package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/checkpoints"
)

// Compactor renders prompts that show a session, and compacts the session as its policy says. Set the fields before the
// first use; after that it is safe for concurrent use. Close it when it is not used any more: its policy may work in the
// background.
//
// What it decides it reads from the session: another compactor, in another process, that is given the same session, prompt
// and policy decides the same.
type Compactor struct {
	// Session that the prompt's history elements show. The compactor does not close it.
	Session *history.Session
	// Target is the agent's model, and what its prompts must fit. It is asked for summaries if the policy names nobody else.
	Target Target
	// Policy of compaction.
	Policy Policy
	// Models by name that the policy may ask for summaries.
	Models map[string]Target
	// Options of the prompt's rendering, such as a low water mark. Budget and Tokenizer are the target's.
	Options render.Options
	// Hooks around compactions.
	Hooks Hooks
	// Runner carries out plans that need not be waited for. Defaults to a goroutine that the compactor owns.
	Runner Runner
	// Checkpoints that summaries are written to. None by default.
	Checkpoints *checkpoints.Folder
	// OnEvent is called with each event, one at a time. It is called while the compactor works, from goroutines of the
	// compactor too, and must not call it. One that takes more than 5 seconds is called no more, which the Logger is told,
	// and whoever closes the compactor.
	OnEvent func(Event)
	// Logger of the events. None by default. A handler that takes more than 5 seconds is called no more, which OnEvent is told,
	// and whoever closes the compactor.
	Logger *slog.Logger
	// Tracer follows the compactor's work. None by default. One that takes more than 5 seconds is called no more, which OnEvent and the
	// Logger are told, and whoever closes the compactor.
	Tracer Tracer

	inner inner
}

// inner is what a compactor needs for itself.
type inner struct {
	once    sync.Once
	turn    chan struct{}         // full while a compaction is made: one at a time
	holder  atomic.Pointer[stage] // of the call that has the turn
	telling sync.Mutex
	gone    map[string]bool // the listeners that did not return; guarded by telling
	late    error           // of those, for Close; guarded by telling
	work    work

	mu         sync.Mutex     // guards what follows
	prompt     elements.Node  // that was rendered last
	target     *Target        // after a switch of model
	ledger     *ledger.Ledger // as it was read last
	last       Explanation
	sent       int    // tokens of the prompt that was returned last, with its tools
	sentAt     string // the newest entry that it showed
	rendered   *render.Result
	renderedAt time.Time // at which it was measured
}

func (c *Compactor) init() {
	c.inner.once.Do(func() {
		c.inner.turn = make(chan struct{}, 1)
		c.inner.work.init()
	})
}

// Render renders a prompt, and compacts the session if the policy says so.
//
// The prompt is rendered so that only what is offered is pruned: a piece is offered if it, or an element that it stands in,
// has a priority, and nothing there is Required. Then the policy decides by what was measured ([Policy.Decide]):
//
//   - A summary that was made in the background is put in place, or thrown away.
//   - Old tool output is cleared, if the policy does so, and the prompt measured again.
//   - The session is compacted before the prompt is returned, or a summary is begun in the background.
//   - If the prompt does not fit, a summary that is being made is waited for.
//
// A compaction is made in these steps:
//
//  1. Plan: the cut is chosen, and the room of the summary, by trying whether the prompt would fit. The plan is an entry of
//     the session ([history.Plan]).
//  2. Summarise: models are asked, in pieces if the history is larger than they take in. A summary that is too long is
//     shortened.
//  3. Place: the prompt is rendered with the summary. Only if it fits is the compaction written to the session. How the plan
//     ended is an entry too ([history.PlanEnd]).
//
// If a prompt does not come to fit, the policy's last resort is taken ([Overflow]), by default a [*FailedError], in which
// errors.AsType finds the [*render.BudgetExceededError]. If it fits, a failure is told by events alone, and is not tried
// again before a pause is over ([Policy.RetryAfter]). The error of a cancelled context is its cause; it is within a
// [*CallbackError] if a function of the caller's did not return, and says so if another call was waited for.
func (c *Compactor) Render(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	w, err := c.begin(ctx, prompt)
	if err != nil {
		return nil, err
	}
	defer w.release()
	return w.walk(OnRender)
}

// begin checks the fields and notes the prompt.
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
	ctx, stage := staged(ctx)
	return &walker{c: c, ctx: ctx, stage: stage, prompt: prompt, target: target, policy: c.Policy.withDefaults()}, nil
}

// Current returns the model that prompts are made for: [Compactor.Target], or that of the newest switch.
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

// walker takes one call through the steps: measure, decide, and what was decided.
type walker struct {
	c            *Compactor
	ctx          context.Context
	stage        *stage // of ctx
	prompt       elements.Node
	target       Target
	policy       Policy // with its defaults
	holds        bool   // the turn
	unsent       bool   // nobody sends the prompt: it is looked at after a turn
	retries      bool   // the request is sent again afterwards
	instructions string
	asks         *Target // whom to ask for summaries, if it is not the target
	progress
}

// progress is what a walk has done so far.
type progress struct {
	waited bool  // for what is pending
	acted  bool  // something was explained
	tried  bool  // to compact
	made   bool  // the session was compacted
	failed error // the newest failure to
}

// take waits for the compaction that another call makes, if one does.
func (w *walker) take() error {
	if w.holds || w.tryTake() {
		return nil
	}
	select {
	case w.c.inner.turn <- struct{}{}:
		w.took()
		return nil
	case <-w.ctx.Done():
		return w.c.inner.holder.Load().waited(w.ctx, "the compaction that another call makes")
	}
}

// tryTake takes the turn if nobody has it, and reports whether it did.
func (w *walker) tryTake() bool {
	select {
	case w.c.inner.turn <- struct{}{}:
		w.took()
		return true
	default:
		return false
	}
}

func (w *walker) took() {
	w.holds = true
	w.c.inner.holder.Store(w.stage)
}

func (w *walker) release() {
	if w.holds {
		w.holds = false
		w.c.inner.holder.Store(nil)
		<-w.c.inner.turn
	}
}

// measurer returns what measures now.
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
	return &measurer{w.c.Session, t, w.policy, w.c.Options, l, now, w.writers()}, nil
}

// writers returns the prices of those that may be asked for a summary first: one, or all if the cheapest is asked. The zero value is
// the agent's model that reads it from its cache; of a model without prices they are taken to be the agent's.
func (w *walker) writers() []sizing.Prices {
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

// measure measures the prompt.
func (w *walker) measure(on Occasion) (*measured, error) {
	m, err := w.measurer()
	if err != nil {
		return nil, err
	}
	s, err := m.measure(w.ctx, w.prompt, on)
	if err != nil {
		return nil, err
	}
	s.Pending, s.Waited, s.Tried = w.c.pending(m.ledger), w.waited, w.tried
	return s, nil
}

// walk goes through the steps until the prompt can be returned.
func (w *walker) walk(on Occasion) (result *render.Result, err error) {
	ctx, end := w.c.trace(w.ctx, Work{Kind: WorkRender, Reason: on})
	defer func() { end(result, err) }()
	w.ctx = ctx
	for {
		s, err := w.measure(on)
		if err != nil {
			return nil, err
		}
		d := w.policy.Decide(s.Measurement)
		if d.Do != ActNothing && !w.holds { // another call may change what was seen
			if d.Do == ActStart {
				w.start(s, d)
				return w.finish(s, s.failure())
			}
			if err := w.take(); err != nil {
				return nil, err
			}
			continue
		}
		switch d.Do {
		case ActPlace, ActDiscard:
			placed, err := w.settle(s, d.Do == ActPlace)
			w.made = w.made || placed
			w.explain(d, outcomeOf(placed), err)
		case ActClear:
			if err := w.clear(s); err != nil {
				w.explain(d, OutcomeFailed, err)
				w.policy.Clear = Clear{} // and the rest is done without it
				continue
			}
			w.explain(d, OutcomeCleared, nil)
		case ActWait:
			w.explain(d, OutcomeWaiting, nil)
			if err := w.wait(s, d); err != nil {
				return nil, err
			}
		case ActCompact:
			w.tried = true
			if err := w.compact(s, d); err != nil {
				if w.ctx.Err() != nil {
					return nil, ended(w.ctx, err)
				}
				if !s.Fits && (errors.Is(err, ErrAborted) || errors.Is(err, ErrClosed)) {
					return nil, err
				}
				w.failed = err
				w.explain(d, outcomeOfError(err), err)
				continue
			}
			w.made = true
			w.explain(d, OutcomePlaced, nil)
		case ActStart: // with the turn in hand: it was taken for something else
			w.release()
			w.start(s, d)
			return w.finish(s, s.failure())
		default:
			if !w.acted { // what was done explains more
				w.explain(d, OutcomeNothing, nil)
			}
			why := w.failed
			if why == nil {
				why = s.failure()
			}
			switch {
			case s.Fits, w.failed != nil:
			case s.ReadOnly && !w.policy.Off:
				why = &FailedError{Budget: s.over, Reasons: []error{fmt.Errorf("%w: %w", ErrUnwritten, storage.ErrReadOnly)}}
			case w.made && w.tried:
				why = &FailedError{Budget: s.over, Reasons: []error{errSaidMeanwhile}}
			case d.Held < 0 && w.policy.Trigger.reached(s.Measurement) && !w.policy.Off:
				why = &FailedError{Budget: s.over, Reasons: []error{ErrNothingToCompact}}
			}
			return w.finish(s, why)
		}
	}
}

// finish returns the prompt as it is, or what the last resort makes of one that does not fit. Why is what failed.
func (w *walker) finish(s *measured, why error) (result *render.Result, err error) {
	if !s.Fits {
		if w.unsent {
			return nil, why
		}
		if s.result, err = w.resort(s, why); err != nil {
			return nil, err
		}
	}
	return w.sent(s), nil
}

func outcomeOfError(err error) Outcome {
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

// sent passes what a prompt takes to listeners, and remembers it.
func (w *walker) sent(s *measured) *render.Result {
	if !w.unsent {
		w.c.inner.mu.Lock()
		w.c.inner.sent, w.c.inner.sentAt = s.result.Tokens+s.size.tools, s.newest()
		w.c.inner.rendered, w.c.inner.renderedAt = s.result, s.Time
		w.c.inner.mu.Unlock()
		if s.broken != (CacheBreak{}) && s.Fits && w.target.Prices != (sizing.Prices{}) {
			w.c.tell(w.ctx, Event{Kind: EventCacheBreak, Reason: s.Occasion, Why: s.broken.why(), Break: s.broken})
		}
	}
	if w.c.heard() {
		w.c.tell(w.ctx, Event{
			Kind: EventUsage, Reason: s.Occasion, Compacted: len(s.view.Compacted) > 0, Breakdown: w.breakdown(s.result.Messages, w.target.declared(s.result.Tools)),
			Base: s.Base, MessagesAfter: len(s.result.Messages), TokensAfter: s.result.Tokens,
		})
	}
	return s.result
}

// explain remembers a decision with its outcome.
func (w *walker) explain(d Decision, o Outcome, err error) {
	w.acted = true
	e := Explanation{Decision: d, Outcome: o}
	if err != nil {
		e.Err = err.Error()
	}
	w.c.inner.mu.Lock()
	defer w.c.inner.mu.Unlock()
	w.c.inner.last = e
}

// clear leaves old tool output out of what is shown from here on.
func (w *walker) clear(s *measured) error {
	m, err := w.measurer()
	if err != nil {
		return err
	}
	clearing, err := m.clearing(w.ctx, s)
	if err != nil || len(clearing.Results)+len(clearing.Arguments) == 0 {
		return err
	}
	added, err := w.c.Session.Add(w.ctx, history.Entry{Body: clearing})
	if err != nil {
		err = fmt.Errorf("%w: clearing old output: %w", ErrUnwritten, err)
		w.c.tell(w.ctx, Event{Kind: EventFailed, Reason: s.Occasion, Err: err})
		return err
	}
	w.c.tell(w.ctx, Event{
		Kind: EventCleared, Reason: s.Occasion, Entry: added[0].ID, TokensBefore: s.tokens(), TokensAfter: s.tokens() - clearing.Saved,
		MessagesBefore: len(s.messages()), MessagesAfter: len(s.messages()), Base: s.Base,
	})
	return nil
}

// Explain returns what was decided last, every number that led to it, and what came of it. If nothing was decided yet by this
// compactor, it is what the session says of the plan that ended last.
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
	if l.End.Outcome == history.PlanDropped {
		e.Outcome = OutcomeDiscarded
	}
	e.Held, e.Why = -1, "the plan that ended last"
	e.Measurement = Measurement{Occasion: Occasion(l.Ended.Occasion), Used: l.Ended.Used, Base: l.Ended.Base, Count: l.Ended.TokensBefore, Ratio: 1}
	return e
}

// Usage returns the entry that says what the provider reported of a request that was rendered to result, for the answer in
// the entry of that id. Append it with the answer: what is measured from then on goes by it. What a tokenizer cannot count
// counts as not counted. If the target has prices, the entry holds what the request cost, and digests of it.
func (c *Compactor) Usage(result *render.Result, response chat.Response, answer string) history.Usage {
	target := c.Current()
	u := history.Usage{Of: answer, Model: target.Name, Usage: response.Usage}
	if tools, err := call(context.Background(), nameTokenizer, listenTime, func(context.Context) (int, error) { return target.tools(), nil }); err == nil {
		u.Counted = clamp.Sum(result.Tokens, tools)
	}
	if c.Policy.prices(target) == (sizing.Prices{}) || u.Usage == (chat.Usage{}) {
		return u
	}
	u.Cost = target.Prices.Of(u.Usage).Total()
	if at, err := c.sentAt(result); err == nil {
		u.Sent, _ = call(context.Background(), nameTokenizer, listenTime, func(context.Context) (sizing.Sent, error) {
			return sizing.NewSent(at, target.Tokenizer, result.Messages, target.declared(result.Tools)), nil
		})
	}
	return u
}

// toolsSent returns the tools that stood in the prompt rendered last, nil for none.
func (c *Compactor) toolsSent() []chat.Tool {
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	if c.inner.rendered == nil {
		return nil
	}
	return c.inner.rendered.Tools
}

// sentAt returns when a prompt was rendered, or the time if it is not the last one.
func (c *Compactor) sentAt(result *render.Result) (time.Time, error) {
	c.inner.mu.Lock()
	rendered, at := c.inner.rendered, c.inner.renderedAt
	c.inner.mu.Unlock()
	if rendered == result {
		return at.UTC(), nil
	}
	return c.Session.Now(context.Background())
}

// Abort ends whatever compaction is being made, of whatever kind. What the session shows stays as it is, and who waits for
// the compaction gets [ErrAborted].
func (c *Compactor) Abort() {
	c.init()
	c.inner.work.abort(ErrAborted)
}

// Close ends what is being made in the background, waits for it, and throws it away. The session stays open. The error says
// which listeners are called no more because they did not return. Closing twice does nothing.
func (c *Compactor) Close() error {
	c.init()
	c.inner.work.close()
	err := c.carrier().abandon(context.Background(), &c.inner.work) // what is ready
	c.inner.telling.Lock()
	defer c.inner.telling.Unlock()
	err, c.inner.late = errors.Join(err, c.inner.late), nil
	return err
}
