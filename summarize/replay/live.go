package replay

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/policy"
)

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
func (r *running) render(ctx context.Context) (*render.Result, error) {
	if r.own == nil {
		return render.Render(ctx, r.prompt, render.Options{Budget: math.MaxInt32, Tokenizer: r.tokenizer})
	}
	if r.reported != nil {
		if _, err := r.session.Add(ctx, entry.Entry{Body: *r.reported}); err != nil {
			return nil, err
		}
		r.reported = nil
	}
	r.meter.renderBegins()
	rendered, err := r.own.Render(ctx, r.prompt)
	recovers := len(r.own.Policy.Trigger.For(policy.OnContextLimit)) > 0
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok && recovers && ctx.Err() == nil {
		return r.own.Recover(ctx, r.prompt, &chat.ContextLimitError{Limit: r.window, Tokens: over.Needed, Err: err}, "")
	}
	return rendered, err
}

func (r *running) turnOver(ctx context.Context) error {
	if _, err := r.own.AfterTurn(ctx, r.prompt); err != nil {
		if _, over := errors.AsType[*render.BudgetExceededError](err); !over { // the next request reports it
			return err
		}
	}
	return r.own.Wait(ctx)
}
