package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/sessiontest"
	"github.com/promptree-go/promptree/internal/stepping"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// paying is an agent that waits as long as the recorded one did, and keeps in its session what the provider would have reported.
type paying struct {
	*live
	session  *history.Session
	rendered *render.Result
	usage    chat.Usage
}

// request renders the prompt of a step, after what was reported of the one before.
func (p *paying) request(ctx context.Context) (*render.Result, error) {
	if p.usage.Input > 0 {
		reported := p.compactor.Usage(p.rendered, chat.Response{Usage: p.usage}, "")
		if _, err := p.session.Add(ctx, history.Entry{Body: reported}); err != nil {
			return nil, err
		}
	}
	var err error
	p.rendered, err = p.live.request(ctx)
	return p.rendered, err
}

// By the carry rule, in a policy that is otherwise ordinary and has digests for summaries, the recorded session costs less than
// half of what it cost.
func TestTheCarryRuleHalvesTheCostOfARecordedSession(t *testing.T) {
	sessiontest.Needs(t, recordedSession)
	if race {
		t.Skip("takes too long with the race detector")
	}
	s := opened(t, recordedSession)
	biller, err := billerFor("claude-opus-4-5", "claude-haiku-4-5", 0)
	require.NoError(t, err)
	r, err := (&replayer{tokenizer: counter(t), model: modelOffline, window: 200_000, budget: 200_000, biller: biller}).priced(t.Context(), s)
	require.NoError(t, err)
	policy := stagewise.Policy()
	policy.Trigger = summarize.Trigger{{Carry: 0.5}}
	policy.Cut, policy.Place.Max, policy.Ask.Names = history.Cut{Tokens: 20_000}, 4_000, []string{"cheap"}
	synctest.Test(t, func(t *testing.T) {
		run := r.begin(s, "carry")
		session := numbered.Session()
		model, err := modelNamed(r.model, s.recording, r.tokenizer)
		require.NoError(t, err)
		m := r.meter(model)
		agent := &paying{live: newLive(policy, session, stepping.Prompt(session), m, "claude-opus-4-5", r.budget, r.window), session: session}
		agent.compactor.Target.Prices = r.biller.prices
		agent.compactor.Models = map[string]summarize.Target{"cheap": {Model: m, Prices: r.biller.summaries}}
		measure := measuring{session: session, tokenizer: r.tokenizer, meter: m, run: &run, taken: agent.taken, biller: r.biller}
		var last time.Time
		for step, err := range stepping.Steps(t.Context(), s.recording, session, stepping.Options{}) {
			require.NoError(t, err)
			if !last.IsZero() {
				time.Sleep(step.Time.Sub(last))
			}
			last = step.Time
			rendered, err := agent.request(t.Context())
			require.NoError(t, err)
			whole := m.whole(rendered.Messages)
			_, err = measure.request(t.Context(), step, rendered)
			require.NoError(t, err)
			agent.usage = chat.Usage{}
			if step.Usage.Input > 0 {
				agent.usage = r.biller.prices.Foretell(sizing.Planned{Input: rendered.Tokens, Cached: whole, Output: step.Usage.Output})
			}
		}
		require.NoError(t, agent.compactor.Close())
		run.Calls = m.total()
		r.biller.calls(run.Bill, run.Calls)
		share := run.Bill.Kept / r.check.Recorded
		t.Logf("$%.2f with the restarts (%.0f%%), $%.2f pinned (%.0f%%), %d compactions, summaries $%.2f, peak %d", run.Bill.Kept, 100*share,
			run.Bill.Pinned, 100*run.Bill.Pinned/r.check.Recorded, len(run.Compactions), run.Bill.Summaries, run.Peak)
		require.Less(t, share, 0.5)
	})
}
