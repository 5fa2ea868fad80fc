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
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/record"
)

// agent makes the requests of a run.
type agent interface {
	// request renders the next request.
	request(ctx context.Context) (*render.Result, error)
	// reported is called with the response. Its usage is an estimate of the provider's report, zero if unknown.
	reported(rendered *render.Result, response chat.Response)
	// answered is called after reported, once the request is measured.
	answered(ctx context.Context) error
	// turnOver is called after an answer without tool calls.
	turnOver(ctx context.Context) error
}

// unlimited is an agent that sends the whole session, without a window.
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

// live is an agent that follows a policy. Its compactor has to be closed.
type live struct {
	compactor *summarize.Compactor
	prompt    elements.Node
	meter     *meter
	window    int

	usage *history.Usage // of the last request, until it is appended after the answer

	page     *record.Recorder // nil without -page
	rendered *render.Result   // the last request
	response chat.Response    // to the last request

	mu     sync.Mutex
	events map[string]int
	done   []finished // since the last call of taken
}

// finished is a compaction that was appended, and the requests for its summary.
type finished struct {
	event event.Event
	asked []exchange
}

// newLive returns an agent that compacts a session by a policy. Jitter is off, because it depends on the session's
// random id and two replays would differ. The agent is not told to continue after a compaction, because the recording
// continues by itself.
func newLive(p policy.Policy, session *history.Session, prompt elements.Node, m *meter, name string, budget, window int) *live {
	p.Continue = ""
	p.Trigger = slices.Clone(p.Trigger)
	for i := range p.Trigger {
		p.Trigger[i].Jitter = 0
	}
	l := &live{prompt: prompt, meter: m, window: window, events: map[string]int{}}
	l.compactor = &summarize.Compactor{
		Session: session, Policy: p, Observers: []summarize.Observer{summarize.OnEvent(l.hear)},
		Target: policy.Target{Model: m, Name: name, Tokenizer: m.tokenizer, Budget: budget, ContextWindow: window},
	}
	return l
}

func (l *live) hear(e event.Event) {
	if l.page != nil {
		l.page.Event(context.Background(), e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case event.Usage:
		return
	case event.Started:
		l.meter.compactionBegins(e.Background)
	case event.Done:
		l.done = append(l.done, finished{e, l.meter.taken()})
	case event.Failed, event.Cancelled, event.Discarded, event.Dropped:
		l.meter.taken()
	}
	l.events[string(e.Kind)]++
}

// request renders the prompt. If it does not fit and the policy acts on refusals, request recovers as from a provider's
// refusal.
func (l *live) request(ctx context.Context) (*render.Result, error) {
	if l.usage != nil {
		if _, err := l.compactor.Session.Add(ctx, history.Entry{Body: *l.usage}); err != nil {
			return nil, err
		}
		l.usage = nil
	}
	l.meter.renderBegins()
	rendered, err := l.compactor.Render(ctx, l.prompt)
	recovers := len(l.compactor.Policy.Trigger.For(policy.OnContextLimit)) > 0
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

// answered waits for a summary in the background: in a replay a summary takes no longer than the agent's request.
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
		if _, over := errors.AsType[*render.BudgetExceededError](err); !over { // the next request reports it
			return err
		}
	}
	return l.compactor.Wait(ctx)
}

// taken returns the compactions that were appended since the last call.
func (l *live) taken() []finished {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.done
	l.done = nil
	return list
}

// heard returns the number of events of each kind.
func (l *live) heard() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.events)
}
