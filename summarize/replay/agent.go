package replay

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/policy"
)

// agent is the agent of a replay. Its answers are those of the recording.
type agent struct {
	session  *history.Session
	prompt   elements.Node
	window   int // without the tokens that the recording does not have
	meter    *meter
	own      *summarize.Compactor // that follows the policy, and has to be closed; nil without a policy
	reported *entry.Usage         // of the last request, until it is appended after the answer
}

// follow has the agent compact its session by a policy. Jitter is off, because it depends on the session's
// random id and two replays would differ; so are titles, because when one is asked for differs too. The agent is not told
// to continue after a compaction, because the recording continues by itself.
func (r *running) follow(p policy.Policy) {
	p.Continue = ""
	p.Trigger, p.Ask.Prompts = slices.Clone(p.Trigger), slices.Clone(p.Ask.Prompts)
	for i := range p.Trigger {
		p.Trigger[i].Jitter = 0
	}
	for i := range p.Ask.Prompts {
		p.Ask.Prompts[i].Title = nil
	}
	r.own = &summarize.Compactor{
		Session: r.session, Policy: p, Observers: append([]summarize.Observer{summarize.OnEvent(r.meter.hear)}, r.options.Observers...),
		Target: policy.Target{Model: r.meter, Name: r.result.AnsweredBy, Tokenizer: r.tokenizer, Budget: r.result.Budget, ContextWindow: r.window},
	}
}

// render renders the prompt, with the whole session if there is no policy. If it does not fit and the policy acts on
// refusals, render recovers as from a provider's refusal.
func (a *agent) render(ctx context.Context) (*render.Result, error) {
	if a.own == nil {
		return render.Render(ctx, a.prompt, render.Options{Budget: math.MaxInt32, Tokenizer: a.meter.tokenizer})
	}
	if a.reported != nil {
		if _, err := a.session.Add(ctx, entry.Entry{Body: *a.reported}); err != nil {
			return nil, err
		}
		a.reported = nil
	}
	a.meter.renderBegins()
	rendered, err := a.own.Render(ctx, a.prompt)
	recovers := len(a.own.Policy.Trigger.For(policy.OnContextLimit)) > 0
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok && recovers && ctx.Err() == nil {
		return a.own.Recover(ctx, a.prompt, &chat.ContextLimitError{Limit: a.window, Tokens: over.Needed, Err: err}, "")
	}
	return rendered, err
}

// reports keeps the usage of a request, if there is any, for the session.
func (a *agent) reports(rendered *render.Result, response chat.Response) {
	if a.own != nil && response.Usage.Input > 0 {
		a.reported = new(a.own.Usage(rendered, response, ""))
	}
}

func (a *agent) turnOver(ctx context.Context) error {
	if _, err := a.own.AfterTurn(ctx, a.prompt); err != nil {
		if _, over := errors.AsType[*render.BudgetExceededError](err); !over { // the next request reports it
			return err
		}
	}
	return a.own.Wait(ctx)
}
