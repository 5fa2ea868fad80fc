package replay

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/policy"
)

// live is an agent that follows a policy, or sends the whole session, without a window. Its compactor has to be closed.
type live struct {
	own    *summarize.Compactor // nil without a policy
	prompt elements.Node
	meter  *meter
	window int

	usage *entry.Usage // of the last request, until it is appended after the answer
}

// follow has the agent compact its session by a policy. Jitter is off, because it depends on the session's
// random id and two replays would differ; so are titles, because when one is asked for differs too. The agent is not told
// to continue after a compaction, because the recording continues by itself.
func (l *live) follow(p policy.Policy, r *running) {
	p.Continue = ""
	p.Trigger, p.Ask.Prompts = slices.Clone(p.Trigger), slices.Clone(p.Ask.Prompts)
	for i := range p.Trigger {
		p.Trigger[i].Jitter = 0
	}
	for i := range p.Ask.Prompts {
		p.Ask.Prompts[i].Title = nil
	}
	l.window = r.window
	l.own = &summarize.Compactor{
		Session: r.session, Policy: p, Observers: append([]summarize.Observer{summarize.OnEvent(l.meter.hear)}, r.options.Observers...),
		Target: policy.Target{Model: l.meter, Name: r.answeredBy, Tokenizer: r.tokenizer, Budget: r.result.Budget, ContextWindow: r.window},
	}
}

// request renders the prompt. If it does not fit and the policy acts on refusals, request recovers as from a provider's
// refusal.
func (l *live) request(ctx context.Context) (*render.Result, error) {
	if l.own == nil {
		return render.Render(ctx, l.prompt, render.Options{Budget: math.MaxInt32, Tokenizer: l.meter.tokenizer})
	}
	if l.usage != nil {
		if _, err := l.own.Session.Add(ctx, entry.Entry{Body: *l.usage}); err != nil {
			return nil, err
		}
		l.usage = nil
	}
	l.meter.renderBegins()
	rendered, err := l.own.Render(ctx, l.prompt)
	recovers := len(l.own.Policy.Trigger.For(policy.OnContextLimit)) > 0
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok && recovers && ctx.Err() == nil {
		return l.own.Recover(ctx, l.prompt, &chat.ContextLimitError{Limit: l.window, Tokens: over.Needed, Err: err}, "")
	}
	return rendered, err
}

// reported keeps the usage until the answer is in the session.
func (l *live) reported(rendered *render.Result, response chat.Response) {
	if l.own != nil && response.Usage.Input > 0 {
		reported := l.own.Usage(rendered, response, "")
		l.usage = &reported
	}
}

func (l *live) turnOver(ctx context.Context) error {
	if _, err := l.own.AfterTurn(ctx, l.prompt); err != nil {
		if _, over := errors.AsType[*render.BudgetExceededError](err); !over { // the next request reports it
			return err
		}
	}
	return l.own.Wait(ctx)
}
