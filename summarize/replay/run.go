package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/worded"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/replay/internal/stepping"
)

// Options say how a session is replayed.
type Options struct {
	// ContextWindow of the model in tokens, the system prompt and the tools included. Defaults to that of the session's
	// own model ([Session.Model]).
	ContextWindow int
	// AnsweredBy is the name of the answering model that the policy is given, because some policies treat some models
	// differently. Defaults to the last that the session names.
	AnsweredBy string
	// Model writes the summaries. Defaults to digests made without a model.
	Model chat.Model
	// Recall measures recall without prices too. With prices it is always measured.
	Recall bool
	// Unchecked keeps the dollars if the check of the cost model failed.
	Unchecked bool
	// Observers hear of the compactor's work.
	Observers []summarize.Observer
	// Step is called after each request, before its answer is in the session, and once more at the end if there were
	// compactions after the last request. An error ends the replay.
	Step func(context.Context, Step) error
}

// Step is a request of a replay.
type Step struct {
	// Number of the request, from 1, and Line of the recording with its answer; 0 after the last request.
	Number, Line int
	// Session as the agent has it, and Compactor, which is nil if the session's own compactions are replayed.
	Session   *history.Session
	Compactor *summarize.Compactor
	// Rendered is the request, nil after the last. Response is the recorded answer; with prices its usage is the one that
	// the provider would have reported, Fixed included.
	Rendered *render.Result
	// Fixed is the number of tokens of the request that the recording does not have.
	Fixed int
	// Cost of the request, nil if the result has no dollars.
	Cost     *StepCost
	Response chat.Response
	// Compactions that were put in place since the last step.
	Compactions []entry.Entry
}

// Run replays a session under a policy. If the policy could not continue, [Result].Ended says why, and the error is nil.
// The error is that of the session or the options, or the context's cause; then too the result has the figures so far,
// if there are any.
//
// The replay waits for a summary in the background after each request: the summarising model takes no longer than the
// agent's. Jitter, titles and [policy.Policy.Continue] are off, so that the same replay gives the same figures. If the
// policy acts on refusals, a request that does not fit is refused as a provider would.
func Run(ctx context.Context, s *Session, p policy.Policy, o Options) (result *Result, err error) {
	r, err := newReplay(ctx, s, p.Name, o)
	if err != nil {
		return nil, err
	}
	if r.result.Budget < 1 {
		r.result.Budget, r.result.Ended = 0, fmt.Sprintf("cannot run in a window of %d tokens: the system prompt and the tools take %d: set a larger one",
			r.result.ContextWindow, r.result.ContextWindow-r.window)
		r.withhold()
		return r.result, nil
	}
	r.meter.Model = cmp.Or[chat.Model](o.Model, models.Offline{Tokenizer: r.tokenizer})
	r.result.AnsweredBy = cmp.Or(o.AnsweredBy, r.model)
	r.follow(p)
	if r.biller != nil {
		r.own.Target.Prices = r.biller.planning()
		if prices := r.biller.summarizer; prices != (sizing.Prices{}) { // whatever the name of the model that the policy asks
			r.own.Models = map[string]policy.Target{}
			names := p.Ask.Names
			if p.Ask.Cheapest {
				names = []string{"summarizer"}
			}
			for _, name := range names {
				r.own.Models[name] = policy.Target{Model: r.meter, Prices: prices}
			}
		}
	}
	defer func() {
		err = errors.Join(err, r.own.Close())
		result.Summaries, result.Events = r.meter.total()
		if result.Bill != nil {
			r.biller.summaries(result.Bill, result.Summaries)
		}
		r.withhold()
	}()
	return r.result, r.steps(ctx)
}

// Recorded replays a session as its own agent compacted it, in an unlimited window. The result has the policy
// "recorded".
func (s *Session) Recorded(ctx context.Context, o Options) (*Result, error) {
	r, err := newReplay(ctx, s, "recorded", o)
	if err != nil {
		return nil, err
	}
	if r.biller != nil {
		r.result.Check = r.biller.check
	}
	defer r.withhold()
	return r.result, r.steps(ctx)
}

// running is a replay that is being made: the agent, and what its requests come to.
type running struct {
	*basis
	agent
	options   Options
	recording *importer.Recording
	clock     *numbered.Clock
	result    *Result
	biller    *biller       // of this replay, nil without prices
	recall    *recallFinder // nil if recall is not measured
	leaf      string        // the last entry that was read
}

