package summarize

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// Compactor renders prompts that show a session, and compacts the session where its policy says so. Set the fields before
// the first use; after that it is safe for concurrent use. Where its policy works in the background, or might, it must be
// closed.
type Compactor struct {
	// Session that the prompt's history elements show. The compactor does not close it.
	Session *history.Session
	// Model that answers the agent. It is asked for summaries where the policy names nobody else.
	Model chat.Model
	// ModelName of that model, for the policy's routes and for what some models must be told. Defaults to not known.
	ModelName string
	// Models by name that the policy may ask instead. Those that it names and that are not here are passed over.
	Models map[string]chat.Model
	// Tokenizer that prompts are measured with.
	Tokenizer sizing.Tokenizer
	// Budget is the most tokens that a prompt's messages may take.
	Budget int
	// Window is how many tokens the model takes in, the tool definitions included: what ratios are of. Defaults to Budget
	// and what the tools take.
	Window int
	// ModelBudget is the most tokens that a request for a summary may take. Defaults to Budget.
	ModelBudget int
	// Tools that the agent has. In full mode they are declared to the model, which may not call them: the history is
	// full of their calls.
	Tools []chat.Tool
	// Policy of compaction.
	Policy Policy
	// Limits of a round as it is shown to the summarising model; those of the prompt's history elements, if they have
	// any.
	Limits history.Limits
	// FileTools say which files the tools read and modify. Defaults to [history.DefaultFileTools].
	FileTools history.FileTools
	// Workspace tells what else is known of the work when a compaction is made. Defaults to the plan of the session. An
	// error is told of, and the compaction made without it.
	Workspace func(ctx context.Context) (Workspace, error)
	// Hooks around compactions.
	Hooks Hooks
	// Checkpoints that summaries are written to. Defaults to none.
	Checkpoints *Checkpoints
	// OnEvent is told of each compaction, one event at a time. It is called while the compactor works, from goroutines of
	// the compactor too, and must not call it.
	OnEvent func(Event)
	// Logger of the events. Defaults to none.
	Logger *slog.Logger
	// Jitter gives a number from -1 to 1, by which the jitter of a condition is moved until the next compaction. Defaults
	// to a random one.
	Jitter func() float64

	once    sync.Once
	turn    chan struct{} // full while a compaction is made: one at a time
	life    context.Context
	end     context.CancelCauseFunc
	owned   sync.WaitGroup // goroutines
	telling sync.Mutex

	mu        sync.Mutex
	closed    bool
	seen      elements.Node // the prompt that was rendered last
	resized   *size         // by a switch of model
	learnt    int           // the window by what the provider said, 0 where it said nothing
	attempts  int           // how often a request was refused since one was answered
	pruning   bool          // Policy.Before is on
	jitter    *float64
	failures  map[string]failure
	settled   *settled
	fixed     *FixedPartsError // that was told
	refusedAt string           // the place of the session
	task      *task
	state     State
	aborts    map[*context.CancelCauseFunc]bool
	last      Explanation
}

// size is what a prompt must fit.
type size struct{ budget, window int }

func (c *Compactor) init() {
	c.once.Do(func() {
		c.turn = make(chan struct{}, 1)
		c.life, c.end = context.WithCancelCause(context.Background())
		c.failures = map[string]failure{}
		c.aborts = map[*context.CancelCauseFunc]bool{}
		c.state = StateIdle
	})
}

// takeTurn waits for the compaction that another call makes, if one does.
func (c *Compactor) takeTurn(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Compactor) giveTurn() { <-c.turn }

