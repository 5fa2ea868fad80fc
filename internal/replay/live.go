package replay

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/record"
)

// agent makes the requests of a run.
type agent interface {
	// request renders what is sent.
	request(ctx context.Context) (*render.Result, error)
	// reported is called with the response, and in it what the provider would have reported of the request, zero if that is not known.
	reported(rendered *render.Result, response chat.Response)
	// answered is called once the request was sent.
	answered(ctx context.Context) error
	// turnOver is called once the agent has answered and calls no more tools.
	turnOver(ctx context.Context) error
}

// unlimited is an agent that sends the session as it is.
type unlimited struct {
	tokenizer chat.Tokenizer
	prompt    elements.Node
}

func (u unlimited) request(ctx context.Context) (*render.Result, error) {
	return render.Render(ctx, u.prompt, render.Options{Budget: math.MaxInt32, Tokenizer: u.tokenizer})
}

func (unlimited) reported(*render.Result, chat.Response) {}
func (unlimited) answered(context.Context) error         { return nil }
func (unlimited) turnOver(context.Context) error         { return nil }

// live is an agent that follows a policy as one at work would. It has to be closed.
type live struct {
	compactor *summarize.Compactor
	prompt    elements.Node
	meter     *meter
	window    int

	usage *history.Usage // of the last request, which is appended behind its answer

	page     *record.Recorder // nil if there is to be none
	rendered *render.Result   // the last request, and the response to it
	response chat.Response

	mu     sync.Mutex
	events map[string]int
	done   []finished // since they were taken last
}

// finished is a compaction that was written, and what its model was asked.
type finished struct {
	event summarize.Event
	asked []exchange
}

// newLive returns an agent that compacts a session by a policy. What would make two replays differ is left out: the jitter,
// which goes by the session's random id; and the agent is not told to go on after a compaction, because the recording goes
// on by itself.
func newLive(p summarize.Policy, session *history.Session, prompt elements.Node, m *meter, name string, budget, window int) *live {
	p.Continue = ""
	p.Trigger = slices.Clone(p.Trigger)
	for i := range p.Trigger {
		p.Trigger[i].Jitter = 0
	}
	l := &live{prompt: prompt, meter: m, window: window, events: map[string]int{}}
	l.compactor = &summarize.Compactor{
		Session: session, Policy: p, OnEvent: l.hear,
		Target: summarize.Target{Model: m, Name: name, Tokenizer: m.tokenizer, Budget: budget, ContextWindow: window},
	}
	return l
}

func (l *live) hear(e summarize.Event) {
	if l.page != nil {
		l.page.Hear(e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case summarize.EventUsage:
		return
	case summarize.EventStarted:
		l.meter.begins(e.Background)
	case summarize.EventDone:
		l.done = append(l.done, finished{e, l.meter.taken()})
	case summarize.EventFailed, summarize.EventCancelled, summarize.EventDiscarded, summarize.EventDropped:
		l.meter.taken()
	}
	l.events[string(e.Kind)]++
}

// request renders a prompt. What does not fit is what a provider would refuse, for a policy that goes by that.
func (l *live) request(ctx context.Context) (*render.Result, error) {
	if l.usage != nil {
		if _, err := l.compactor.Session.Add(ctx, history.Entry{Body: *l.usage}); err != nil {
			return nil, err
		}
		l.usage = nil
	}
	l.meter.waits()
	rendered, err := l.compactor.Render(ctx, l.prompt)
	recovers := len(l.compactor.Policy.Trigger.For(summarize.OnContextLimit)) > 0
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok && recovers && ctx.Err() == nil {
		return l.compactor.Recover(ctx, l.prompt, &chat.ContextLimitError{Limit: l.window, Tokens: over.Needed, Err: err}, "")
	}
	return rendered, err
}

// reported keeps the usage until the answer is in the session.
func (l *live) reported(rendered *render.Result, response chat.Response) {
	l.rendered, l.response = rendered, response
	if response.Usage.Input > 0 {
		reported := l.compactor.Usage(rendered, response, "")
		l.usage = &reported
	}
}

// answered waits for what is made in the background: the model of a replay needs no longer for it than the agent for a
// request.
func (l *live) answered(ctx context.Context) error {
	if l.page != nil {
		if err := l.page.Step(ctx, l.compactor, l.rendered, l.response); err != nil {
			return err
		}
	}
	return l.compactor.Wait(ctx)
}

func (l *live) turnOver(ctx context.Context) error {
	if _, err := l.compactor.AfterTurn(ctx, l.prompt); err != nil {
		if _, over := errors.AsType[*render.BudgetExceededError](err); !over { // the next request will tell
			return err
		}
	}
	return l.compactor.Wait(ctx)
}

// taken returns the compactions that were written since the last call.
func (l *live) taken() []finished {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.done
	l.done = nil
	return list
}

// heard counts what was told of, by its kind.
func (l *live) heard() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.events)
}