func newReplay(ctx context.Context, s *Session, policy string, o Options) (*running, error) {
	b, err := s.basis(ctx)
	if err != nil {
		return nil, err
	}
	clock := numbered.NewClock(s.Recording.Header.Time)
	r := &running{basis: b, options: o, recording: s.Recording, clock: clock, agent: agent{session: numbered.Replay(clock)}}
	r.prompt = stepping.Prompt(r.session)
	r.meter = &meter{tokenizer: r.tokenizer, prefix: prefix{tokenizer: r.tokenizer}, events: map[event.Kind]int{}}
	window := o.ContextWindow
	if window == 0 {
		window, _ = windowOf(s.Table, b.model, b.largest)
	}
	r.result = &Result{Policy: policy, RequestsIn: stepping.Requests(s.Recording), ContextWindow: window, Compactions: []RunCompaction{}}
	r.window = window - b.fixed
	r.result.Budget = r.window - tiktoken.ReplyPriming
	if b.biller != nil {
		own := *b.biller
		r.biller, r.result.Bill = &own, &Bill{Uncompacted: b.never.Kept}
	}
	if o.Recall || b.biller != nil {
		r.result.Recall = &Recall{}
		tools := recall.Tools{Session: r.session, MaxTokens: r.result.Budget / 8, Tokenizer: r.tokenizer}
		r.recall = newRecallFinder(r.tokenizer, r.biller, r.session, tools.Answer)
	}
	return r, nil
}

// withhold removes the dollars if the check failed.
func (r *running) withhold() {
	if r.biller != nil && !r.priced() {
		r.result.Bill, r.result.Recall.Dollars = nil, 0
	}
}

// priced reports whether there are dollars, which need prices and a check that did not fail.
func (r *running) priced() bool {
	return r.biller != nil && (r.biller.check == nil || r.biller.check.Failed == "" || r.options.Unchecked)
}

// shown returns the usage of a request less the tokens that the recording does not have.
func (r *running) shown(u chat.Usage) chat.Usage {
	if u.Input == 0 {
		return u
	}
	u.Input -= r.fixed
	fixed := min(r.fixed, u.CacheRead)
	u.CacheRead, u.CacheWrite = u.CacheRead-fixed, max(0, u.CacheWrite-r.fixed+fixed)
	u.CacheWriteLong = min(u.CacheWriteLong, u.CacheWrite)
	return u
}

// steps makes and measures each request of the session, at its recorded time. If the context ends, the result says so, and
// the error is the context's cause.
func (r *running) steps(ctx context.Context) error {
	err := r.replay(ctx)
	if ctx.Err() != nil {
		r.result.Ended = fmt.Sprintf("interrupted after request %d of %d", r.result.Requests.Number, r.result.RequestsIn)
		return context.Cause(ctx)
	}
	return err
}

// replay replays the session as far as the agent and the context go.
func (r *running) replay(ctx context.Context) error {
	opts := stepping.Options{Compactions: r.own == nil}
	var failed error // from the agent, not from the session
	if r.own != nil {
		opts.TurnOver = func() error {
			failed = r.turnOver(ctx)
			return failed
		}
	}
	line := 0
	ended := func(number int, err error) error {
		r.result.Ended = fmt.Sprintf("at request %d, line %d: %s", number, line, worded.Line(err))
		return nil
	}
	for step, err := range stepping.Steps(ctx, r.recording, r.session, opts) {
		switch {
		case failed != nil:
			return ended(r.result.Requests.Number, failed)
		case err != nil:
			return badSession(ctx, err)
		}
		line = step.Line
		r.clock.Set(step.Time)
		rendered, err := r.render(ctx)
		if err == nil {
			err = cmp.Or(chat.Validate(rendered.Messages), context.Cause(ctx))
		}
		if err != nil {
			return ended(step.Number, err)
		}
		made, err := r.request(ctx, step, rendered)
		r.reports(rendered, chat.Response{Message: step.Answer, Usage: r.shown(made.Response.Usage)})
		if err == nil {
			err = r.called(ctx, made)
		}
		if err == nil && r.own != nil { // a summary in the background takes no longer than the agent's request
			err = r.own.Wait(ctx)
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
	made, err := r.newCompactions(ctx, r.result.Requests.Number+1, 0, 0)
	if err != nil || len(made) == 0 {
		return err
	}
	return r.called(ctx, Step{Compactor: r.own, Compactions: made})
}

func (r *running) called(ctx context.Context, s Step) error {
	if r.options.Step == nil {
		return nil
	}
	s.Session = r.session
	return r.options.Step(ctx, s)
}