// size that a prompt must fit now.
func (c *Compactor) size() (size, error) {
	tools := 0
	if c.Tokenizer != nil {
		tools = c.Tokenizer.CountTools(c.Tools)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := size{c.Budget, c.Window}
	if c.resized != nil {
		s = *c.resized
	}
	if s.window == 0 {
		s.window = s.budget + tools
	}
	if c.learnt > 0 && c.learnt < s.window {
		s.window = c.learnt
		s.budget = max(1, min(s.budget, c.learnt-tools))
	}
	if c.attempts > 0 {
		s.budget = max(1, int(float64(s.budget)*(1-c.Policy.Overflow.buffer(c.attempts))))
	}
	budget, err := c.Policy.budget(s.budget, s.window, tools)
	s.budget = budget
	return s, err
}

// Render renders a prompt, and compacts the session where the policy says so:
//
//   - A summary that was made in the background is put in place first.
//   - Where the prompt fits, the policy's conditions for a render are looked at. A compaction that they ask for is made
//     before the prompt is given back, or in the background. Where it fails the prompt is as it was, and fits.
//   - Where it does not fit although everything that may be pruned has been, the session is compacted and the prompt
//     rendered again. A summary that is being made in the background is waited for first.
//
// A compaction is made in these steps:
//
//  1. Old tool output is left out, where the policy says so. Where that suffices nothing is summarised.
//  2. The cut is chosen: the newest rounds stay word for word, at least the one that overflowed; what is older, back
//     to the previous summary and no further, is summarised. The previous summary is shown to the model and so
//     carried on.
//  3. Whether that helps is seen before a model is asked: the prompt is rendered as it would be with a summary of the
//     size allowed. If it does not fit, less is kept; if that is not enough either, the error says so.
//  4. The model is asked, in pieces where the history is larger than its window. Its answer must not be empty, must fit,
//     and must be smaller than what it replaces. Else the next mode is tried.
//  5. The prompt is rendered with the summary. Only when it fits is the compaction written to the session.
//
// Where a prompt does not come to fit the error is a [*FailedError], in which errors.AsType finds the
// [*render.BudgetExceededError]; the session is unchanged, and the same is not tried again until the history changed or
// [Policy.RetryAfter] has passed, unless the model said that it may work later. A policy that does not compact there gives
// the budget error itself. A cancelled context gives its cause.
func (c *Compactor) Render(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	if err := c.begin(prompt); err != nil {
		return nil, err
	}
	c.forgetRefusals()
	return c.rendered(ctx, prompt, OnRender, nil)
}

// begin checks the fields and notes the prompt.
func (c *Compactor) begin(prompt elements.Node) error {
	if err := c.check(); err != nil {
		return err
	}
	c.init()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	if prompt != nil {
		c.seen = prompt
	}
	return nil
}

// rendered is Render for an occasion. Made is told whether the session was compacted.
func (c *Compactor) rendered(ctx context.Context, prompt elements.Node, on Occasion, made *bool) (*render.Result, error) {
	done := func() {
		if made != nil {
			*made = true
		}
	}
	if c.State() == StateCompleted {
		if err := c.takeTurn(ctx); err != nil {
			return nil, err
		}
		if c.apply(ctx, prompt) {
			done()
		}
		c.giveTurn()
	}
	at, err := c.look(ctx, prompt, on)
	if err != nil {
		return nil, err
	}
	if at.exceeded() || c.Policy.Background.Wait > 0 && at.moment.Ratio() >= c.Policy.Background.Wait {
		waited, err := c.await(ctx)
		if err != nil {
			return nil, err
		}
		if waited {
			if err := c.takeTurn(ctx); err != nil {
				return nil, err
			}
			if c.apply(ctx, prompt) {
				done()
			}
			c.giveTurn()
			if at, err = c.look(ctx, prompt, on); err != nil {
				return nil, err
			}
		}
	}
	e := c.explain(at)
	if e.Held < 0 || e.Blocked != "" && !at.exceeded() {
		return at.result, at.failure()
	}
	if c.condition(e).Background && !at.exceeded() {
		c.start(ctx, prompt, at, e)
		return at.result, nil
	}
	if err := c.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer c.giveTurn()
	// Another call may have compacted in the meantime.
	was := at.exceeded()
	if at, err = c.look(ctx, prompt, on); err != nil {
		return nil, err
	}
	if was && !at.exceeded() {
		return at.result, nil
	}
	if e = c.explain(at); e.Held < 0 {
		return at.result, at.failure()
	}
	if c.Policy.Before.Keep > 0 && c.startPruning() {
		before := at
		if at, err = c.look(ctx, prompt, on); err != nil {
			return nil, err
		}
		if e = c.explain(at); e.Held < 0 {
			c.tell(ctx, Event{
				Kind: EventPruned, Reason: on, TokensBefore: before.moment.Used, TokensAfter: at.moment.Used,
				MessagesBefore: before.messages(), MessagesAfter: at.messages(), Window: at.moment.Window,
			})
			return at.result, at.failure()
		}
	}
	result, err := c.compactNow(ctx, order{prompt: prompt, at: at, on: e.Occasion, limit: c.limitOf(e)})
	if err == nil {
		done()
		return result, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	at, lookErr := c.lookAgain(ctx, prompt, at, on, err)
	if lookErr != nil {
		return nil, lookErr
	}
	if !at.exceeded() {
		return at.result, nil // which fits; events tell of the failure
	}
	if result, ok := c.truncated(ctx, at); ok {
		return result, nil
	}
	return nil, err
}

// sight is what came of a render.
type sight struct {
	size   size
	moment Moment
	result *render.Result
	over   *render.BudgetExceededError
}

func (s sight) exceeded() bool { return s.over != nil }

// failure is the error of a render that did not fit. A nil *BudgetExceededError is no error.
func (s sight) failure() error {
	if s.over == nil {
		return nil
	}
	return s.over
}

// look renders a prompt and measures it.
func (c *Compactor) look(ctx context.Context, prompt elements.Node, on Occasion) (sight, error) {
	var s sight
	var err error
	if s.size, err = c.size(); err != nil {
		return s, err
	}
	s.result, err = c.render(ctx, prompt, s.size.budget)
	over, ok := errors.AsType[*render.BudgetExceededError](err)
	if err != nil && !ok {
		return s, err
	}
	s.moment = Moment{Occasion: on, Window: s.size.window}
	if ok {
		s.over, s.result = over, nil
		s.moment.Used = over.Needed
		if on == OnRender {
			s.moment.Occasion = OnBudgetExceeded
		}
	} else {
		s.moment.Used = s.result.Tokens
		if c.OnEvent != nil || c.Logger != nil {
			b := breakdown(c.Tokenizer, nil, c.Tools)
			for _, m := range s.result.Messages {
				if m.Role == chat.RoleSystem {
					b.System += c.Tokenizer.CountMessage(m)
				}
			}
			b.Conversation = s.result.Tokens - b.System
			c.tell(ctx, Event{Kind: EventUsage, Breakdown: b, Window: s.size.window, MessagesBefore: len(s.result.Messages), TokensBefore: b.Total()})
		}
	}
	s.moment.Used += c.Tokenizer.CountTools(c.Tools)
	if !ok && on == OnRender && len(c.trigger().For(OnRender)) == 0 {
		return s, nil // nothing asks for more
	}
	view, err := history.ViewIn(ctx, c.Session)
	if err != nil {
		return s, err
	}
	s.moment.Messages = len(view.Compacted)
	for _, t := range view.Turns {
		if t.Start.ID != "" {
			s.moment.Messages++
		}
		for _, r := range t.Rounds {
			s.moment.Messages += 1 + len(r.Results)
		}
	}
	if n := len(view.Turns); n > 0 {
		for _, r := range view.Turns[n-1].Rounds {
			s.moment.Warm = s.moment.Warm || len(r.Results) > 0
		}
	}
	s.moment.Jitter = c.drawn()
	return s, nil
}

// lookAgain is what a prompt takes after a compaction that failed: as before, unless somebody went back meanwhile, so that the
// session shows something else now.
func (c *Compactor) lookAgain(ctx context.Context, prompt elements.Node, at sight, on Occasion, failed error) (sight, error) {
	if !gone(failed) {
		return at, nil
	}
	return c.look(ctx, prompt, on)
}

// drawn is the jitter until the next compaction.
func (c *Compactor) drawn() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jitter == nil {
		draw := c.Jitter
		if draw == nil {
			draw = func() float64 { return 2*rand.Float64() - 1 }
		}
		c.jitter = new(max(-1, min(1, draw())))
	}
	return *c.jitter
}

func (c *Compactor) trigger() Trigger {
	if len(c.Policy.Trigger) == 0 {
		return Trigger{{On: OnBudgetExceeded}}
	}
	return c.Policy.Trigger
}

func (c *Compactor) condition(e Explanation) Condition { return e.Findings[e.Held].Condition }

// limitOf is the number of tokens at which the condition that held does, 0 where it has no limits.
func (c *Compactor) limitOf(e Explanation) int {
	if e.Held < 0 {
		return 0
	}
	return e.Findings[e.Held].At
}

// explain holds the policy against what was seen, and remembers it.
func (c *Compactor) explain(s sight) Explanation {
	e := c.trigger().Explain(s.moment)
	switch {
	case c.Policy.Off:
		e.Blocked, e.Held = "the policy is off", -1
	case e.Held >= 0 && !s.exceeded():
		e.Blocked = c.blocked(s, c.condition(e).Background)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = e
	return e
}

// Explain says of the last render which condition held, and why the others did not.
func (c *Compactor) Explain() Explanation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *Compactor) isPruning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pruning
}

// startPruning tells whether old output was shown until now.
func (c *Compactor) startPruning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.pruning
	c.pruning = true
	return !was
}

func (c *Compactor) check() error {
	switch {
	case c.Session == nil:
		return errors.New("summarize: Compactor.Session is not set")
	case c.Model == nil:
		return errors.New("summarize: Compactor.Model is not set: an Offline needs no network")
	case c.Tokenizer == nil:
		return render.ErrNoTokenizer
	case c.ModelBudget < 0:
		return fmt.Errorf("summarize: Compactor.ModelBudget is %d", c.ModelBudget)
	case c.Window < 0:
		return fmt.Errorf("summarize: Compactor.Window is %d", c.Window)
	}
	return c.Policy.Validate()
}

func (c *Compactor) render(ctx context.Context, prompt elements.Node, budget int) (*render.Result, error) {
	if c.isPruning() {
		view, err := history.ViewIn(ctx, c.Session)
		if err != nil {
			return nil, err
		}
		if clearing, ok := c.Policy.Before.Find(view, c.Tokenizer); ok && !c.Session.ReadOnly() {
			if _, err := c.Session.Add(history.Entry{Body: clearing}); err != nil {
				return nil, err
			}
		}
	}
	return render.Render(ctx, prompt, render.Options{Budget: budget, Window: c.elementWindow(), Tokenizer: c.Tokenizer})
}

// elementWindow is what elements are told of the budget: what they cut by it must not change with every retry.
func (c *Compactor) elementWindow() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resized != nil {
		return c.resized.budget
	}
	return c.Budget
}

// State of the background work.
func (c *Compactor) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == "" {
		return StateIdle
	}
	return c.state
}

// Close ends what is being made in the background, waits for it, and throws it away. The session stays open. Closing twice
// does nothing.
func (c *Compactor) Close() error {
	c.init()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(ErrClosed)
	c.Abort()
	c.owned.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.task, c.state = nil, StateIdle
	return nil
}
